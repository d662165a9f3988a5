/** What this process is writing to the log at the moment, so that the same request again waits for it instead of adding a record. */
import { RequestError } from '../../engine/records/errors.js';

/** A piece of work that has not ended. */
export interface Ahead {
  readonly orderHash: string;
  /** What it is asked: who asks the same gets the same answer. */
  readonly request: string;
  /** Ends like the work itself. */
  readonly ended: Promise<unknown>;
  /** Aborts when the client of the work has gone; the work may then be withdrawn. */
  readonly signal: AbortSignal | undefined;
}

export interface Work<T> {
  /** Pieces of work with one key follow each other. */
  readonly key: string;
  readonly trader: string;
  readonly orderHash: string;
  /** All that the answer depends on, as a text. */
  readonly request: string;
  readonly signal: AbortSignal | undefined;
  readonly run: () => Promise<T>;
}

export interface Underway {
  /** The work with this key; undefined when there is none. */
  find(key: string): Ahead | undefined;
  /** The number of the trader's pieces of work. */
  countOf(trader: string): number;
  /** Starts work whose key `find` does not find, in the same turn of the event loop. */
  start<T>(work: Work<T>): Promise<T>;
}

export function createUnderway(): Underway {
  const byKey = new Map<string, Ahead>();
  const counts = new Map<string, number>();

  function count(trader: string, change: 1 | -1): void {
    const next = (counts.get(trader) ?? 0) + change;
    if (next === 0) counts.delete(trader);
    else counts.set(trader, next);
  }

  return {
    find: (key) => byKey.get(key),
    countOf: (trader) => counts.get(trader) ?? 0,
    start({ key, trader, orderHash, request, signal, run }) {
      count(trader, 1);
      // Forgotten in a later turn than it is set, also when `run` throws at once.
      const ended = (async () => run())().finally(() => {
        byKey.delete(key);
        count(trader, -1);
      });
      byKey.set(key, { orderHash, request, ended, signal });
      return ended;
    },
  };
}

/**
 * Resolves when the work ahead has ended and the caller should look again. Rejects with the work's own error when it was asked the same:
 * it answers the caller too. Rejects with RequestError `unavailable` when it was asked something else and may still be carried out.
 */
export async function passed({ orderHash, request, ended, signal }: Ahead, mine: string): Promise<void> {
  try {
    await ended;
  } catch (error) {
    if (signal?.aborted === true) return;
    if (request === mine) throw error;
    if (!(error instanceof RequestError) || error.isUnavailable) {
      throw new RequestError('unavailable', `order ${orderHash} has the same nonce, and it is not known yet whether it is accepted`);
    }
  }
}
