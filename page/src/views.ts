/** The views by their names. Each is a script of its own, loaded when it is first looked at. */
import type { ComponentType } from 'preact';
import type { ViewName, ViewProps } from './routes.js';

type LoadView = () => Promise<ComponentType<ViewProps>>;

export const VIEWS: Readonly<Record<ViewName, LoadView>> = {
  markets: async () => (await import('./markets/markets.js')).Markets,
  market: async () => (await import('./market/market.js')).MarketView,
  quick: async () => (await import('./quick/quick.js')).QuickMarkets,
  portfolio: async () => (await import('./portfolio/portfolio.js')).Portfolio,
  history: async () => (await import('./history/history.js')).HistoryView,
  verify: async () => (await import('./verify/verify.js')).Verify,
};
