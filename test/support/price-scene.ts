/** A price source in a test: its ports with a clock that stands, pauses that take no time, and what it has said and seen. */
import type { Observation } from '../../command/prices/observation.js';
import type { PriceSource, SourcePorts } from '../../command/prices/price-source.js';
import { STREAM_TIMINGS, type StreamTimings } from '../../command/prices/providers/standing-stream.js';
import { createWatch, type Watch } from './watch.js';

/** 2027-01-15 08:00:00 UTC, a boundary of quick markets. */
export const BOUNDARY_MS = 1_800_000_000_000;

export interface PriceScene {
  readonly ports: SourcePorts;
  readonly timings: StreamTimings;
  readonly clock: { nowMs: number };
  readonly observations: Observation[];
  readonly reports: string[];
  /** The pauses that the source has made, in milliseconds. */
  readonly pauses: number[];
  readonly watch: Watch;
  /** Starts the source; it is closed when the test is over. */
  begin(source: PriceSource): PriceSource;
  over(): Promise<void>;
}

/** Random numbers are all 0.5, which leaves pauses as they are. `watch` is rung when something happens: a server's, if there is one. */
export function createPriceScene(watch: Watch = createWatch()): PriceScene {
  const begun: PriceSource[] = [];
  const scene: PriceScene = {
    clock: { nowMs: BOUNDARY_MS }, observations: [], reports: [], pauses: [], watch,
    timings: STREAM_TIMINGS,
    ports: {
      now: () => scene.clock.nowMs, random: () => 0.5, fetch,
      report(level, text) { scene.reports.push(`${level}: ${text}`); watch.ring(); },
      async pause(ms) {
        scene.pauses.push(ms);
        watch.ring();
        await new Promise(setImmediate);
      },
    },
    begin(source) {
      begun.push(source);
      source.start((observation) => { scene.observations.push(observation); watch.ring(); });
      return source;
    },
    async over() { await Promise.all(begun.map((source) => source.close())); },
  };
  return scene;
}
