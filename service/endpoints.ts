/** Every endpoint of the service, by the role that serves it. To add one: a file with its definition, and its name here. */
import { cancelOrder } from '../command/orders/cancel-order.js';
import { placeOrder } from '../command/orders/place-order.js';
import { syncPosition } from '../command/orders/sync-position.js';
import { relayEndpoints } from '../command/relayer/endpoints.js';
import { getUserNonces } from '../command/relayer/user-nonces.js';
import { getCandles, getPriceCandles } from '../query/candles.js';
import { listFailedClaims, listPendingClaims } from '../query/claims.js';
import { listEvents } from '../query/history/list-events.js';
import { getPlatformStats, getMarketStats, listMarkets } from '../query/markets.js';
import { getOrder } from '../query/orders/order.js';
import { getOrderbook } from '../query/orders/orderbook.js';
import { listOrders, listUserOrders } from '../query/orders/orders.js';
import { getHolders, getPosition, listUserPositions } from '../query/positions.js';
import { streamPrices } from '../query/price-stream.js';
import { getPrice, listPrices } from '../query/prices.js';
import { getQuickMarket, listQuickMarkets } from '../query/quick-markets.js';
import { getResolution } from '../query/resolution.js';
import { getSettlement, listFailedTrades, listPendingTrades } from '../query/settlements.js';
import { getTicker } from '../query/ticker.js';
import { getMarketActivity, getUserActivity, listTrades } from '../query/trades.js';
import type { Endpoint, Role } from './api/endpoint.js';
import { getConfig } from './endpoints/config.js';
import { getContracts } from './endpoints/contracts.js';
import { getAsyncapi, getOpenapi } from './endpoints/documents.js';
import { getLiveness, getMetrics, getReadiness } from './endpoints/health.js';

/** Role `api`: writes, and an order, which the replica knows before the read models do. Tried in this order: the most used first. */
export const orderEndpoints = [placeOrder, cancelOrder, getOrder, syncPosition] as const;

/** Role `query`: reads. Tried in this order. */
export const readEndpoints = [
  getOrderbook, listOrders, listMarkets, getPlatformStats, getMarketStats, getHolders, getMarketActivity, listTrades, getResolution,
  listUserOrders, listUserPositions, getUserActivity, getPosition, listPendingTrades, listFailedTrades, getSettlement,
  listPendingClaims, listFailedClaims, listEvents, getQuickMarket, listQuickMarkets, getPrice, listPrices, streamPrices, getCandles, getPriceCandles, getTicker,
] as const;

/** Role `relayer`: transactions that users have signed. */
export const relayerEndpoints = [...Object.values(relayEndpoints), getUserNonces] as const;

/** Every process, about itself. */
export const serviceEndpoints = [getConfig, getContracts, getOpenapi, getAsyncapi, getLiveness, getReadiness, getMetrics] as const;

export const allEndpoints: readonly Endpoint[] = [...orderEndpoints, ...readEndpoints, ...relayerEndpoints, ...serviceEndpoints];

/** Pages that are not endpoints of the API, with all paths below them, and the role that serves each. */
export const pages: Readonly<Record<string, Role>> = { '/docs': 'query' };
