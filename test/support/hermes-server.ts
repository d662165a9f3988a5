/** A Hermes server as Pyth documents it: streams of server-sent events, the first update at or after a second, plain-text errors, keys. */
import type { ServerResponse } from 'node:http';
import { answerJson, startProviderServer, type ProviderServer } from './provider-server.js';

export interface HermesPrice {
  readonly price: string;
  readonly conf: string;
  readonly expo: number;
  readonly publish_time: number;
}

export interface HermesClient {
  /** Feed ids that the client has asked for. */
  readonly ids: readonly string[];
  readonly response: ServerResponse;
  /** Sends an update of one feed. */
  price(id: string, price: Partial<HermesPrice>): void;
  /** Sends one update of several feeds. */
  prices(prices: Readonly<Record<string, Partial<HermesPrice>>>): void;
  /** Sends bytes as they are. */
  write(text: string | Uint8Array): void;
  end(): void;
}

export interface HermesServer extends ProviderServer<HermesClient> {
  /** What the server has of the past, by feed. */
  readonly past: Map<string, HermesPrice[]>;
}

const PRICE: HermesPrice = { price: '6140993501000', conf: '3287868567', expo: -8, publish_time: 1_714_746_101 };
const STREAM = '/v2/updates/price/stream';
const AT_SECOND = /^\/v2\/updates\/price\/(\d+)$/;

export interface HermesOptions {
  readonly feeds: readonly string[];
  readonly key?: string;
}

export async function startHermes({ feeds, key }: HermesOptions): Promise<HermesServer> {
  const past = new Map<string, HermesPrice[]>();
  const server = await startProviderServer<HermesClient>({
    answer({ url, headers }, response) {
      const refuse = (status: number, text: string): undefined => { response.writeHead(status, { 'content-type': 'text/plain' }).end(text); };
      const ids = url.searchParams.getAll('ids[]');
      const unknown = ids.filter((id) => !feeds.includes(id));
      if (key !== undefined && headers.authorization !== `Bearer ${key}`) return refuse(401, 'Unauthorized');
      if (ids.length === 0) return refuse(400, 'Failed to deserialize query string: missing field `ids`');
      if (unknown.length > 0) return refuse(404, `Price ids not found: ${unknown.map((id) => `0x${id}`).join(', ')}`);
      if (url.pathname === STREAM) return openStream(ids, response);
      const second = Number(AT_SECOND.exec(url.pathname)?.[1]);
      const found = ids.map((id) => ({ id, price: (past.get(id) ?? []).find(({ publish_time: at }) => at >= second) }));
      if (found.some(({ price }) => price === undefined)) return refuse(404, 'Update data not found');
      return answerJson(response, 200, updateOf(found as { id: string; price: HermesPrice }[]));
    },
  });
  return { ...server, past };
}

function openStream(ids: readonly string[], response: ServerResponse): HermesClient {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }).flushHeaders();
  const write = (text: string | Uint8Array): void => { response.write(text); };
  const prices: HermesClient['prices'] = (told) => {
    const updates = Object.entries(told).map(([id, price]) => ({ id, price: { ...PRICE, ...price } }));
    write(`data:${JSON.stringify(updateOf(updates))}\n\n`);
  };
  return {
    ids, response, write, prices,
    price(id, price) { prices({ [id]: price }); },
    end() { response.end(); },
  };
}

function updateOf(prices: readonly { readonly id: string; readonly price: HermesPrice }[]): object {
  return {
    binary: { encoding: 'hex', data: ['504e41550100'] },
    parsed: prices.map(({ id, price }) => {
      const { publish_time: at } = price;
      return { id, price, ema_price: price, metadata: { slot: 138_881_186, proof_available_time: at + 1, prev_publish_time: at } };
    }),
  };
}
