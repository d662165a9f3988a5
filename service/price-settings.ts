/** Parsers of the settings about prices: the sources, their servers, the assets. */
import { SOURCE_NAMES, checkNames, isAsset, type SourceName } from '../command/prices/observation.js';
import { PUBLIC_URLS, type ProviderUrls } from '../command/prices/source-urls.js';
import { SettingError, httpUrl, list, oneOf, webSocketUrl, type Parse } from './settings.js';

/** The servers of the price sources by their names in PRICE_URLS. */
const PRICE_URLS: ReadonlyMap<string, { readonly of: keyof ProviderUrls; readonly parse: Parse<string> }> = new Map([
  ['pyth', { of: 'pyth', parse: httpUrl }],
  ['coinbase', { of: 'coinbase', parse: httpUrl }],
  ['coinbase-stream', { of: 'coinbaseStream', parse: webSocketUrl }],
  ['binance', { of: 'binance', parse: httpUrl }],
  ['binance-stream', { of: 'binanceStream', parse: webSocketUrl }],
]);

export const PRICE_URL_NAMES = [...PRICE_URLS.keys()];

/**
 * The public servers, but for those that are given as `name=url`, separated by commas or spaces. No error has a URL: it
 * may hold a key.
 */
export function priceUrls(given: string): ProviderUrls {
  const pairs = given.split(/[\s,]+/).filter((each) => each !== '').map((pair) => {
    const [, name = '', url = ''] = /^([a-z-]+)=(.*)$/.exec(pair) ?? [];
    const server = PRICE_URLS.get(name);
    if (server === undefined) {
      throw new SettingError(`expected name=url, separated by commas or spaces, with the names ${PRICE_URL_NAMES.join(', ')}`);
    }
    try {
      return [server.of, server.parse(url)] as const;
    } catch (error) {
      throw error instanceof SettingError ? new SettingError(`${name}: ${error.message}`) : error;
    }
  });
  if (new Set(pairs.map(([of]) => of)).size < pairs.length) throw new SettingError('expected each name once');
  return { ...PUBLIC_URLS, ...Object.fromEntries(pairs) };
}

export function priceSources(given: string): readonly SourceName[] {
  const names = list(oneOf(...SOURCE_NAMES))(given);
  try {
    checkNames(names);
  } catch (error) {
    throw new SettingError((error as Error).message);
  }
  return names;
}

export function asset(symbol: string): string {
  if (!isAsset(symbol)) throw new SettingError('expected assets in capitals and digits, as BTC');
  return symbol;
}
