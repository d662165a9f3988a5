/** The read models against the reference engine's own state after the same random commands: orders, levels, trades, sums. */
import assert from 'node:assert/strict';
import { DERIVE } from '../support/derived-tables.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { logOf, projectTo, randomOutcomes, readTables, rowsOf, type Rows } from '../support/projected.js';
import { createReferenceEngine, levelKey, type ReferenceEngine, type ReferenceFill } from '../reference/engine.js';
import { referenceCandles } from '../reference/derived-rows.js';
import { referencePositions, referenceSettlements } from '../reference/positions.js';

const LENGTH = 2_000;
const STATUS = { open: 0, filled: 1, cancelled: 2 } as const;
const SETTLEMENT = ['unsettled', 'unsettled', 'settled', 'failed'] as const;

type LevelName = Parameters<typeof levelKey>[0];

describe('projections: the reference engine\'s state', () => {
  let url: string;
  before(async () => { ({ url } = await testDatabase()); });
  beforeEach(async () => { await runSql(url, 'drop schema if exists read_models cascade'); });

  for (const seed of [101, 102, 103]) {
    it(`is what the tables say (seed ${seed})`, async () => {
      const engine = createReferenceEngine();
      const outcomes = randomOutcomes(seed, LENGTH, engine);
      await projectTo(LENGTH, { url, log: await logOf(outcomes), limits: { outcomes: 150, events: 1_000 } });
      const rows = await readTables(url);
      assert.deepEqual(ordersOf(rows), ordersIn(engine));
      assert.deepEqual(
        new Map(rowsOf(rows, 'levels').map(({ market_id, size, ...level }) => [levelKey({ marketId: market_id, ...level } as LevelName), size])),
        new Map([...engine.levels()].sort(([a], [b]) => a < b ? -1 : 1).map(([key, size]) => [key, String(size)])),
      );
      assert.deepEqual(
        new Map(rowsOf(rows, 'trades').map(({ number, settlement }) => [Number(number), SETTLEMENT[settlement as number]])),
        new Map(engine.fills().map(({ matched, status }) => [matched.fill, status])),
      );
      const { fills, submissions } = referenceSettlements(outcomes);
      assert.deepEqual(new Map(rowsOf(rows, 'trades').map(({ number, settlement, tx_hash }) => [Number(number), { settlement, txHash: tx_hash }])), fills);
      assert.deepEqual(placesOf(rowsOf(rows, 'submissions')), submissions);
      assert.deepEqual(positionsOf(rows), referencePositions(outcomes));
      assert.deepEqual(rowsOf(rows, 'candles'), referenceCandles(outcomes));
      await runSql(url, `set search_path = read_models; ${DERIVE.join('; ')}`);
      assert.deepEqual(await readTables(url), rows);
      assertCounts(rows);
      assertSums(rows, engine.fills().filter(({ status }) => status !== 'failed'));
    });
  }
});

function ordersOf(rows: Rows): Map<unknown, unknown> {
  return new Map(rowsOf(rows, 'orders').map(({ order_hash, number, remaining, status }) => (
    [order_hash, { number: Number(number), remaining: BigInt(remaining as string), status }])));
}

/** The place of each fill in each transaction: that of the first record that names it. */
function placesOf(submissions: readonly Record<string, unknown>[]): Map<string, number> {
  const places = new Map<string, number>();
  for (const { tx_hash, fills } of [...submissions].sort((a, b) => Number(a['position']) - Number(b['position']))) {
    for (const [place, fill] of (fills as string[]).entries()) {
      const key = `${tx_hash as string} ${fill}`;
      if (!places.has(key)) places.set(key, place);
    }
  }
  return places;
}

function ordersIn(engine: ReferenceEngine): Map<unknown, unknown> {
  return new Map(engine.orders().map(({ number, placed, remaining, status }) => (
    [placed.orderHash, { number, remaining, status: STATUS[status] }])));
}

function positionsOf(rows: Rows): Map<string, unknown> {
  type Row = Record<'market_id' | 'user_address' | `${'yes' | 'no'}_${'shares' | 'cost'}`, string>;
  return new Map((rowsOf(rows, 'positions') as Row[]).flatMap((row) => (['yes', 'no'] as const).map((side, outcome) => [
    `${row.market_id} ${row.user_address} ${outcome}`, { shares: BigInt(row[`${side}_shares`]), cost: BigInt(row[`${side}_cost`]) },
  ] as const)));
}

/** Counts of holders, sums by chain, and the chains of orders are those of the rows that they follow from. */
function assertCounts(rows: Rows): void {
  const chainOf = new Map(rowsOf(rows, 'markets').map(({ market_id, chain_id }) => [market_id, chain_id]));
  for (const { market_id, chain_id } of rowsOf(rows, 'orders')) assert.equal(chain_id, chainOf.get(market_id) ?? null);
  const positions = rowsOf(rows, 'positions');
  for (const { market_id, holders } of rowsOf(rows, 'market_holders')) {
    assert.equal(Number(holders), positions.filter((each) => each['market_id'] === market_id
      && (BigInt(each['yes_shares'] as string) > 0n || BigInt(each['no_shares'] as string) > 0n)).length);
  }
  assert.deepEqual(new Set(rowsOf(rows, 'market_holders').map(({ market_id }) => market_id)), new Set(positions.map(({ market_id }) => market_id)));
  for (const { chain_id, volume, trades } of rowsOf(rows, 'chain_volumes')) {
    const own = rowsOf(rows, 'market_volumes').filter(({ market_id }) => chainOf.get(market_id) === chain_id);
    assert.equal(BigInt(volume as string), own.reduce((sum, each) => sum + BigInt(each['volume'] as string), 0n));
    assert.equal(BigInt(trades as string), own.reduce((sum, each) => sum + BigInt(each['trades'] as string), 0n));
  }
}

/** Volumes and trade counts are those of the fills that have not failed. */
function assertSums(rows: Rows, fills: readonly ReferenceFill[]): void {
  const sum = (values: Iterable<bigint>) => [...values].reduce((total, value) => total + value, 0n);
  const total = (table: string, column: string, market: unknown) => (
    sum(rowsOf(rows, table).filter((row) => row['market_id'] === market).map((row) => BigInt(row[column] as string))));
  for (const { market_id } of rowsOf(rows, 'market_volumes')) {
    const own = fills.filter(({ matched }) => matched.marketId === market_id).map(({ matched }) => matched);
    const cost = sum(own.map((fill) => BigInt(fill.cost)));
    assert.equal(total('market_volumes', 'volume', market_id), cost);
    assert.equal(total('minute_volumes', 'volume', market_id), cost);
    assert.equal(total('market_volumes', 'trades', market_id), BigInt(own.length));
  }
  assert.ok(fills.length > 100, 'too few fills to tell');
}
