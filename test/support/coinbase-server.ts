/** Coinbase's exchange as it is documented: a feed that wants a subscription first, and trades in pages, the newest first. */
import type { WebSocket } from 'ws';
import { answerJson, startProviderServer, type ProviderServer } from './provider-server.js';

export interface CoinbaseTrade {
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
const MAX_LIMIT = 1_000;

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
