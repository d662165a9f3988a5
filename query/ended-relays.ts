/** How relayed requests have ended, as the read models in Postgres have it. */
import { RequestError } from '../engine/records/errors.js';
import { relayOfRequest } from './claims.js';
import type { Database } from './database.js';

export interface EndedRelays {
  /** How a request has ended; undefined when the read models know of no ending. */
  ended(requestId: string): Promise<{ readonly txHash: string; readonly succeeded: boolean } | undefined>;
  /** Resolves when the read models include the log position. Throws RequestError `relay_unavailable` when that takes too long. */
  caughtUp(position: number): Promise<void>;
}

export function endedRelaysIn(db: Database): EndedRelays {
  return {
    // The read model may lag: a request that it has as submitted may have ended, and its transaction is the answer all the same.
    async ended(requestId) {
      const found = await relayOfRequest(db, { requestId });
      if (found?.txHash === undefined || found.status === 'requested') return undefined;
      return { txHash: found.txHash, succeeded: found.status !== 'failed' };
    },
    async caughtUp(position) {
      try {
        await db.waitForPosition(position);
      } catch (error) {
        throw error instanceof RequestError ? new RequestError('relay_unavailable', 'the read models are behind') : error;
      }
    },
  };
}
