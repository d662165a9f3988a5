/** Which log lines may be repeated now: each text at once, then at growing intervals, however often it comes. */

/** Which texts may be told now. */
export interface Gate {
  /** How often the text came since it was told last, this time not counted; undefined when it is not to be told yet. */
  pass(text: string): number | undefined;
  /** What comes next is told, whatever it is. */
  open(): void;
}

const FIRST_INTERVAL_MS = 10_000;
const LONGEST_INTERVAL_MS = 600_000;
/** Different texts that are remembered, each until it has not come for the longest interval. More, such as with an id in each, count as one. */
const MAX_TEXTS = 20;
const OTHERS = 'others';

interface Told {
  readonly atMs: number;
  readonly nextMs: number;
  latestMs: number;
  times: number;
}

export function createGate(now: () => number): Gate {
  const told = new Map<string, Told>();
  return {
    open() { told.clear(); },
    pass(text) {
      const nowMs = now();
      if (told.size >= MAX_TEXTS && !told.has(text)) forgetQuiet(told, nowMs);
      const key = told.has(text) || told.size < MAX_TEXTS ? text : OTHERS;
      const known = told.get(key);
      if (known !== undefined && nowMs - known.atMs < known.nextMs) {
        known.latestMs = nowMs;
        known.times += 1;
        return undefined;
      }
      const nextMs = known === undefined ? FIRST_INTERVAL_MS : Math.min(known.nextMs * 2, LONGEST_INTERVAL_MS);
      told.set(key, { atMs: nowMs, latestMs: nowMs, nextMs, times: 0 });
      return known?.times ?? 0;
    },
  };
}

function forgetQuiet(told: Map<string, Told>, nowMs: number): void {
  for (const [text, { latestMs }] of told) if (nowMs - latestMs >= LONGEST_INTERVAL_MS) told.delete(text);
}
