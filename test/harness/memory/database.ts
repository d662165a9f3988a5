/** A database server in memory as sessions see it: locks and notifications of a session, statements that are carried out whole, cuts. */
import { createBell, pause, type Bell } from '../../../engine/waiting.js';
import { OutboxUnavailable } from '../../../command/lane/requests.js';

/** Carries a statement to the server and its answer back; throws before or after the work when the connection is cut there. */
export type Carry = <T>(statement: string, work: () => T) => Promise<T>;

export interface SessionOptions {
  readonly locks: readonly string[];
  /** The channel, and what it says, that rings the session's bell. */
  readonly hears?: string;
  readonly signal: AbortSignal;
  readonly standingBy: () => void;
  readonly standByMs?: number;
  readonly carry: Carry;
}

export interface MemorySession {
  readonly bell: Bell;
  /** Throws OutboxUnavailable once the session has ended. */
  check(): void;
  /** One after the other. Throws OutboxUnavailable and ends the session on failure. */
  query<T>(statement: string, work: () => T): Promise<T>;
  /** Rings the bells of the sessions that hear it. */
  wake(what: string): void;
  /** Ends the session, whoever asks. The server lets its locks go. */
  end(): void;
}

export interface Database {
  /** Resolves when the locks are held. Throws OutboxUnavailable, and the signal's reason. */
  open(options: SessionOptions): Promise<MemorySession>;
  /** Ends all sessions. */
  restart(): void;
  /** Ends the sessions of the process that this carries for, as the server does when it misses the process. */
  endOf(carry: Carry): void;
  readonly sessions: number;
  /** May say that a wake-up is lost. */
  losesWakeUp: () => boolean;
}

export function createDatabase(): Database {
  const locks = new Map<string, MemorySession>();
  const sessions = new Map<MemorySession, SessionOptions>();

  function begin(options: SessionOptions): MemorySession {
    const bell = createBell();
    let ended = false;
    let last: Promise<unknown> = Promise.resolve();
    const session: MemorySession = {
      bell,
      check() { if (ended) throw new OutboxUnavailable('its session has ended'); },
      async query(statement, work) {
        const turn = last.then(() => options.carry(statement, () => {
          session.check();
          return work();
        }));
        last = turn.catch(() => undefined);
        try {
          return await turn;
        } catch (error) {
          session.end();
          throw error instanceof OutboxUnavailable ? error : new OutboxUnavailable(error);
        }
      },
      wake(what) {
        last = last.then(() => {
          if (ended || database.losesWakeUp()) return;
          for (const [other, { hears }] of sessions) if (hears === what) other.bell.ring();
        });
      },
      end() {
        if (ended) return;
        ended = true;
        sessions.delete(session);
        for (const [name, holder] of locks) if (holder === session) locks.delete(name);
        bell.ring();
      },
    };
    sessions.set(session, options);
    return session;
  }

  const database: Database = {
    async open(options) {
      const session = begin(options);
      try {
        await takeLocks(session, locks, options);
        options.signal.throwIfAborted();
        return session;
      } catch (error) {
        session.end();
        throw options.signal.aborted ? options.signal.reason : error;
      }
    },
    restart() { for (const session of [...sessions.keys()]) session.end(); },
    endOf(carry) { for (const [session, options] of [...sessions]) if (options.carry === carry) session.end(); },
    get sessions() { return sessions.size; },
    losesWakeUp: () => false,
  };
  return database;
}

async function takeLocks(
  session: MemorySession, locks: Map<string, MemorySession>, { locks: names, signal, standingBy, standByMs = 500 }: SessionOptions,
): Promise<void> {
  let told = false;
  for (const name of names) {
    const take = (): boolean => {
      if (locks.has(name)) return false;
      locks.set(name, session);
      return true;
    };
    while (!await session.query('lock', take)) {
      if (!told) standingBy();
      told = true;
      await pause(standByMs, signal);
      signal.throwIfAborted();
    }
  }
}
