/** The table of all endpoints: three groups, each served by the processes of one role, and how handlers are bound to a group. */
import { bindAll, type Endpoint, type Handlers, type Role, type Route } from './endpoint.js';
import { listEvents } from './endpoints/history.js';
import {
  getHolders, getMarketActivity, getMarketStats, getOrderbook, getPlatformStats, getResolution, listMarkets, listTrades,
} from './endpoints/markets.js';
import { cancelOrder, getOrder, listOrders, listUserOrders, placeOrder } from './endpoints/orders.js';
import { getReadiness } from './endpoints/readiness.js';
import { getConfig, getLiveness, getMetrics, getOpenapi } from './endpoints/service.js';
import { getSettlement, listFailedTrades, listPendingTrades } from './endpoints/settlements.js';
import { syncHandler, syncPosition, type SyncPosition } from './endpoints/sync-position.js';
import { getPosition, getUserActivity, listUserPositions } from './endpoints/users.js';
import { openapiDocument } from './openapi.js';

/** Role `api`: what writes. The endpoint that is called most comes first: they are tried in this order. */
const orderGroup = { placeOrder, cancelOrder, syncPosition };

/** Role `query`: what reads. */
const readGroup = {
  getOrderbook, listOrders, getOrder, listMarkets, getPlatformStats, getMarketStats, getHolders, getMarketActivity, listTrades, getResolution,
  listUserOrders, listUserPositions, getUserActivity, getPosition, listPendingTrades, listFailedTrades, getSettlement, listEvents,
};

/** Role `every`: what each process says of itself. */
const serviceGroup = { getConfig, getOpenapi, getLiveness, getReadiness, getMetrics };

/** Every endpoint of the service, whichever process serves it. */
export const allEndpoints: readonly Endpoint[] = [orderGroup, readGroup, serviceGroup].flatMap((group) => Object.values<Endpoint>(group));

/** Pages that are no endpoints of the API, with all that is below their paths. */
export const pages: Readonly<Record<string, Role>> = { '/docs': 'query' };

export type OrderHandlers = Omit<Handlers<typeof orderGroup>, 'syncPosition'> & { readonly syncPosition: SyncPosition };
/** Each gives finished JSON and the log position that it is true at. */
export type ReadHandlers = Handlers<typeof readGroup>;
export type ServiceHandlers = Omit<Handlers<typeof serviceGroup>, 'getOpenapi'>;

/** The endpoints of role `api`. */
export function orderEndpoints({ placeOrder: place, cancelOrder: cancel, syncPosition: sync }: OrderHandlers): Route[] {
  return bindAll(orderGroup, { placeOrder: place, cancelOrder: cancel, syncPosition: syncHandler(sync) });
}

/** The endpoints of role `query`. */
export function readEndpoints(handlers: ReadHandlers): Route[] {
  return bindAll(readGroup, handlers);
}

/** The endpoints of role `every`; `version` is the service's, for the OpenAPI document. */
export function serviceEndpoints(handlers: ServiceHandlers, version: string): Route[] {
  const body = JSON.stringify(openapiDocument(allEndpoints, version));
  const { getConfig: config, getLiveness: live, getReadiness: ready, getMetrics: metrics } = handlers;
  return bindAll(serviceGroup, { getConfig: config, getOpenapi: () => ({ body }), getLiveness: live, getReadiness: ready, getMetrics: metrics });
}
