/** The endpoints of the read side. To add one: a file with its definition, and its name here. */
import { getCandles, getPriceCandles } from './candles.js';
import { listFailedClaims, listPendingClaims } from './claims.js';
import { listEvents } from './history/list-events.js';
import { getMarket, getPlatformStats, getMarketStats, listMarkets } from './markets.js';
import { getOrder } from './orders/order.js';
import { getOrderbook } from './orders/orderbook.js';
import { listOrders, listUserOrders } from './orders/orders.js';
import { getHolders, getPosition, listUserPositions } from './positions.js';
import { streamPrices } from './price-stream.js';
import { getPrice, listPrices } from './prices.js';
import { getQuickMarket, listQuickMarkets } from './quick-markets.js';
import { getResolution } from './resolution.js';
import { getSettlement, listFailedTrades, listPendingTrades } from './settlements.js';
import { getStream } from './streams/get-stream.js';
import { openWebSocket } from './streams/open-web-socket.js';
import { getTicker } from './ticker.js';
import { getMarketActivity, getUserActivity, listTrades } from './trades.js';

/** Role `query`. Tried in this order: the most used first. */
export const readEndpoints = [
  getOrderbook, listOrders, listMarkets, getPlatformStats, getMarketStats, getHolders, getMarketActivity, listTrades, getResolution,
  listUserOrders, listUserPositions, getUserActivity, getPosition, listPendingTrades, listFailedTrades, getSettlement,
  listPendingClaims, listFailedClaims, listEvents, getQuickMarket, listQuickMarkets, getPrice, listPrices, streamPrices,
  getCandles, getPriceCandles, getTicker, getStream, openWebSocket, getMarket,
] as const;

/** Role `api`: an order, which the replica knows before the read models do. */
export const lookUpEndpoints = [getOrder] as const;
