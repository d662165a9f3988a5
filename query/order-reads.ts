/** What the api role asks of the read models, in Postgres: single orders, markets and positions. */
import type { MarketReference } from '../service/api/request-fields.js';
import type { Database } from './database.js';
import { marketIdOf } from './markets.js';
import { findOrder } from './orders/order.js';
import { heldPosition } from './positions.js';

/**
 * The same database asked by functions. One suite holds them and those in memory, which tests use, to the same answers.
 */
export function orderReadsIn(db: Database) {
  return {
    order: (orderHash: string) => findOrder(db, orderHash),
    marketId: (market: MarketReference) => marketIdOf(db, market),
    position: (of: { readonly marketId: string; readonly user: string }) => heldPosition(db, of),
    waitForPosition: (
      position: number, patience: { readonly timeoutMs: number },
    ) => db.waitForPosition(position, patience),
  };
}
