/**
 * The endpoints that write: orders, what their traders ask of them, and a position's sync. Tried in this order: fixed
 * paths before `{hash}`.
 */
import { getAccount } from './account.js';
import { cancelAfter } from './cancel-after.js';
import { cancelAll } from './cancel-all.js';
import { cancelOrder } from './cancel-order.js';
import { cancelOrders } from './cancel-orders.js';
import { checkOrder } from './check-order.js';
import { placeOrder } from './place-order.js';
import { placeOrders } from './place-orders.js';
import { reduceOrder } from './reduce-order.js';
import { syncPosition } from './sync-position.js';
import { getStatus } from './trading-status.js';

export const orderEndpoints = [
  placeOrder, placeOrders, cancelOrders, cancelAll, cancelAfter, cancelOrder, reduceOrder, syncPosition,
] as const;

/**
 * What a trader's signature authorises, or, with CANCEL_AUTH=open, nothing: web pages of other sites may not call these
 * then.
 */
export const cancelEndpoints = [cancelOrder, cancelOrders, cancelAll, cancelAfter, reduceOrder] as const;

/** What traders ask before they write: answered from the replica, and from the chain. */
export const replicaEndpoints = [checkOrder, getAccount, getStatus] as const;
