/**
 * The price at a past moment, from what the sources can still tell: the observation that would have counted if all of
 * them had been heard then.
 */
import { PRICE_WINDOW_MS } from '../../engine/rules/limits.js';
import { errorText } from '../../engine/report.js';
import { chooseAmongPast } from './choice.js';
import type { Observation, SourceName } from './observation.js';
import type { PriceSource, TimeSpan } from './price-source.js';

/**
 * Prices from before the moment bear witness for the first one after it. Shorter than the silence after which a source
 * is passed over.
 */
const WITNESS_MS = 4_000;

export interface PastPriceParams {
  readonly asset: string;
  /** The moment, in seconds since the Unix epoch. */
  readonly time: number;
  /** The best first. */
  readonly sources: readonly PriceSource[];
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

export interface PastPrice {
  /**
   * The first observation of the best source in the 15 s after the moment; undefined when no source tells one that
   * counts.
   */
  readonly observation: Observation | undefined;
  /** Sources that did not answer, with their reasons. They may tell more at another time. */
  readonly failures: ReadonlyMap<SourceName, string>;
}

/** Asks all sources. Never throws, and never guesses: an observation that nothing bears witness for does not count. */
export async function pastPrice({ asset, time, sources, nowMs }: PastPriceParams): Promise<PastPrice> {
  const momentMs = time * 1_000;
  const spans: readonly TimeSpan[] = [
    { fromMs: momentMs - WITNESS_MS, toMs: momentMs - 1 },
    { fromMs: momentMs, toMs: Math.min(nowMs, momentMs + PRICE_WINDOW_MS) },
  ];
  const failures = new Map<SourceName, string>();
  const told = await Promise.all(sources.map(async (source) => {
    try {
      // Some sources tell only the first observation of a span.
      return (await Promise.all(spans.map((span) => source.observationsSince(asset, span)))).flat();
    } catch (error) {
      failures.set(source.name, errorText(error));
      return [];
    }
  }));
  // A source that tells nothing is not waited for.
  const names = sources.filter((_, i) => (told[i] ?? []).length > 0).map(({ name }) => name);
  if (names.length === 0) return { observation: undefined, failures };
  const rankOf = ({ source }: Observation): number => names.indexOf(source);
  const [observation] = chooseAmongPast(told.flat(), { sources: names, startedAtMs: momentMs - WITNESS_MS })
    .map((accepted) => accepted.observation)
    .filter(({ publishedAtMs }) => publishedAtMs >= momentMs && publishedAtMs <= momentMs + PRICE_WINDOW_MS)
    .sort((a, b) => rankOf(a) - rankOf(b) || a.publishedAtMs - b.publishedAtMs);
  return { observation, failures };
}
