/** A subscription that is made again after every loss, from the position after the last record that it gave. */
import { backoffMs, pause } from '../../waiting.js';
import type { LogRecord } from '../log.js';

export interface StandingSubscription {
  /** Begins at the position and stays until close(). A second call has no effect. */
  start(from: number): void;
  /** Ends the pause after a loss: the store can be reached again. */
  wake(): void;
  close(): Promise<void>;
}

export interface StandingSubscriptionOptions {
  readonly subscribe: (from: number, signal: AbortSignal) => AsyncIterable<readonly LogRecord[]>;
  /** Called with records that follow each other, each once and in order, unless the store has a gap. */
  readonly received: (records: readonly LogRecord[]) => void;
  readonly random: () => number;
  readonly pause?: typeof pause;
}

const AFTER_LOSSES = { firstMs: 20, longestMs: 2_000 };

export function createStandingSubscription({
  subscribe, received, random, pause: rest = pause,
}: StandingSubscriptionOptions): StandingSubscription {
  const closing = new AbortController();
  const { signal } = closing;
  let waking = new AbortController();
  let running: Promise<void> | undefined;

  async function run(from: number): Promise<void> {
    let next = from;
    for (let losses = 1; !signal.aborted; losses++) {
      try {
        for await (const batch of subscribe(next, signal)) {
          const unseen = batch.filter(({ position }) => position >= next);
          const newest = unseen.at(-1);
          if (newest === undefined) continue;
          next = newest.position + 1;
          losses = 0;
          received(unseen);
        }
      } catch {
        // Followers look at the store from time to time, and report what does not pass.
      }
      await rest(backoffMs(Math.max(1, losses), { ...AFTER_LOSSES, random }), AbortSignal.any([signal, waking.signal]));
    }
  }

  return {
    start(from) { if (!signal.aborted) running ??= run(from); },
    wake() {
      waking.abort();
      waking = new AbortController();
    },
    async close() {
      closing.abort();
      await running;
    },
  };
}
