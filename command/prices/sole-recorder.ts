/** Which of several processes records prices: the one that holds a lock in the outbox's database. */
import { backoffMs, pause, type Backoff } from '../../engine/waiting.js';
import { openSession } from '../lane/session.js';

export interface SoleRecorder {
  /** Whether this process records; if not, another one does. */
  holds(): boolean;
  /** Resolves when the lock is let go. Only `signal` ends it. */
  readonly done: Promise<void>;
}

export interface SoleRecorderOptions {
  /** The outbox's database: `postgresql://…`, a direct connection. */
  readonly url: string;
  readonly signal: AbortSignal;
  /** How often to ask whether the session still lives, in milliseconds. */
  readonly lookMs?: number;
  readonly standByMs?: number;
}

const RETRY: Backoff = { firstMs: 250, longestMs: 5_000 };

/**
 * Takes the lock as soon as it is free. When the database is away, everybody stays what they were: a price that two processes record does no
 * harm, since the engine refuses the second one; a price that nobody records does.
 */
export function soleRecorder({ url, signal, lookMs = 5_000, standByMs = 500 }: SoleRecorderOptions): SoleRecorder {
  let holds = false;

  async function hold(): Promise<void> {
    const session = await openSession({
      url, name: 'prices', locks: ['prices'], hears: { channel: 'lane_told', payload: 'prices' }, signal, standByMs, standingBy: () => { holds = false; },
    });
    try {
      holds = true;
      while (!signal.aborted) {
        await session.bell.wait(signal, lookMs);
        if (!signal.aborted) await session.query('select 1', []);
      }
    } finally {
      await session.close();
    }
  }

  async function run(): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      await hold().catch(() => undefined);
      await pause(backoffMs(Math.min(failures, 6), RETRY), signal);
    }
  }

  return { holds: () => holds, done: run() };
}
