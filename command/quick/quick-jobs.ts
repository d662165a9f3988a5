/**
 * The jobs of quick markets: which to create, which to resolve by which prices, and which cannot be resolved for want
 * of a price.
 */
import type { QuickMarket } from '../../engine/run/view.js';
import type { Job, JobRules, JobReport } from '../jobs/job-list.js';
import type { MarketIds, QuickMarketTerms } from './terms.js';

export interface CreateJob extends Job, QuickMarketTerms, MarketIds {
  readonly kind: 'create';
  /** The market has started, so its first price lies in the past. */
  readonly isLate: boolean;
}

export interface ResolveJob extends Job {
  readonly kind: 'resolve';
  readonly marketId: string;
  readonly asset: string;
  /** Prices in units of 1e-8 USD, in decimal digits; times of publication in seconds. */
  readonly startPrice: string;
  readonly startPublishedS: number;
  readonly endPrice: string;
  readonly endPublishedS: number;
}

export type QuickJob = CreateJob | ResolveJob;

export interface QuickRules extends JobRules {
  /** A decided market that is not resolved this long after its end has waited for too long, in milliseconds. */
  readonly longMs: number;
  /**
   * Sources are asked again about a price that did not come in time: only a price that is missing for this long raises
   * an alert, in milliseconds.
   */
  readonly missedMs: number;
}

export const QUICK_RULES: QuickRules = {
  againMs: 5_000, backoff: { firstMs: 5_000, longestMs: 600_000 }, longMs: 600_000, missedMs: 15_000, looks: 20,
};

/** What a request is for, of which the outbox keeps the note. */
export interface QuickNote {
  readonly kind: QuickJob['kind'];
  readonly marketId: string;
}

/** The key of the job that a request is for; undefined when the note is not a quick market's. */
export function keyOfNote(note: unknown): string | undefined {
  if (typeof note !== 'object' || note === null) return undefined;
  const { kind, marketId } = note as Partial<QuickNote>;
  if ((kind !== 'create' && kind !== 'resolve') || typeof marketId !== 'string') return undefined;
  return keyOf({ kind, marketId });
}

export function createJob(terms: QuickMarketTerms & MarketIds, nowMs: number): CreateJob {
  const { marketId, asset, startTime } = terms;
  return {
    kind: 'create', key: keyOf({ kind: 'create', marketId }),
    title: `creating the quick market of ${asset} from ${isoText(startTime)}`,
    ...terms, isLate: startTime * 1_000 <= nowMs,
  };
}

/** The jobs of the markets whose outcomes are decided. */
export function resolveJobs(
  unresolved: readonly QuickMarket[], { longMs }: Pick<QuickRules, 'longMs'>,
): readonly ResolveJob[] {
  return unresolved.flatMap(({ marketId, expiration, quick: { asset, strike, end, outcome } }): ResolveJob[] => {
    if (strike === undefined || end === undefined || outcome === undefined) return [];
    const endPublishedS = secondOf(end.publishedAt);
    return [{
      kind: 'resolve', key: keyOf({ kind: 'resolve', marketId }),
      title: `resolving the quick market ${marketId} of ${asset}`, marketId, asset,
      startPrice: strike.price, startPublishedS: secondOf(strike.publishedAt), endPrice: end.price, endPublishedS,
      dueAtS: Math.max(expiration, endPublishedS),
      overdue: { atS: endPublishedS + longMs / 1_000, waited: `for more than ${Math.round(longMs / 60_000)} minutes` },
    }];
  });
}

/**
 * Returns a function that reports the prices that did not come: once per market, when its price has been missing for
 * `missedMs`.
 */
export function missedPrices(
  chainId: number, { missedMs }: Pick<QuickRules, 'missedMs'>,
): (unresolved: Iterable<QuickMarket>, nowMs: number) => readonly JobReport[] {
  let sinceMs = new Map<string, number>();
  let reported: ReadonlySet<string> = new Set();
  return (unresolved, nowMs) => {
    const missed = [...unresolved].filter(({ quick }) => quick.missed.size > 0);
    sinceMs = new Map(missed.map(({ marketId }) => [marketId, sinceMs.get(marketId) ?? nowMs]));
    const texts = missed.filter(({ marketId }) => nowMs >= (sinceMs.get(marketId) ?? nowMs) + missedMs).map(missedText);
    const fresh = texts.filter((text) => !reported.has(text));
    reported = new Set(texts);
    return fresh.map((text) => ({ level: 'alert', text: `chain ${chainId}, ${text}` }));
  };
}

function missedText({ marketId, quick: { asset, startTime, missed }, expiration }: QuickMarket): string {
  const times = [...missed].map((which) => isoText(which === 'start' ? startTime : expiration)).join(' and ');
  return `market ${marketId}: no source has told the price of ${asset} at ${times}. Without it nobody can resolve the `
    + 'market; a day after its end the quick resolver\'s administrator can halve it';
}

function keyOf({ kind, marketId }: QuickNote): string {
  return `${kind}:${marketId}`;
}

/** A price's second is the one in which it was published: never before its boundary. */
function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

function isoText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}
