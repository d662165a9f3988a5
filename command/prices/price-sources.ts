/** Which sources there are: made from the names that are asked for, without those that lack their key. */
import { checkNames, isAsset, type SourceName } from './observation.js';
import type { PriceSource, SourcePorts } from './price-source.js';
import { createBinance } from './providers/binance.js';
import { createCoinbase } from './providers/coinbase.js';
import { createPyth } from './providers/pyth.js';
import { STREAM_TIMINGS, type StreamTimings } from './providers/standing-stream.js';
import { createSimulated } from './simulated.js';
import { PUBLIC_URLS, type ProviderUrls } from './source-urls.js';

export interface PriceSourceOptions {
  /** The best first. */
  readonly names: readonly SourceName[];
  /** For example BTC. */
  readonly assets: readonly string[];
  readonly pythKey?: string | undefined;
  /** Where the providers are, when they are not at their public addresses; without slashes at the ends. */
  readonly urls?: Partial<ProviderUrls>;
  /** What the simulated prices depend on. */
  readonly seed: string;
  readonly timings?: StreamTimings;
  readonly ports: SourcePorts;
}

/** Pyth's ids of prices in USD. */
export const PYTH_FEEDS: Readonly<Record<string, string>> = {
  BTC: 'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43',
  ETH: 'ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace',
};

/** The prices that the simulation walks around, in units of 1e-8 USD; other assets are at 100 USD. */
const SIMULATED_E8: Readonly<Record<string, bigint>> = { BTC: 60_000n * 10n ** 8n, ETH: 3_000n * 10n ** 8n };
const OTHER_E8 = 100n * 10n ** 8n;

/** What a header may have: fetch would otherwise repeat the key in its error. */
const KEY = /^[\x21-\x7e]+$/;

/**
 * The sources in the order of their names, and one line about each that was skipped. Throws an error that says what to
 * correct when no combination of sources is meant: simulated prices beside real ones, a name twice, an asset that is
 * none.
 */
export function createPriceSources(options: PriceSourceOptions): {
  readonly sources: readonly PriceSource[];
  readonly skipped: readonly string[];
} {
  const { names, assets } = options;
  checkNames(names);
  for (const asset of assets) if (!isAsset(asset)) throw new Error(`${JSON.stringify(asset)} is not an asset: write capitals and digits, as BTC`);
  const made = names.map((name) => sourceOf(name, options));
  return { sources: made.filter((one) => typeof one !== 'string'), skipped: made.filter((one) => typeof one === 'string') };
}

function sourceOf(name: SourceName, options: PriceSourceOptions): PriceSource | string {
  const { assets, pythKey, seed, ports, timings = STREAM_TIMINGS } = options;
  const urls = { ...PUBLIC_URLS, ...options.urls };
  switch (name) {
    case 'simulated': return createSimulated({ seed, ports, aroundE8: Object.fromEntries(assets.map((asset) => [asset, SIMULATED_E8[asset] ?? OTHER_E8])) });
    case 'coinbase': return createCoinbase({ url: urls.coinbase, streamUrl: urls.coinbaseStream, assets, timings, ports });
    case 'binance': return createBinance({ url: urls.binance, streamUrl: urls.binanceStream, assets, timings, ports });
    case 'pyth': {
      // A server of one's own may ask for no key.
      if (pythKey === undefined && urls.pyth === PUBLIC_URLS.pyth) return 'pyth is skipped: it needs a key, and none is set';
      if (pythKey !== undefined && !KEY.test(pythKey)) return 'pyth is skipped: its key has a space, a line break or another character that no key has';
      const feeds = Object.fromEntries(assets.flatMap((asset) => (
        PYTH_FEEDS[asset] === undefined ? [] : [[asset, PYTH_FEEDS[asset]]])));
      if (Object.keys(feeds).length === 0) return `pyth is skipped: no feed of ${assets.join(' or ')} is known`;
      return createPyth({ url: urls.pyth, key: pythKey, feeds, timings, ports });
    }
  }
}
