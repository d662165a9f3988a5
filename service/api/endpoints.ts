/** The table of all endpoints, in three groups by the role that serves them, and the binding of handlers to a group. */
import { asyncapiDocument } from '../../command/feed/documents/asyncapi.js';
import { bindAll, type Endpoint, type Handlers, type Role, type Route } from './endpoint.js';
import { listFailedClaims, listPendingClaims } from './endpoints/claims.js';
import { getContracts } from './endpoints/contracts.js';
import { listEvents } from './endpoints/history.js';
import {
  getHolders, getMarketActivity, getMarketStats, getOrderbook, getPlatformStats, getResolution, listMarkets, listTrades,
} from './endpoints/markets.js';
import { cancelOrder, getOrder, listOrders, listUserOrders, placeOrder } from './endpoints/orders.js';
import { getPrice, getQuickMarket, listPrices, listQuickMarkets, streamPrices } from './endpoints/prices.js';
import { getReadiness } from './endpoints/readiness.js';
import { getUserNonces, relayEndpoints } from './endpoints/relayer.js';
import { getAsyncapi, getConfig, getLiveness, getMetrics, getOpenapi } from './endpoints/service.js';
import { getSettlement, listFailedTrades, listPendingTrades } from './endpoints/settlements.js';
import { syncHandler, syncPosition, type SyncPosition } from './endpoints/sync-position.js';
import { getPosition, getUserActivity, listUserPositions } from './endpoints/users.js';
import { openapiDocument } from './openapi.js';

/**
 * Role `api`: writes, and the look-up of an order, which the replica knows before the read models do. Routes are tried in this order, so the
 * endpoint with the most calls comes first.
 */
const orderGroup = { placeOrder, cancelOrder, getOrder, syncPosition };

/** Role `query`: reads. Routes are tried in this order. */
const readGroup = {
  getOrderbook, listOrders, listMarkets, getPlatformStats, getMarketStats, getHolders, getMarketActivity, listTrades, getResolution,
  listUserOrders, listUserPositions, getUserActivity, getPosition, listPendingTrades, listFailedTrades, getSettlement,
  listPendingClaims, listFailedClaims, listEvents, getQuickMarket, listQuickMarkets, getPrice, listPrices, streamPrices,
};

/** Role `relayer`: transactions that users have signed. Their handlers are bound in `relayerRoutes`. */
const relayerGroup = { ...relayEndpoints, getUserNonces };

/** Served by every process, about itself. */
const serviceGroup = { getConfig, getContracts, getOpenapi, getAsyncapi, getLiveness, getReadiness, getMetrics };

/** All endpoints of the service, of all roles. */
export const allEndpoints: readonly Endpoint[] = [orderGroup, readGroup, relayerGroup, serviceGroup]
  .flatMap((group) => Object.values<Endpoint>(group));

/** Pages that are not endpoints of the API, with all paths below them, and the role that serves each. */
export const pages: Readonly<Record<string, Role>> = { '/docs': 'query' };

export type OrderHandlers = Omit<Handlers<typeof orderGroup>, 'syncPosition'> & { readonly syncPosition: SyncPosition };
/** Each handler returns complete JSON and the log position at which the answer is true. */
export type ReadHandlers = Handlers<typeof readGroup>;
export type ServiceHandlers = Omit<Handlers<typeof serviceGroup>, 'getOpenapi' | 'getAsyncapi'>;

/** The routes of role `api`. */
export function orderEndpoints({ syncPosition: sync, ...handlers }: OrderHandlers): Route[] {
  return bindAll(orderGroup, { ...handlers, syncPosition: syncHandler(sync) });
}

/** The routes of role `query`. */
export function readEndpoints(handlers: ReadHandlers): Route[] {
  return bindAll(readGroup, handlers);
}

/**
 * The routes that every process serves; `version` is the service's version in the OpenAPI document. The documents are written when
 * they are first asked for: together they take 70 ms, and most processes are never asked.
 */
export function serviceEndpoints(handlers: ServiceHandlers, version: string): Route[] {
  let [openapi, asyncapi]: (string | undefined)[] = [];
  return bindAll(serviceGroup, {
    ...handlers,
    getOpenapi: () => ({ body: openapi ??= JSON.stringify(openapiDocument(allEndpoints, version)) }),
    getAsyncapi: () => ({ body: asyncapi ??= JSON.stringify(asyncapiDocument()) }),
  });
}
