/** Which sources are made from their names, and which are skipped with which line. */
import { deepEqual, equal, throws } from 'node:assert/strict';
import { PYTH_FEEDS, createPriceSources, type PriceSourceOptions } from '../../command/prices/price-sources.js';
import { startHermes } from '../support/price-servers.js';
import { createPriceScene } from '../support/price-scene.js';

const made = (options: Partial<PriceSourceOptions>): { names: string[]; urls: string[]; skipped: readonly string[] } => {
  const { sources, skipped } = createPriceSources({
    names: ['pyth', 'coinbase', 'binance'], assets: ['BTC', 'ETH'], seed: 'seed', ports: createPriceScene().ports, ...options,
  });
  return { names: sources.map(({ name }) => name), urls: sources.map(({ url }) => url), skipped };
};

describe('prices: the sources that there are', () => {
  it('are those that are named, in their order', () => {
    deepEqual(made({ pythKey: 'key' }), {
      names: ['pyth', 'coinbase', 'binance'], urls: ['https://hermes.pyth.network', 'https://api.exchange.coinbase.com', 'https://data-api.binance.vision'], skipped: [],
    });
    deepEqual(made({ names: ['binance', 'coinbase'], urls: { binance: 'http://127.0.0.1:1' } }).urls, ['http://127.0.0.1:1', 'https://api.exchange.coinbase.com']);
    deepEqual(made({ names: ['simulated'], seed: 'x' }), { names: ['simulated'], urls: ['simulated:x'], skipped: [] });
  });

  it('do not include pyth without its key, or with one that cannot be; the line does not show it', () => {
    const others = ['coinbase', 'binance'];
    deepEqual([made({}).names, made({}).skipped], [others, ['pyth is skipped: it needs a key, and none is set']]);
    for (const pythKey of ['', 'a key', 'key\n', 'kéy']) {
      deepEqual(made({ pythKey }).skipped, ['pyth is skipped: its key has a space, a line break or another character that no key has']);
    }
    deepEqual(made({ pythKey: 'key', assets: ['DOGE', 'SOL'] }).skipped, ['pyth is skipped: no feed of DOGE or SOL is known']);
  });

  it('include pyth without a key at a server of one\'s own', async () => {
    const hermes = await startHermes({ feeds: Object.values(PYTH_FEEDS) });
    const scene = createPriceScene(hermes.watch);
    const { sources: [source] } = createPriceSources({
      names: ['pyth'], assets: ['BTC'], seed: '', urls: { pyth: hermes.url }, ports: scene.ports, timings: scene.timings,
    });
    scene.begin(source!);
    await hermes.watch.until('the stream', () => hermes.clients.length === 1);
    equal(hermes.requests[0]!.headers.authorization, undefined);
    await scene.over();
    await hermes.close();
  });

  it('are none where the names or assets make no sense', () => {
    throws(() => made({ names: ['simulated', 'pyth'] }), /simulated prices cannot be mixed with real ones/);
    for (const asset of ['btc', 'B', '', 'BTC/USD', 'BTC&x', 'BTCBTCBTCBTC']) throws(() => made({ assets: [asset] }), /is not an asset: write capitals and digits/);
  });
});
