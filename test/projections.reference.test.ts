/** The read models against the reference engine's own state after the same random commands: orders, levels, trades, sums. */
import assert from 'node:assert/strict';
import { encodeCommand, type Outcome } from '../engine/codec.js';
import { testDatabase } from './postgres.js';
import { logOf, projectTo, readTables, runSql, type Rows } from './projected.js';
import { createRandomCommands, crowd } from './random-commands.js';
import { createReferenceEngine, levelKey, type ReferenceEngine, type ReferenceFill } from './reference-engine.js';

const LENGTH = 2_000;
const STATUS = { open: 0, filled: 1, cancelled: 2 } as const;
const SETTLEMENT = { unsettled: 0, settled: 2, failed: 3 } as const;

type LevelName = Parameters<typeof levelKey>[0];

describe('projections: the reference engine\'s state', () => {
  let url: string;
  before(async () => { ({ url } = await testDatabase()); });
  beforeEach(async () => { await runSql(url, 'drop schema if exists read_models cascade'); });

  for (const seed of [101, 102, 103]) {
    it(`is what the tables say (seed ${seed})`, async () => {
      const engine = createReferenceEngine();
      const commands = createRandomCommands(seed, crowd);
      const outcomes: Outcome[] = [];
      while (outcomes.length < LENGTH) {
        const command = commands.next();
        const { outcome } = engine.step(command, encodeCommand(command));
        commands.learn(outcome);
        outcomes.push(outcome);
      }
      await projectTo(LENGTH, { url, log: await logOf(outcomes), limits: { outcomes: 150, events: 1_000 } });
      const rows = await readTables(url);
      assert.deepEqual(ordersOf(rows), ordersIn(engine));
      assert.deepEqual(
        new Map(rows['levels'].map(({ market_id, size, ...level }) => [levelKey({ marketId: market_id, ...level } as LevelName), size])),
        new Map([...engine.levels()].sort(([a], [b]) => a < b ? -1 : 1).map(([key, size]) => [key, String(size)])),
      );
      assert.deepEqual(
        new Map(rows['trades'].map(({ number, settlement }) => [Number(number), settlement])),
        new Map(engine.fills().map(({ matched, status }) => [matched.fill, SETTLEMENT[status]])),
      );
      assertSums(rows, engine.fills().filter(({ status }) => status !== 'failed'));
    });
  }
});

function ordersOf(rows: Rows): Map<unknown, unknown> {
  return new Map(rows['orders'].map(({ order_hash, number, remaining, status }) => (
    [order_hash, { number: Number(number), remaining: BigInt(remaining as string), status }])));
}

function ordersIn(engine: ReferenceEngine): Map<unknown, unknown> {
  return new Map(engine.orders().map(({ number, placed, remaining, status }) => (
    [placed.orderHash, { number, remaining, status: STATUS[status] }])));
}

/** Volumes, trade counts and shares are those of the fills that have not failed. */
function assertSums(rows: Rows, fills: readonly ReferenceFill[]): void {
  const sum = (values: Iterable<bigint>) => [...values].reduce((total, value) => total + value, 0n);
  const total = (table: string, column: string, market: unknown) => (
    sum(rows[table].filter((row) => row['market_id'] === market).map((row) => BigInt(row[column] as string))));
  for (const { market_id } of rows['market_volumes']) {
    const own = fills.filter(({ matched }) => matched.marketId === market_id).map(({ matched }) => matched);
    const cost = sum(own.map((fill) => BigInt(fill.cost)));
    assert.equal(total('market_volumes', 'volume', market_id), cost);
    assert.equal(total('minute_volumes', 'volume', market_id), cost);
    assert.equal(total('market_volumes', 'trades', market_id), BigInt(own.length));
    for (const row of rows['positions'].filter((position) => position['market_id'] === market_id)) {
      for (const [outcome, column] of [[0, 'yes_shares'], [1, 'no_shares']] as const) {
        const traded = own.filter((fill) => fill.outcome === outcome).flatMap(({ buyer, seller, size }) => [
          buyer === row['user_address'] ? BigInt(size) : 0n, seller === row['user_address'] ? -BigInt(size) : 0n,
        ]);
        assert.equal(row[column], String(sum(traded)));
      }
    }
  }
  assert.ok(fills.length > 100, 'too few fills to tell');
}
