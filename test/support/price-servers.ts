/** Price providers as they document themselves, on this machine: Hermes of Pyth, Coinbase's exchange and Binance's market data, with faults. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { SourceName } from '../../command/prices/observation.js';
import { PYTH_FEEDS } from '../../command/prices/price-sources.js';
import { within, createWatch, type Watch } from './until.js';

interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The connection breaks before the end of the body. */
  readonly breaksOff?: boolean;
}

interface SeenRequest {
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
}

interface ProviderServer<Client> {
  readonly url: string;
  readonly webSocketUrl: string;
  /** All requests and handshakes, refused ones too. */
  readonly requests: SeenRequest[];
  /** The streams that were opened, the first one first. */
  readonly clients: Client[];
  readonly watch: Watch;
  /** The next requests and handshakes are refused in this way, one each. */
  refuseNext(...refusals: readonly Refusal[]): void;
  /** Until `refuse(undefined)`, all requests and handshakes are refused in this way; streams that stand are ended. */
  refuse(refusal: Refusal | undefined): void;
  /** The next requests are answered by nothing at all. */
  ignoreNext(count: number): void;
  close(): Promise<void>;
}

interface ProviderParts<Client> {
  /** Answers a request; what it returns is a client that a stream has been opened for. */
  readonly answer: (request: SeenRequest, response: ServerResponse) => Client | undefined;
  readonly welcome?: (request: SeenRequest, socket: WebSocket) => Client;
}

async function startProviderServer<Client>({ answer, welcome }: ProviderParts<Client>): Promise<ProviderServer<Client>> {
  const refusals: (Refusal | 'ignored')[] = [];
  const sockets = new Set<Socket>();
  let always: Refusal | undefined;
  const watch = createWatch();
  const seen = (request: IncomingMessage): SeenRequest => {
    const entry = { url: new URL(request.url ?? '/', 'http://localhost'), headers: request.headers };
    provider.requests.push(entry);
    watch.ring();
    return entry;
  };
  const entered = (client: Client | undefined): void => {
    if (client !== undefined) provider.clients.push(client);
    watch.ring();
  };

  const server = createServer((request, response) => {
    const entry = seen(request);
    const refusal = refusals.shift() ?? always;
    if (refusal === undefined) entered(answer(entry, response));
    else if (refusal !== 'ignored') refuse(response, refusal);
  });
  const handshakes = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    const entry = seen(request);
    const refusal = refusals.shift() ?? always;
    if (refusal === 'ignored') return;
    if (refusal === undefined && welcome !== undefined) {
      handshakes.handleUpgrade(request, socket, head, (client) => { entered(welcome(entry, client)); });
      return;
    }
    const { status, headers = {} } = refusal ?? { status: 404 };
    socket.end([`HTTP/1.1 ${status} No`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), 'Content-Length: 0', '', ''].join('\r\n'));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => { sockets.delete(socket); watch.ring(); });
  });
  server.listen(0, '127.0.0.1');
  await within('the provider listens', once(server, 'listening'));
  const { port } = server.address() as AddressInfo;

  const provider: ProviderServer<Client> = {
    url: `http://127.0.0.1:${port}`, webSocketUrl: `ws://127.0.0.1:${port}`, requests: [], clients: [], watch,
    refuseNext(...next) { refusals.push(...next); },
    refuse(refusal) {
      always = refusal;
      if (refusal !== undefined) for (const socket of sockets) socket.destroy();
    },
    ignoreNext(count) { for (let i = 0; i < count; i++) refusals.push('ignored'); },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await within('the provider has closed', once(server, 'close'));
    },
  };
  return provider;
}

function refuse(response: ServerResponse, { status, headers, body, breaksOff = false }: Refusal): void {
  response.writeHead(status, headers);
  if (breaksOff) response.write(body, () => { response.destroy(); });
  else response.end(body);
}

/** Sends a JSON answer. */
function answerJson(response: ServerResponse, status: number, value: unknown): undefined {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

export interface BinanceClient {
  readonly socket: WebSocket;
  /** The names of the streams that the client has asked for. */
  readonly streams: readonly string[];
  ticker(symbol: string, price: string, atMs: number): void;
  serverShutdown(): void;
}

interface Candle {
  readonly openMs: number;
  readonly open: string;
  readonly trades: number;
}

export interface BinanceServer extends ProviderServer<BinanceClient> {
  /** Of BTCUSDT, the oldest first. */
  candles: Candle[];
}

const MAX_LIMIT = 1_000;

export async function startBinance(): Promise<BinanceServer> {
  const server = await startProviderServer<BinanceClient>({
    answer({ url: { pathname, searchParams } }, response) {
      if (pathname !== '/api/v3/klines') return answerJson(response, 404, {});
      if (searchParams.get('symbol') !== 'BTCUSDT') return answerJson(response, 400, { code: -1121, msg: 'Invalid symbol.' });
      if (searchParams.get('interval') !== '1s') return answerJson(response, 400, { code: -1120, msg: 'Invalid interval.' });
      const [from, to, limit] = ['startTime', 'endTime', 'limit'].map((name) => Number(searchParams.get(name))) as [number, number, number];
      const found = binance.candles.filter(({ openMs }) => openMs >= from && openMs <= to).slice(0, Math.min(limit, MAX_LIMIT));
      return answerJson(response, 200, found.map(({ openMs, open, trades }) => [
        openMs, open, open, open, '99999.00000000', '0.5', openMs + 999, '30000.0', trades, '0.1', '6000.0', '0',
      ]));
    },
    welcome({ url: { searchParams } }, socket) {
      const send = (message: object): void => { socket.send(JSON.stringify(message)); };
      return {
        socket, streams: (searchParams.get('streams') ?? '').split('/'),
        ticker(symbol, price, atMs) {
          send({
            stream: `${symbol.toLowerCase()}@miniTicker`,
            data: { e: '24hrMiniTicker', E: atMs, s: symbol, c: price, o: '1.0', h: '2.0', l: '0.5', v: '10000', q: '18' },
          });
        },
        serverShutdown() { send({ stream: '!serverShutdown', data: { e: 'serverShutdown', E: 1_770_123_456_789 } }); },
      };
    },
  });
  const binance: BinanceServer = { ...server, candles: [] };
  return binance;
}

interface CoinbaseTrade {
  readonly trade_id: number;
  readonly time: string;
  readonly price: string;
}

export interface CoinbaseClient {
  readonly socket: WebSocket;
  /** What the client has asked for; undefined before. */
  subscription: unknown;
  ticker(product: string, price: string, time: string): void;
  heartbeat(product: string): void;
}

export interface CoinbaseServer extends ProviderServer<CoinbaseClient> {
  /** Of BTC-USD, the newest first. */
  trades: CoinbaseTrade[];
}

const PRODUCTS = ['BTC-USD', 'ETH-USD'];

export async function startCoinbase(): Promise<CoinbaseServer> {
  const server = await startProviderServer<CoinbaseClient>({
    answer({ url: { pathname, searchParams } }, response) {
      if (pathname !== '/products/BTC-USD/trades') return answerJson(response, 404, { message: 'NotFound' });
      const after = Number(searchParams.get('after') ?? Infinity);
      const page = coinbase.trades.filter(({ trade_id: id }) => id < after).slice(0, Math.min(MAX_LIMIT, Number(searchParams.get('limit') ?? MAX_LIMIT)));
      return answerJson(response, 200, page.map((trade) => ({ ...trade, size: '0.0001', side: 'sell' })));
    },
    welcome(_, socket) {
      const client = clientOn(socket);
      socket.once('message', (data: Buffer) => {
        const request = client.subscription = JSON.parse(data.toString()) as { product_ids: string[]; channels: string[] };
        const unknown = request.product_ids.find((product) => !PRODUCTS.includes(product));
        if (unknown === undefined) {
          socket.send(JSON.stringify({ type: 'subscriptions', channels: request.channels.map((name) => ({ name, product_ids: request.product_ids })) }));
        } else {
          socket.send(JSON.stringify({ type: 'error', message: 'Failed to subscribe', reason: `${unknown} is not a valid product` }));
        }
        server.watch.ring();
      });
      return client;
    },
  });
  const coinbase: CoinbaseServer = { ...server, trades: [] };
  return coinbase;
}

function clientOn(socket: WebSocket): CoinbaseClient {
  let sequence = 37_475_248_783;
  const send = (message: object): void => { socket.send(JSON.stringify({ ...message, sequence: sequence++ })); };
  return {
    socket, subscription: undefined,
    ticker(product, price, time) {
      send({
        type: 'ticker', product_id: product, price, open_24h: '1310.79', volume_24h: '245532.79', low_24h: '1280.52', high_24h: '1313.8', side: 'buy',
        best_bid: price, best_ask: price, time, trade_id: 370_843_401, last_size: '11.4396987',
      });
    },
    heartbeat(product) { send({ type: 'heartbeat', last_trade_id: 20, product_id: product, time: '2027-01-15T08:00:00.464459Z' }); },
  };
}

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

interface HermesOptions {
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
