/**
 * Where the sources of prices are. Apart from the sources themselves, so that a process that has none does not load
 * their clients.
 */
import type { SourceName } from './observation.js';

export interface ProviderUrls {
  readonly pyth: string;
  readonly coinbase: string;
  readonly coinbaseStream: string;
  readonly binance: string;
  readonly binanceStream: string;
}

export const PUBLIC_URLS: ProviderUrls = {
  pyth: 'https://hermes.pyth.network',
  coinbase: 'https://api.exchange.coinbase.com', coinbaseStream: 'wss://ws-feed.exchange.coinbase.com',
  binance: 'https://data-api.binance.vision', binanceStream: 'wss://data-stream.binance.vision',
};

/** Where each source's prices come from, as answers name it: the provider, whichever server passes its prices on. */
export const SOURCE_URLS: Readonly<Record<SourceName, string>> = {
  pyth: PUBLIC_URLS.pyth, coinbase: PUBLIC_URLS.coinbase, binance: PUBLIC_URLS.binance, simulated: 'simulated:',
};
