/** The endpoints that write: orders, cancels, and a position's sync. Tried in this order: the most used first. */
import { cancelOrder } from './cancel-order.js';
import { placeOrder } from './place-order.js';
import { syncPosition } from './sync-position.js';

export const orderEndpoints = [placeOrder, cancelOrder, syncPosition] as const;
