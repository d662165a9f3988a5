/** Coinbase's prices in USD: the ticker of its WebSocket feed, and the list of trades for gaps. */
import { BadMessage, decimalE8, isoTimeMs, jsonObject, listOf, objectOf, positive, shown, type Observation } from '../observation.js';
import { firstPerSecond, type PriceSource } from '../price-source.js';
import { ProviderFailure } from './failure.js';
import { openAccess } from './request.js';
import type { SourceMessage } from './standing-stream.js';
import { createStreamedSource, type ProviderOptions } from './streamed-source.js';
import { webSocketTransport } from './websocket.js';

export interface CoinbaseOptions extends ProviderOptions {
  readonly streamUrl: string;
  readonly assets: readonly string[];
}

const TRADES_PER_PAGE = 1_000;
/** Ten requests per second are allowed. */
const MAX_PAGES = 10;

export function createCoinbase({ streamUrl, ...options }: CoinbaseOptions): PriceSource {
  const { url, assets, ports } = options;
  const assetOf = new Map(assets.map((asset) => [productOf(asset), asset]));
  return createStreamedSource({
    ...options, name: 'coinbase', access: openAccess(ports), read: (message) => tickerOf(message, assetOf),
    transport: webSocketTransport({
      url: streamUrl, now: ports.now, greeting: { type: 'subscribe', product_ids: [...assetOf.keys()], channels: ['ticker', 'heartbeat'] },
    }),
    /** From the newest trade back, as far as some pages reach. */
    async since(get, asset, { fromMs, toMs }) {
      const found: Observation[] = [];
      const trades = `${url}/products/${productOf(asset)}/trades?limit=${TRADES_PER_PAGE}`;
      let after: number | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const listed = listOf(await get(after === undefined ? trades : `${trades}&after=${after}`)).map(objectOf);
        found.push(...listed.map((trade) => observationOf(trade, asset)));
        const last = listed.at(-1);
        if (last === undefined || isoTimeMs(last['time']) < fromMs) break;
        after = olderThan(after, last['trade_id']);
      }
      return firstPerSecond(found.filter(({ publishedAtMs }) => publishedAtMs >= fromMs && publishedAtMs <= toMs));
    },
  });
}

function productOf(asset: string): string {
  return `${asset}-USD`;
}

/** The number of the last trade of a page, which the next page begins below. */
function olderThan(after: number | undefined, tradeId: unknown): number {
  if (typeof tradeId === 'number' && Number.isSafeInteger(tradeId) && (after === undefined || tradeId < after)) return tradeId;
  throw new BadMessage(`not the number of an older trade: ${shown(tradeId)}`);
}

/** The other types, heartbeats among them, say only that the connection lives. */
function tickerOf({ text }: SourceMessage, assetOf: ReadonlyMap<string, string>): Observation[] {
  const message = jsonObject(text);
  if (message['type'] === 'error') throw new ProviderFailure(`says: ${shown(message['message'])} (${shown(message['reason'] ?? 'no reason')})`);
  const asset = assetOf.get(String(message['product_id']));
  return message['type'] !== 'ticker' || asset === undefined ? [] : [observationOf(message, asset)];
}

function observationOf({ price, time }: Readonly<Record<string, unknown>>, asset: string): Observation {
  return { asset, source: 'coinbase', priceE8: positive(decimalE8(price)), publishedAtMs: isoTimeMs(time) };
}
