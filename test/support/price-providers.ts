/** Three providers of BTC's price as servers on this machine: what a test lets each of them publish, and what they have of the past. */
import type { SourceName } from '../../command/prices/observation.js';
import { PYTH_FEEDS } from '../../command/prices/price-sources.js';
import { startBinance } from './binance-server.js';
import { startCoinbase } from './coinbase-server.js';
import { startHermes } from './hermes-server.js';

export type Provider = Exclude<SourceName, 'simulated'>;
/** Prices in dollars, of the providers that say something. */
export type Said = Partial<Readonly<Record<Provider, number>>>;
export type PriceProviders = Awaited<ReturnType<typeof priceProviders>>;

const FEED = PYTH_FEEDS['BTC']!;

export async function priceProviders() {
  const [hermes, coinbase, binance] = [await startHermes({ feeds: [FEED] }), await startCoinbase(), await startBinance()];
  const servers = { pyth: hermes, coinbase, binance };
  let trade = 1;
  const mantissa = (usd: number) => String(Math.round(usd * 1e8));
  /** Each sends its price of a second to whoever listens. */
  function stream({ pyth, coinbase: byCoinbase, binance: byBinance }: Said, second: number): void {
    const ms = second * 1_000;
    if (byBinance !== undefined) for (const client of binance.clients) client.ticker('BTCUSDT', byBinance.toFixed(2), ms + 2);
    if (byCoinbase !== undefined) {
      const subscribed = coinbase.clients.filter(({ subscription }) => subscription !== undefined);
      for (const client of subscribed) client.ticker('BTC-USD', byCoinbase.toFixed(2), new Date(ms + 1).toISOString());
    }
    if (pyth !== undefined) for (const client of hermes.clients) client.price(FEED, { price: mantissa(pyth), conf: '1', publish_time: second });
  }
  return {
    settings: {
      PRICE_SOURCES: 'pyth,coinbase,binance', QUICK_ASSETS: 'BTC',
      PRICE_URLS: `pyth=${hermes.url},coinbase=${coinbase.url},coinbase-stream=${coinbase.webSocketUrl},`
        + `binance=${binance.url},binance-stream=${binance.webSocketUrl}`,
    },
    stream,
    /** Each has its price of a second for whoever asks. */
    keep({ pyth, coinbase: byCoinbase, binance: byBinance }: Said, second: number): void {
      if (pyth !== undefined) {
        hermes.past.set(FEED, [...hermes.past.get(FEED) ?? [], { price: mantissa(pyth), conf: '1', expo: -8, publish_time: second }]);
      }
      if (byCoinbase !== undefined) {
        coinbase.trades.unshift({ trade_id: trade++, time: new Date(second * 1_000 + 1).toISOString(), price: byCoinbase.toFixed(2) });
      }
      if (byBinance !== undefined) binance.candles.push({ openMs: second * 1_000, open: byBinance.toFixed(2), trades: 1 });
    },
    /** All of them refuse everybody, or no longer. */
    away(isAway: boolean): void {
      for (const server of Object.values(servers)) server.refuse(isAway ? { status: 503 } : undefined);
    },
    async close(): Promise<void> { await Promise.all(Object.values(servers).map((server) => server.close())); },
  };
}
