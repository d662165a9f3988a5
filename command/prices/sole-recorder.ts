/** Which of several processes records prices: the one that holds a lock in the outbox's database. */
import { startReactor, type StandBy } from '../../engine/reactor.js';
import type { Report } from '../../engine/report.js';
import type { Backoff, Bell } from '../../engine/waiting.js';
import { openSession } from '../lane/session.js';

/** A session that holds the recorders' lock until it ends; then its bell rings. */
export interface RecorderSession {
  readonly bell: Pick<Bell, 'wait'>;
  /** Throws OutboxUnavailable once the session has ended. */
  look(): Promise<void>;
  close(): Promise<void>;
}

/** A session in the outbox's database: `postgresql://…`, a direct connection. Throws OutboxUnavailable, and the signal's reason. */
export async function openRecorderSession(
  { url, standByMs = 500, ...standBy }: StandBy & { readonly url: string; readonly standByMs?: number },
): Promise<RecorderSession> {
  const session = await openSession({ ...standBy, url, standByMs, name: 'prices', locks: ['prices'], hears: { channel: 'lane_told', payload: 'prices' } });
  return { bell: session.bell, look: async () => { await session.query('select 1', []); }, close: () => session.close() };
}

export interface SoleRecorder {
  /** Whether this process records; if not, another one does. */
  holds(): boolean;
  /** Resolves when the lock is let go. Only `signal` ends it. */
  readonly done: Promise<void>;
}

export interface SoleRecorderOptions {
  /** Resolves when the session holds the lock. */
  readonly open: (standBy: StandBy) => Promise<RecorderSession>;
  readonly signal: AbortSignal;
  /** How often to ask whether the session still lives, in milliseconds. */
  readonly lookMs?: number;
  readonly report: Report;
}

const RETRY: Backoff = { firstMs: 250, longestMs: 5_000 };

/**
 * Takes the lock as soon as it is free. When the database is away, everybody stays what they were: a price that two
 * processes record does no harm, since the engine refuses the second one; a price that nobody records does.
 */
export function soleRecorder({ open, signal, lookMs = 5_000, report }: SoleRecorderOptions): SoleRecorder {
  let holds = false;
  const { done } = startReactor<RecorderSession>({
    async hold({ standingBy }) {
      const session = await open({
        signal,
        standingBy() {
          holds = false;
          standingBy();
        },
      });
      holds = true;
      return session;
    },
    round: (session) => session.look(),
    rest: (session) => session.bell.wait(signal, lookMs),
    release: (session) => session.close(),
    isLoss: () => true,
    // This process goes on as it was.
    level: () => undefined,
    backoff: RETRY, who: 'the recorder of prices', report, signal,
  });
  return { holds: () => holds, done };
}
