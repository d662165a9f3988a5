/** The answers of the API by their names, as its document describes them: hex is `Hex`, and amounts are bigints. */
import type { components } from './openapi.js';

type Schemas = components['schemas'];

export type Configuration = Schemas['Configuration'];
export type ChainConfiguration = Schemas['Chain'];
export type TradingStatus = Schemas['TradingStatus'];
export type Market = Schemas['Market'];
export type Orderbook = Schemas['Orderbook'];
export type Ticker = Schemas['Ticker'];
export type Resolution = Schemas['Resolution'];
export type MarketStatistics = Schemas['MarketStatistics'];
export type Holder = Schemas['Holder'];
export type Trade = Schemas['Trade'];
export type MarketActivityEntry = Schemas['MarketActivityEntry'];
export type Candle = Schemas['Candle'];
export type PriceCandle = Schemas['PriceCandle'];
export type Order = Schemas['OrderWithHistory'];
export type OpenOrder = Schemas['OpenOrder'];
export type UserOpenOrder = Schemas['UserOpenOrder'];
export type Position = Schemas['Position'];
export type UserPosition = Schemas['UserPosition'];
export type UserTrade = Schemas['UserTrade'];
export type Payout = Schemas['Payout'];
export type Account = Schemas['Account'];
export type UserNonces = Schemas['UserNonces'];
export type PendingTrade = Schemas['PendingTrade'];
export type FailedTrade = Schemas['FailedTrade'];
export type PendingClaim = Schemas['PendingClaim'];
export type FailedClaim = Schemas['FailedClaim'];
export type Settlement = Schemas['Settlement'] | Schemas['UnknownSettlement'];
export type QuickMarket = Schemas['QuickMarket'];
export type ActiveQuickMarket = Schemas['ActiveQuickMarket'];
export type PastQuickMarket = Schemas['PastQuickMarket'];
export type PriceRecord = Schemas['PriceRecord'];
export type PlatformTotals = Schemas['PlatformTotals'];
export type HistoryEntry = Schemas['HistoryEntry'];
export type HistoryPage = Schemas['HistoryPage'];
export type PositionSync = Schemas['PositionSync'];
export type PlacedOrder = Schemas['PlacedOrder'];
export type CancelledOrder = Schemas['CancelledOrder'];
export type CancelledAll = Schemas['CancelledAll'];
export type ReducedOrder = Schemas['ReducedOrder'];
export type Switch = Schemas['Switch'];
export type CheckedOrder = Schemas['CheckedOrder'];
export type Contracts = Schemas['ChainsContracts'];
export type PriceLevel = Schemas['PriceLevel'];

/** What a stream tells. */
export type StreamAnswer = Schemas['StreamMessage'];
