/** What every source of prices can do, whatever its provider speaks. */
import type { pause } from '../../engine/waiting.js';
import type { Report } from '../../engine/report.js';
import type { Observation, SourceName } from './observation.js';

export interface PriceSource {
  readonly name: SourceName;
  /** Where its prices come from. It names no key, so records and answers may show it. */
  readonly url: string;
  /**
   * Calls the listener with every observation that comes from now on, until close(). Faults are reported and retried.
   */
  start(listener: (observation: Observation) => void): void;
  close(): Promise<void>;
  /**
   * What the provider can still tell of a past time span, both ends included: at most one observation per second,
   * oldest first, and maybe not all (docs/prices.md, "What fills gaps"). Throws ProviderFailure and BadMessage.
   */
  observationsSince(asset: string, span: TimeSpan): Promise<readonly Observation[]>;
  health(): SourceHealth;
}

export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface SourceHealth {
  readonly connected: boolean;
  /** How many connections there have been. */
  readonly connections: number;
  /** When the last observation came, by the process's clock. */
  readonly lastHeardMs: number | undefined;
  /** Messages that could not be used. */
  readonly badMessages: number;
  /** What went wrong last; undefined when all has been well since prices came. */
  readonly problem: string | undefined;
}

/** What a source takes from its process. */
export interface SourcePorts {
  /** The trusted time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** A random number from 0 up to 1, which spreads the tries of several processes. */
  readonly random: () => number;
  readonly report: Report;
  readonly fetch: typeof fetch;
  readonly pause: typeof pause;
}

/** The first observation of each second, oldest first, of a list in any order. */
export function firstPerSecond(observations: readonly Observation[]): Observation[] {
  const first = new Map<number, Observation>();
  for (const observation of [...observations].sort((a, b) => a.publishedAtMs - b.publishedAtMs)) {
    const second = Math.floor(observation.publishedAtMs / 1_000);
    if (!first.has(second)) first.set(second, observation);
  }
  return [...first.values()];
}
