/**
 * Binance's prices in USDT, taken for USD: the 1-second ticker of its WebSocket streams, and candles of a second for
 * gaps.
 */
import { BadMessage, decimalE8, jsonObject, listOf, objectOf, positive, shown, timeMs, type Observation } from '../observation.js';
import type { PriceSource } from '../price-source.js';
import { ProviderFailure } from './failure.js';
import { openAccess } from './request.js';
import type { SourceMessage } from './standing-stream.js';
import { createStreamedSource, type ProviderOptions } from './streamed-source.js';
import { webSocketTransport } from './websocket.js';

export interface BinanceOptions extends ProviderOptions {
  /** Of the streams, without a slash at its end. */
  readonly streamUrl: string;
  readonly assets: readonly string[];
}

const CANDLES_PER_PAGE = 1_000;
/** An hour and more. */
const MAX_PAGES = 4;

export function createBinance({ streamUrl, ...options }: BinanceOptions): PriceSource {
  const { url, assets, ports } = options;
  const assetOf = new Map(assets.map((asset) => [symbolOf(asset), asset]));
  const streams = assets.map((asset) => `${symbolOf(asset).toLowerCase()}@miniTicker`).join('/');
  return createStreamedSource({
    ...options, name: 'binance', access: openAccess(ports), read: (message) => tickerOf(message, assetOf),
    transport: webSocketTransport({ url: `${streamUrl}/stream?streams=${streams}`, now: ports.now }),
    /** Of each second with a trade, the price of its first trade. */
    async since(get, asset, { fromMs, toMs }) {
      const found: Observation[] = [];
      let startMs = Math.ceil(fromMs / 1_000) * 1_000;
      for (let page = 0; page < MAX_PAGES && startMs <= toMs; page++) {
        const range = `startTime=${startMs}&endTime=${toMs}&limit=${CANDLES_PER_PAGE}`;
        const candles = listOf(await get(`${url}/api/v3/klines?symbol=${symbolOf(asset)}&interval=1s&${range}`)).map(listOf);
        found.push(...candles.flatMap((candle) => candleOf(candle, asset)));
        const last = candles.at(-1);
        if (last === undefined || candles.length < CANDLES_PER_PAGE) break;
        startMs = laterThan(startMs, last[0]) + 1_000;
      }
      return found.filter(({ publishedAtMs }) => publishedAtMs >= fromMs && publishedAtMs <= toMs);
    },
  });
}

function symbolOf(asset: string): string {
  return `${asset}USDT`;
}

function laterThan(startMs: number, openMs: unknown): number {
  const lastMs = timeMs(openMs);
  if (lastMs < startMs) throw new BadMessage('candles of another time than asked for');
  return lastMs;
}

function tickerOf({ text }: SourceMessage, assetOf: ReadonlyMap<string, string>): Observation[] {
  const message = jsonObject(text);
  if ('code' in message || 'error' in message) throw new ProviderFailure(`says: ${shown(message['msg'] ?? message['error'])}`);
  const { e: type, s: symbol, c: price, E: atMs } = objectOf(message['data'] ?? {});
  if (type === 'serverShutdown') throw new ProviderFailure('is about to shut this server down');
  const asset = assetOf.get(String(symbol));
  if (type !== '24hrMiniTicker' || asset === undefined) return [];
  return [{ asset, source: 'binance', priceE8: positive(decimalE8(price)), publishedAtMs: timeMs(atMs) }];
}

/**
 * [open time, open, high, low, close, volume, close time, quote volume, number of trades, …]. Without a trade the
 * prices are those of before.
 */
function candleOf([openMs, open, , , , , , , trades]: readonly unknown[], asset: string): Observation[] {
  return trades === 0 ? [] : [{ asset, source: 'binance', priceE8: positive(decimalE8(open)), publishedAtMs: timeMs(openMs) }];
}
