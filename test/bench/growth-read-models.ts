/**
 * What the read models cost as they grow: folding the same outcomes into empty tables and into tables that have millions of trades, finding an order
 * by its hash among them, and the bytes that a trade takes.
 */
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { soleRow } from '../../engine/log/postgres/connection.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { projections } from '../../projections/catalogue.js';
import { tableNames } from '../../projections/projection.js';
import { runProjections } from '../../projections/runner.js';
import { openReadModels } from '../../query/database.js';
import { findOrder } from '../../query/orders/order.js';
import { growReadModels } from '../support/grown-read-models.js';
import { appendAll } from '../support/log-records.js';
import { urlOf } from '../support/postgres.js';
import { outcomeRecord } from '../support/projected.js';
import { runSql } from '../support/sql.js';
import { scheduled } from './compare/usage.js';
import type { Curve } from './curve.js';
import type { BenchLine } from './line.js';
import { median } from './median.js';
import { marketOf, outcomeHistory, settledTrades, timeOf, traderOf, type Before } from './outcome-history.js';

/** At 1.2 kB each, ten million take 12 GB; a hundred million would take 120, and an hour. */
const SIZES = [100_000, 1_000_000, 10_000_000] as const;
const CROWD = { markets: 100, traders: 2_000 };
const STRETCH = 4_000;
/** The first stretch warms up. */
const STRETCHES = 11;
const LOOKUPS = 21;

/** Nothing but the work itself writes. */
const QUIET = ['autovacuum = off', `checkpoint_timeout = '1h'`] as const;

/** Trades of which the first half has every trader in every market, and the second half is weighed. */
const WEIGHED = { markets: 20, traders: 200, trades: 80_000 };

const MOST_TIMES = 1.3;
const MOST_LOOKUP_MS = 5;
const MOST_BYTES = 1_000;

interface Point {
  readonly trades: number;
  readonly empty: Cost;
  readonly grown: Cost;
  /** Finding the first order by its hash. */
  readonly lookupMs: number;
  readonly bytes: Bytes;
}

/** Of an outcome: Postgres' processor time, the time until it is folded, and the bytes of WAL. */
interface Cost {
  readonly processorUs: number;
  readonly us: number;
  readonly walBytes: number;
}

interface Bytes {
  readonly tables: number;
  readonly indexes: number;
}

/** Two databases of the cluster take turns, of which one has no trades, and the other more and more; holders are in both. Linux only. */
export async function readModelsGrowth(url: string): Promise<{ lines: BenchLine[]; curves: Curve[] }> {
  for (const setting of QUIET) await runSql(url, `alter system set ${setting}`);
  await runSql(url, 'select pg_reload_conf()');
  const trade = await bytesPerTrade(await databaseOf(url, 'weighed'));
  const grown = await databaseOf(url, 'grown');
  let after = await openMarkets(grown);
  let trades = 0;
  const points: Point[] = [];
  for (const size of SIZES) {
    after = await growReadModels(grown, { ...CROWD, trades: size - trades, after });
    trades = size;
    const lookupMs = await lookupMsOf(grown);
    const bytes = await bytesOf(grown);
    const empty = await databaseOf(url, 'empty');
    const [inEmpty, inGrown] = await costsInTurns(url, [
      { database: empty, after: await growReadModels(empty, { ...CROWD, trades: 0, after: await openMarkets(empty) }) }, { database: grown, after },
    ]);
    if (inEmpty === undefined || inGrown === undefined) throw new Error('two databases take turns');
    points.push({ trades, empty: inEmpty.cost, grown: inGrown.cost, lookupMs, bytes });
    after = inGrown.after;
    trades += after.fill - trades;
  }
  return { lines: linesOf(points, trade), curves: curvesOf(points) };
}

async function openMarkets(database: string): Promise<Before> {
  await foldAll(database, { outcomes: outcomeHistory({ ...CROWD, seed: 1, length: CROWD.markets }), from: 0 });
  return { position: CROWD.markets, fill: 0 };
}

function linesOf(points: readonly Point[], trade: Bytes): BenchLine[] {
  const lines = points.flatMap(({ trades, empty, grown, lookupMs }): BenchLine[] => {
    const at = `read models with ${millions(trades)} trades`;
    const isLargest = trades === points.at(-1)?.trades;
    return [
      {
        name: `${at}: processor time of Postgres per outcome`, figure: grown.processorUs, unit: 'µs', peer: { name: 'into empty ones', figure: empty.processorUs },
        target: isLargest ? { ratioAtMost: MOST_TIMES } : {},
      },
      { name: `${at}: time per outcome`, figure: grown.us, unit: 'µs', peer: { name: 'into empty ones', figure: empty.us }, target: {} },
      { name: `${at}: WAL per outcome`, figure: grown.walBytes, unit: 'bytes', peer: { name: 'into empty ones', figure: empty.walBytes }, target: {} },
      { name: `${at}: finding the oldest order by its hash`, figure: lookupMs, unit: 'ms', target: isLargest ? { atMost: MOST_LOOKUP_MS } : {} },
    ];
  });
  return [
    ...lines,
    { name: 'read models: bytes per settled trade', figure: trade.tables + trade.indexes, unit: 'bytes', target: { atMost: MOST_BYTES } },
    { name: 'read models: bytes of indexes per settled trade', figure: trade.indexes, unit: 'bytes', target: {} },
  ];
}

function millions(trades: number): string {
  return `${Number((trades / 1e6).toPrecision(1))} M`;
}

function curvesOf(points: readonly Point[]): Curve[] {
  const series = (name: string, y: (point: Point) => number) => ({ name, points: points.map((point) => [point.trades, y(point)] as const) });
  const x = { label: 'trades in the read models', log: true };
  return [{
    file: 'growth-insert', title: 'Folding an outcome: processor time of Postgres', x, y: { label: 'µs per outcome', log: false },
    series: [series('into read models of this size', ({ grown }) => grown.processorUs), series('into empty ones, in turns', ({ empty }) => empty.processorUs)],
  }, {
    file: 'growth-wal', title: 'Folding an outcome: WAL', x, y: { label: 'bytes per outcome', log: false },
    series: [series('into read models of this size', ({ grown }) => grown.walBytes), series('into empty ones, in turns', ({ empty }) => empty.walBytes)],
  }, {
    file: 'growth-bytes', title: 'Size of the read models', x, y: { label: 'GB', log: true },
    series: [series('tables and indexes', ({ bytes }) => (bytes.tables + bytes.indexes) / 1e9), series('indexes', ({ bytes }) => bytes.indexes / 1e9)],
  }];
}

interface Measured {
  readonly cost: Cost;
  readonly after: Before;
}

/** What the same outcomes cost in each database, stretch by stretch in turns after a checkpoint: medians, of WAL the mean. */
async function costsInTurns(cluster: string, sides: readonly { readonly database: string; readonly after: Before }[]): Promise<Measured[]> {
  const folding = await Promise.all(sides.map(async ({ database, after }) => {
    const outcomes = outcomeHistory({ ...CROWD, seed: 7, length: STRETCHES * STRETCH, after });
    return { outcomes, after, worker: await startFolding(database, after.position), spent: new Array<Cost>() };
  }));
  await runSql(cluster, 'checkpoint');
  for (let from = 0; from < STRETCHES * STRETCH; from += STRETCH) {
    for (const { outcomes, worker, spent } of folding) {
      const before = await usageOf(cluster, worker.pid);
      await worker.fold(outcomes.slice(from, from + STRETCH));
      const now = await usageOf(cluster, worker.pid);
      const each = (of: keyof Cost) => (now[of] - before[of]) / STRETCH;
      spent.push({ processorUs: each('processorUs'), us: each('us'), walBytes: each('walBytes') });
    }
  }
  return await Promise.all(folding.map(async ({ outcomes, after, worker, spent }) => {
    await worker.stop();
    const warm = spent.slice(1);
    const fills = outcomes.reduce((sum, { events }) => sum + events.filter(({ type }) => type === 'FillMatched').length, 0);
    return {
      cost: {
        processorUs: median(warm.map(({ processorUs }) => processorUs)), us: median(warm.map(({ us }) => us)),
        walBytes: spent.reduce((sum, { walBytes }) => sum + walBytes, 0) / spent.length,
      },
      after: { position: after.position + outcomes.length, fill: after.fill + fills },
    };
  }));
}

/** What a session has used so far, with the time of now; the WAL is the cluster's. */
async function usageOf(cluster: string, pid: number): Promise<Cost> {
  const { wal } = soleRow(await runSql<{ wal: string }>(cluster, `select pg_current_wal_insert_lsn() - '0/0' as wal`));
  const processorNs = (await scheduled(`/proc/${pid}`))?.ranNs ?? NaN;
  return { processorUs: processorNs / 1e3, us: performance.now() * 1e3, walBytes: Number(wal) };
}

/** The worker over a log that has `from` outcomes before those that it is given. */
async function startFolding(database: string, from: number) {
  const store = createMemoryStore();
  store.records.outcomes.length = from;
  const newest = from === 0 ? undefined : await newestOrderOf(database);
  if (newest !== undefined) store.records.outcomes[newest.position] = { position: newest.position, ...outcomeRecord(newest.outcome) };
  const log = createMemoryLog(store);
  const stop = new AbortController();
  let position = -1;
  let progressed: () => void = () => undefined;
  const { done } = runProjections({
    url: database, log, projections, signal: stop.signal, freshnessMs: 0, report: () => undefined,
    onProgress: (progress) => {
      position = progress.position;
      progressed();
    },
  });
  const reached = async (wanted: number): Promise<void> => {
    while (position < wanted) await Promise.race([done, new Promise<void>((resolve) => { progressed = resolve; })]);
  };
  await reached(from);
  const { pid } = soleRow(await runSql<{ pid: number }>(
    database, `select pid from pg_stat_activity where datname = current_database() and application_name = 'projections'`));
  return {
    pid,
    async fold(outcomes: readonly CommandOutcome[]): Promise<void> {
      const records = outcomes.map(outcomeRecord);
      await reached(await appendAll(log, 'outcomes', records) + records.length);
    },
    async stop(): Promise<void> {
      stop.abort();
      await done;
    },
  };
}

/** The worker looks whether the log has the newest order. */
async function newestOrderOf(database: string): Promise<{ readonly position: number; readonly outcome: CommandOutcome } | undefined> {
  const [order] = await runSql<{ number: string; hash: string }>(
    database, `select number, '0x' || encode(order_hash, 'hex') as hash from read_models.orders order by number desc limit 1`);
  if (order === undefined) return undefined;
  const position = Number(order.number);
  return { position, outcome: { at: timeOf(position), events: [{ ...ANY_ORDER, orderHash: order.hash, orderNumber: position }] } };
}

const ANY_ORDER = {
  type: 'OrderAccepted', v: 1, marketId: marketOf(0), side: 0, outcome: 0, price: 1, trader: traderOf(0), size: '1', nonce: '0', expiration: '0',
} as const;

/** `afterEach`: SQL that is run after each stretch. */
async function foldAll(
  database: string, { outcomes, from }: { readonly outcomes: readonly CommandOutcome[]; readonly from: number }, { afterEach = '' } = {},
): Promise<void> {
  const worker = await startFolding(database, from);
  for (let n = 0; n < outcomes.length; n += STRETCH) {
    await worker.fold(outcomes.slice(n, n + STRETCH));
    await runSql(database, afterEach);
  }
  await worker.stop();
}

/** A new database. */
async function databaseOf(cluster: string, name: string): Promise<string> {
  await runSql(cluster, `drop database if exists ${name}`);
  await runSql(cluster, `create database ${name}`);
  return urlOf(cluster, name);
}

/** The median over lookups in a session that has planned the statement. */
async function lookupMsOf(database: string): Promise<number> {
  const { hash } = soleRow(await runSql<{ hash: string }>(
    database, `select '0x' || encode(order_hash, 'hex') as hash from read_models.orders order by number limit 1`));
  const db = await openReadModels({ url: database, connections: 1, statementTimeoutMs: 60_000 });
  try {
    const times: number[] = [];
    for (let n = 0; n < LOOKUPS; n++) {
      const begun = performance.now();
      if (await findOrder(db, hash) === undefined) throw new Error('the oldest order is not found');
      times.push(performance.now() - begun);
    }
    return median(times);
  } finally {
    await db.close();
  }
}

async function bytesOf(database: string): Promise<Bytes> {
  const tables = projections.flatMap(tableNames).map((table) => `read_models.${table}`);
  const { table, index } = soleRow(await runSql<{ table: string; index: string }>(database, `
    select sum(pg_table_size(name::regclass)) as table, sum(pg_indexes_size(name::regclass)) as index from unnest($1::text[]) name`, [tables]));
  return { tables: Number(table), indexes: Number(index) };
}

/** What each trade of the second half of a history adds. */
export async function bytesPerTrade(database: string): Promise<Bytes> {
  const outcomes = settledTrades({ ...WEIGHED, seed: 3 });
  const half = WEIGHED.markets + (outcomes.length - WEIGHED.markets) / 2;
  const vacuum = { afterEach: 'vacuum' };
  await foldAll(database, { outcomes: outcomes.slice(0, half), from: 0 }, vacuum);
  const before = await bytesOf(database);
  await foldAll(database, { outcomes: outcomes.slice(half), from: half }, vacuum);
  const now = await bytesOf(database);
  const each = (of: keyof Bytes) => (now[of] - before[of]) / (WEIGHED.trades / 2);
  return { tables: each('tables'), indexes: each('indexes') };
}
