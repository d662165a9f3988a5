/** Reads over HTTP: the service's shell and query functions against the same SQL behind bare `node:http`. */
import http, { type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { projections } from '../../projections/catalogue.js';
import { openReadModels, type Database } from '../../query/database.js';
import { orderbook, getOrderbook } from '../../query/orders/orderbook.js';
import { ordersOfTrader, listOrders } from '../../query/orders/orders.js';
import { position, getPosition } from '../../query/positions.js';
import type { Answer, Statement } from '../../query/statement.js';
import { bind } from '../../service/api/endpoint.js';
import { createApp } from '../../service/http/app.js';
import { TIMEOUTS, createServer } from '../../service/http/server.js';
import { runSql } from '../support/sql.js';
import { logOf, projectTo } from '../support/projected.js';
import type { BenchLine } from './line.js';
import { buildRequest, runLoadInChild } from './load.js';
import { outcomeHistory } from './outcome-history.js';

const HISTORY = { seed: 7, length: 40_000, markets: 100, traders: 500 };
const ROUNDS = 3;
const CONNECTIONS = 64;
const POOL = 4;

/** One kind of read: the paths asked for, and what answers each. */
interface Read {
  readonly name: string;
  readonly asked: ReadonlyMap<string, (db: Database) => Promise<Answer>>;
}

/** Requests a second of the orderbook, a trader's orders and a position, the median of rounds that take turns. */
export async function readsBench(url: string, count = 12_000): Promise<BenchLine[]> {
  await project(url);
  const db = await openReadModels({ url, connections: POOL });
  const bare = new pg.Pool({ connectionString: url, options: '-c search_path=read_models -c jit=off', max: POOL });
  // The cluster of a benchmark stops before its last idle sessions have ended.
  bare.on('error', () => undefined);
  try {
    const lines: BenchLine[] = [];
    for (const read of await reads(bare)) lines.push(await compare(read, serviceServer(db), await bareServer(bare, read), count));
    return lines;
  } finally {
    await db.close();
    await bare.end();
  }
}

async function project(url: string): Promise<void> {
  await runSql(url, 'drop schema if exists read_models cascade');
  const log = await logOf(outcomeHistory(HISTORY));
  await projectTo(await log.length('outcomes'), { url, log, projections });
  await runSql(url, 'vacuum analyze');
}

/** The reads, each of many markets or traders. */
async function reads(pool: pg.Pool): Promise<Read[]> {
  const column = async (sql: string) => (await pool.query<{ hex: string }>(sql)).rows;
  const markets = await column(`select '0x' || encode(market_id, 'hex') as hex from markets`);
  const traders = await column(`select distinct '0x' || encode(trader, 'hex') as hex from orders where status = 0 limit 500`);
  const pairs = await pool.query<{ market: string; holder: string }>(`
    select '0x' || encode(market_id, 'hex') as market, '0x' || encode(user_address, 'hex') as holder from positions limit 500`);
  return [
    { name: 'orderbook', asked: new Map(markets.map(({ hex: marketId }) => [
      `/api/v1/orderbook/${marketId}?outcome=YES`, (db: Database) => orderbook(db, { marketId, outcome: 0 }),
    ])) },
    { name: 'orders of a trader', asked: new Map(traders.map(({ hex: trader }) => [
      `/api/v1/orders?trader=${trader}`, (db: Database) => ordersOfTrader(db, { trader }),
    ])) },
    { name: 'position', asked: new Map(pairs.rows.map(({ market, holder }) => [
      `/api/v1/positions/${market}?user=${holder}`, (db: Database) => position(db, { market: { marketId: market }, user: holder }),
    ])) },
  ];
}

async function compare({ name, asked }: Read, service: Server, bare: Server, count: number): Promise<BenchLine> {
  const requests = [...asked.keys()].map((path) => buildRequest('GET', path));
  const [tested, peer] = [await listening(service), await listening(bare)];
  const rounds: { figure: number; peer: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ figure: await rate(tested, requests, count), peer: await rate(peer, requests, count) });
  }
  for (const server of [service, bare]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rounds.sort((a, b) => a.figure / a.peer - b.figure / b.peer);
  const median = rounds[(ROUNDS - 1) / 2]!;
  return {
    name: `reads, ${name}: requests a second`, figure: median.figure, unit: '1/s',
    peer: { name: 'the same SQL behind bare node:http', figure: median.peer }, target: { ratioAtLeast: 0.6 },
  };
}

async function rate(port: number, requests: Uint8Array[], count: number): Promise<number> {
  const { ratePerS, statuses } = await runLoadInChild({
    host: '127.0.0.1', port, connections: CONNECTIONS, requests, count, warmUp: Math.ceil(count / 4),
  });
  if (statuses[200] !== count) throw new Error(`not every read was answered: ${JSON.stringify(statuses)}`);
  return ratePerS;
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', () => { resolve(); }); });
  return (server.address() as AddressInfo).port;
}

/** The service's shell with the routes that are read here, without rate limits. */
function serviceServer(db: Database): Server {
  const routes = [
    bind(getOrderbook, (asked) => orderbook(db, asked)), bind(listOrders, (asked) => ordersOfTrader(db, asked)),
    bind(getPosition, (asked) => position(db, asked)),
  ];
  const app = createApp({
    routes, limiters: {}, pages: {}, trustProxy: 0, waitForPosition: (wanted, signal) => db.waitForPosition(wanted, { signal }),
    observer: { answered: () => undefined, failed: (error) => { throw error; } }, now: () => performance.now(),
  });
  return createServer(app, { ...TIMEOUTS, maxConnections: 1_000, maxConnectionsPerAddress: 0 });
}

/** What each path needs is worked out beforehand: the least that a server with this SQL can do. */
async function bareServer(pool: pg.Pool, { asked }: Read): Promise<Server> {
  const queries = new Map<string, { name?: string; text: string; values: unknown[] }>();
  for (const [path, read] of asked) {
    await read({
      rows: (statement: Statement, values: readonly unknown[]) => {
        queries.set(path, { ...statement, values: [...values] });
        return Promise.resolve([{ body: '', position: '0' }]);
      },
    } as Database);
  }
  return http.createServer((request, response) => {
    void pool.query<{ body: string; position: string }>(queries.get(request.url!)!).then(({ rows: [row] }) => {
      const { body, position: at } = row!;
      response.writeHead(200, [
        'Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(Buffer.byteLength(body)), 'X-Log-Position', at,
      ]);
      response.end(body);
    });
  });
}
