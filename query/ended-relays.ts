/** How relayed requests have ended, as the read models in Postgres have it. */
import { RequestError } from '../engine/records/errors.js';
import { relayOfRequest } from './claims.js';
import type { Database } from './database.js';

/** What the role relayer asks of the read models. */
export function endedRelaysIn(db: Database) {
  return {
    // The read model may lag: a request that it has as submitted may have ended, and its transaction is the answer all
    // the same.
    async ended(requestId: string) {
      const found = await relayOfRequest(db, { requestId });
      if (found?.txHash === undefined || found.status === 'requested') return undefined;
      return { txHash: found.txHash, succeeded: found.status !== 'failed' };
    },
    /** Throws RequestError `relay_unavailable` when the read models do not come to the position in time. */
    async caughtUp(position: number) {
      try {
        await db.waitForPosition(position);
      } catch (error) {
        throw error instanceof RequestError ? new RequestError('relay_unavailable', 'the read models are behind') : error;
      }
    },
  };
}
