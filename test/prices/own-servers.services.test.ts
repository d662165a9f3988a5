/** The sources of an exchange that is told where its providers are: each at its own server, over HTTP and WebSocket, and named by its provider. */
import assert from 'node:assert/strict';
import { id } from 'ethers';
import { PYTH_FEEDS } from '../../command/prices/price-sources.js';
import { pause } from '../../engine/waiting.js';
import { startBinance, startCoinbase, startHermes, type BinanceServer, type CoinbaseServer, type HermesServer } from '../support/price-servers.js';
import { newCommand } from '../support/commands.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';

describe('prices: servers of one\'s own', function () {
  this.timeout(60_000);
  let hermes: HermesServer;
  let coinbase: CoinbaseServer;
  let binance: BinanceServer;
  let exchange: ExchangeStack;

  before(async () => {
    [hermes, coinbase, binance] = await Promise.all([startHermes({ feeds: Object.values(PYTH_FEEDS) }), startCoinbase(), startBinance()]);
    exchange = await exchangeStack({
      PRICE_SOURCES: 'pyth coinbase binance', QUICK_ASSETS: 'BTC',
      PRICE_URLS: `pyth=${hermes.url},coinbase=${coinbase.url},coinbase-stream=${coinbase.webSocketUrl},`
        + `binance=${binance.url},binance-stream=${binance.webSocketUrl}`,
    });
  });
  after(async () => {
    await exchange.close();
    await Promise.all([hermes, coinbase, binance].map((server) => server.close()));
  });

  it('have the streams', async () => {
    await hermes.watch.until('Pyth\'s stream', () => hermes.clients.length > 0);
    await coinbase.watch.until('Coinbase\'s stream', () => coinbase.clients[0]?.subscription !== undefined);
    await binance.watch.until('Binance\'s stream', () => binance.clients[0]?.streams.includes('btcusdt@miniTicker') ?? false);
  });

  it('are asked for the price of a moment that has passed', async () => {
    const startTime = Math.floor(Date.now() / 1_000) - 10;
    const address = `0x${'ab'.repeat(20)}`;
    await exchange.record(newCommand('OpenMarket', {
      at: Date.now(), marketId: id('higher'), question: 'Higher?', contractAddress: address, maker: address, expiration: startTime + 60,
      chainId: 31_337, marketKind: 'quick', quick: { asset: 'BTC', startTime },
    }));
    for (const [server, path] of [
      [hermes, /^\/v2\/updates\/price\/\d+$/], [coinbase, /^\/products\/BTC-USD\/trades$/], [binance, /^\/api\/v3\/klines$/],
    ] as const) {
      await server.watch.until(String(path), () => server.requests.some(({ url: { pathname } }) => path.test(pathname)));
    }
  });

  it('are not named in a price: its provider is', async () => {
    const ask = () => exchange.request('GET', '/api/v1/prices/BTC');
    let answer = await ask();
    for (; answer.status !== 200; answer = await ask()) {
      coinbase.clients[0]!.ticker('BTC-USD', '61000.5', new Date().toISOString());
      await pause(100);
    }
    const { body } = answer;
    assert.deepEqual([body['price'], body['source']], [6_100_050_000_000, 'https://api.exchange.coinbase.com']);
    assert.doesNotMatch(JSON.stringify(await exchange.get('/api/v1/prices/BTC/history')), /127\.0\.0\.1/);
  });
});
