/** Every list in pages: from cursor to cursor the entries of the whole list, once each, also while new ones come; spoilt cursors are refused. */
import assert from 'node:assert/strict';
import { failedClaims, pendingClaims } from '../../query/claims.js';
import { ordersOfTrader, ordersOfUser } from '../../query/orders/orders.js';
import { cursorAfter, type PageRequest } from '../../query/paging.js';
import { holders, positionsOfUser } from '../../query/positions.js';
import { quickMarketHistory } from '../../query/quick-markets.js';
import { failedTrades, pendingTrades } from '../../query/settlements.js';
import type { Answer } from '../../query/statement.js';
import { activityOfMarket, tradesOfMarket, userActivity } from '../../query/trades.js';
import { address, bytes32, readModels, type ReadModels, type Row, type Table } from '../support/read-models.js';

const marketId = bytes32(1);
const user = address(1);
const chainId = 31_337;
const AT = 1_700_000_000_000;
const numbers = Array.from({ length: 7 }, (_, n) => n);

interface List {
  readonly name: string;
  /** The key of the list in the answer. */
  readonly key: string;
  readonly table: Table;
  readonly rows: readonly Row[];
  /** Comes before the first page. */
  readonly newer: Row;
  readonly read: (models: ReadModels, page: PageRequest) => Promise<Answer>;
}

const trade = (n: number, fields: Row = {}): Row => ({ number: n, settlement: 2, ...fields });
const position = (n: number, fields: Row = {}): Row => ({ market_id: bytes32(n + 1), yes_shares: 5, ...fields });
const holder = (n: number): Row => ({ user_address: address(n + 2), yes_shares: String(2n ** 70n * BigInt(n % 3 + 1)), no_shares: -1 });
const failure = (n: number): Row => trade(n, { settlement: 3, settled_position: 50 + n, settled_at_ms: AT + n, failure_reason: 'unknown' });
const claim = (n: number, fields: Row = {}): Row => ({ position: 10 + n, index: n % 2, ...fields });
const failedClaim = (n: number): Row => claim(n, { status: 3, ended_at_ms: AT + n, ended_position: 90 + n });
const quick = (n: number): Row => ({ number: n, start_time: 1_000, end_time: 2_000 + n % 2 });

const lists: readonly List[] = [
  { name: 'trades of a market', key: 'trades', table: 'trades', rows: numbers.map((n) => trade(n)), newer: trade(9),
    read: ({ db }, page) => tradesOfMarket(db, { marketId, ...page }) },
  { name: 'activity of a market', key: 'activity', table: 'trades', rows: numbers.map((n) => trade(n)), newer: trade(9),
    read: ({ db }, page) => activityOfMarket(db, { marketId, ...page }) },
  { name: 'activity of a user', key: 'activity', table: 'trades', rows: numbers.map((n) => trade(n, n % 2 === 0 ? { buyer: address(3), seller: user } : {})),
    newer: trade(9), read: ({ db }, page) => userActivity(db, { user, chainId, ...page }) },
  { name: 'payouts of a user', key: 'settlements', table: 'redemptions', rows: numbers.map((n) => ({ position: n + 1 })), newer: { position: 99 },
    read: ({ db }, page) => userActivity(db, { user, chainId, ...page }) },
  { name: 'positions of a user', key: 'positions', table: 'positions', rows: numbers.map((n) => position(n)), newer: position(8),
    read: ({ db }, page) => positionsOfUser(db, { user, chainId, ...page }) },
  { name: 'holders', key: 'topHolders', table: 'positions', rows: numbers.map(holder), newer: { user_address: address(99), yes_shares: String(2n ** 80n) },
    read: ({ db }, page) => holders(db, { marketId, ...page }) },
  { name: 'open orders of a trader', key: 'orders', table: 'orders', rows: numbers.map((number) => ({ number })), newer: { number: 99 },
    read: ({ db }, page) => ordersOfTrader(db, { trader: user, ...page }) },
  { name: 'open orders of a user', key: 'orders', table: 'orders', rows: numbers.map((number) => ({ number })), newer: { number: 99 },
    read: ({ db }, page) => ordersOfUser(db, { user, chainId, ...page }) },
  { name: 'pending trades', key: 'pendingTrades', table: 'trades', rows: numbers.map((n) => trade(n + 1, { settlement: 1 })), newer: trade(0, { settlement: 1 }),
    read: ({ db }, page) => pendingTrades(db, page) },
  { name: 'failed trades', key: 'failedTrades', table: 'trades', rows: numbers.map(failure), newer: failure(9),
    read: ({ db }, page) => failedTrades(db, { nowMs: AT + 1_000, ...page }) },
  { name: 'pending claims', key: 'pendingClaims', table: 'claims', rows: numbers.map((n) => claim(n)), newer: claim(-5),
    read: ({ db }, page) => pendingClaims(db, page) },
  { name: 'failed claims', key: 'failedClaims', table: 'claims', rows: numbers.map(failedClaim), newer: failedClaim(20),
    read: ({ db }, page) => failedClaims(db, { nowMs: AT + 1_000, ...page }) },
  { name: 'quick markets', key: 'history', table: 'quick_markets', rows: numbers.map(quick), newer: { number: 99, start_time: 1_000, end_time: 3_000 },
    read: ({ db }, page) => quickMarketHistory(db, { asset: 'BTC', nowS: 1_500, ...page }) },
];

type Body = Record<string, unknown[]> & { nextCursor?: string };

describe('query: pages', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    await models.insert('markets', ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => ({ number })));
  });
  after(() => models.close());

  for (const { name, key, table, rows, newer, read } of lists) {
    const bodyOf = async (page: PageRequest) => JSON.parse((await read(models, page)).body) as Body;

    it(`${name}: all entries once, in the order of the whole list, whatever comes meanwhile`, async () => {
      await models.insert(table, ...rows);
      const whole = await bodyOf({});
      assert.equal(whole[key]?.length, rows.length);
      assert.equal(whole.nextCursor, undefined, 'without a parameter of pages, the answer has no cursor');
      for (const limit of [1, 2, 3, 7, 8]) {
        const seen: unknown[] = [];
        let cursor: string | undefined;
        do {
          const body = await bodyOf({ limit, cursor });
          assert.ok((body[key]?.length ?? 0) <= limit);
          seen.push(...body[key] ?? []);
          if (limit === 2 && cursor === undefined) await models.insert(table, newer);
          cursor = body.nextCursor;
        } while (cursor !== undefined);
        assert.deepEqual(seen, limit > 2 ? (await bodyOf({}))[key] : whole[key], `pages of ${limit}`);
      }
    });

    it(`${name}: a cursor of another list, or a spoilt one, is refused`, async () => {
      for (const cursor of ['', 'x', cursorAfter('another', [1]), cursorAfter('trades', ['0x01']), cursorAfter('orders', [1, 2, 3])]) {
        await assert.rejects(async () => read(models, { cursor }), { name: 'RequestError', code: 'invalid_request' }, cursor);
      }
    });
  }

  it('a page of trades is immutable once it has an end and all of its trades are confirmed', async () => {
    await models.insert('trades', ...[0, 1, 2, 3].map((n) => trade(n, n === 1 ? { settlement: 1 } : {})));
    const headersOf = async (page: PageRequest) => (await tradesOfMarket(models.db, { marketId, ...page })).headers;
    const cursor = cursorAfter('trades', [3]);
    assert.deepEqual([await headersOf({ limit: 1 }), await headersOf({ cursor, limit: 2 })], [undefined, undefined]);
    const immutable = { 'Cache-Control': 'public, max-age=31536000, immutable' };
    assert.deepEqual(await headersOf({ cursor, limit: 1 }), immutable);
    await models.run('update trades set settlement = 3 where number = 1');
    assert.deepEqual(await headersOf({ cursor, limit: 2 }), immutable);
    assert.deepEqual(await headersOf({ cursor: cursorAfter('trades', [0]) }), undefined, 'an empty page says nothing');
  });
});
