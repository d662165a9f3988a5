/** The endpoints that write: orders, what their traders ask of them, and a position's sync. Tried in this order: fixed paths before `{hash}`. */
import { cancelAfter } from './cancel-after.js';
import { cancelAll } from './cancel-all.js';
import { cancelOrder } from './cancel-order.js';
import { cancelOrders } from './cancel-orders.js';
import { placeOrder } from './place-order.js';
import { placeOrders } from './place-orders.js';
import { reduceOrder } from './reduce-order.js';
import { syncPosition } from './sync-position.js';

export const orderEndpoints = [placeOrder, placeOrders, cancelOrders, cancelAll, cancelAfter, cancelOrder, reduceOrder, syncPosition] as const;

/** What a trader's signature authorises, or, with CANCEL_AUTH=open, nothing: web pages of other sites may not call these then. */
export const cancelEndpoints = [cancelOrder, cancelOrders, cancelAll, cancelAfter, reduceOrder] as const;
