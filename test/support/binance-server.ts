/** Binance's market data as it is documented: combined streams, candles of a second, errors with codes. */
import type { WebSocket } from 'ws';
import { answerJson, startProviderServer, type ProviderServer } from './provider-server.js';

export interface BinanceClient {
  readonly socket: WebSocket;
  /** The names of the streams that the client has asked for. */
  readonly streams: readonly string[];
  ticker(symbol: string, price: string, atMs: number): void;
  serverShutdown(): void;
}

export interface Candle {
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
