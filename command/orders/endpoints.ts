/** The endpoints that write: orders, cancels, and a position's sync. Tried in this order: the most used first. */
import { getAccount } from './account.js';
import { cancelOrder } from './cancel-order.js';
import { checkOrder } from './check-order.js';
import { placeOrder } from './place-order.js';
import { syncPosition } from './sync-position.js';
import { getStatus } from './trading-status.js';

export const orderEndpoints = [placeOrder, cancelOrder, syncPosition] as const;

/** What traders ask before they write: answered from the replica, and from the chain. */
export const askedEndpoints = [checkOrder, getAccount, getStatus] as const;
