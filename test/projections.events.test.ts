/** What each event does to the rows, one history a scenario: all rows of the tables that it touches, and none in the others. */
import assert from 'node:assert/strict';
import type {
  Event, FillFailed, FillMatched, FillSettled, MarketOpened, OrderAccepted, OrderCancelled, OrderReinstated, OrderRested,
} from '../engine/events.js';
import type { Outcome, Side } from '../engine/fields.js';
import { projections } from '../projections/catalogue.js';
import { testDatabase } from './postgres.js';
import { logOf, outcomesOf, projectTo, readTables, runSql, type Rows } from './projected.js';

const UINT64_MAX = '18446744073709551615';
/** A whole minute, so that outcomes a second apart share it. */
const AT = 1_700_000_040_000;
const MINUTE = String(AT / 60_000);
const at = (n: number) => String(AT + 1_000 * n);
const bytes = (length: number) => (n: number) => `0x${n.toString(16).padStart(2 * length, '0')}`;
const hash = bytes(32);
const address = bytes(20);
const MARKET = hash(0xaa);
const [ALICE, BOB] = [address(1), address(2)];
const TX = hash(0xcc);

/** Every checkpoint at a position, as `readTables` gives them. */
const checkpointsAt = (position: number) => projections
  .map(({ name, version }) => ({ name, version, position: String(position) })).sort((a, b) => a.name < b.name ? -1 : 1);

interface Terms { side?: Side; outcome?: Outcome; price?: number; size?: string }

const opened = (n = 0, fields: Partial<MarketOpened> = {}): MarketOpened => ({
  type: 'MarketOpened', v: 1, marketId: hash(0xaa + n), question: 'Will it rain?', description: 'In "Oslo" \\ Bergen, {tomorrow}', category: 'general',
  contractAddress: address(0xc0 + n), maker: address(9), expiration: 1_800_000_000, chainId: 137, marketKind: 'standard', ...fields,
});
const order = (orderNumber: number, { side = 0, outcome = 0, price = 500_000 }: Terms) => (
  { v: 1 as const, orderHash: hash(orderNumber), orderNumber, marketId: MARKET, side, outcome, price });
const accepted = (number: number, trader: string, terms: Terms = {}): OrderAccepted => ({
  type: 'OrderAccepted', ...order(number, terms), trader, size: terms.size ?? '100', nonce: UINT64_MAX, expiration: UINT64_MAX,
});
const rested = (number: number, terms: Terms = {}): OrderRested => ({ type: 'OrderRested', ...order(number, terms), size: terms.size ?? '100' });
const reinstated = (number: number, terms: Terms = {}): OrderReinstated => ({ ...rested(number, terms), type: 'OrderReinstated' });
const cancelled = (number: number, fields: Partial<OrderCancelled> = {}): OrderCancelled => ({
  type: 'OrderCancelled', ...order(number, fields), remaining: '100', rested: '100', reason: 'user', ...fields,
});

/** Order 2, Bob's, sells to order 1, Alice's, that rests. */
const matched = (fields: Partial<FillMatched> = {}): FillMatched => ({
  type: 'FillMatched', v: 1, fill: 0, marketId: MARKET, outcome: 0, price: 500_000, size: '40', cost: '20', takerSide: 1, makerNumber: 1, takerNumber: 2,
  buyer: ALICE, seller: BOB, ...fields,
});
const settled = (fill: FillMatched): FillSettled => ({ ...fill, type: 'FillSettled', txHash: TX });
const failed = (fill: FillMatched): FillFailed => ({ ...fill, type: 'FillFailed', txHash: TX, reason: 'seller_insufficient_shares', culprit: 'seller' });

const orderRow = (number: number, trader: string, fields: object = {}) => ({
  number: String(number), order_hash: hash(number), market_id: MARKET, trader, side: 0, outcome: 0, price: 500_000, size: '100', remaining: '100',
  nonce: UINT64_MAX, expiration: UINT64_MAX, status: 0, placed_at_ms: at(number), closed_at_ms: null,
  closed_position: null, close_reason: null, ...fields,
});
const level = (fields: object = {}) => ({ market_id: MARKET, outcome: 0, side: 0, price: 500_000, size: '100', ...fields });
const book = (n: number) => ({ market_id: MARKET, updated_at_ms: at(n) });
const trade = (fields: object = {}) => ({
  number: '0', market_id: MARKET, outcome: 0, price: 500_000, size: '40', cost: '20', taker_side: 1, maker_number: '1', taker_number: '2', buyer: ALICE,
  seller: BOB, position: '2', at_ms: at(2), settlement: 0, tx_hash: null, settled_position: null, settled_at_ms: null, failure_reason: null, ...fields,
});
const position = (user_address: string, yes: [string, string], no: [string, string] = ['0', '0']) => (
  { market_id: MARKET, user_address, yes_shares: yes[0], yes_cost: yes[1], no_shares: no[0], no_cost: no[1] });
const volumes = (volume: string, trades: string) => ({
  market_volumes: [{ market_id: MARKET, volume, trades }], minute_volumes: [{ market_id: MARKET, minute: MINUTE, volume }],
});

const NOTHING: Rows = {
  markets: [], orders: [], levels: [], books: [], trades: [], market_volumes: [], minute_volumes: [], positions: [],
};

/** Outcome 1 rests Alice's order 1; outcome 2 brings Bob's order 2, which takes 40 of it and keeps 60 resting higher up. */
const fill = matched();
const crossed: Event[][] = [
  [], [accepted(1, ALICE), rested(1)], [accepted(2, BOB, { side: 1 }), fill, rested(2, { side: 1, size: '60', price: 600_000 })],
];
const crossedRows = {
  orders: [orderRow(1, ALICE, { remaining: '60' }), orderRow(2, BOB, { side: 1, remaining: '60' })],
  levels: [level({ size: '60' }), level({ side: 1, price: 600_000, size: '60' })],
  books: [book(2)],
  trades: [trade()], ...volumes('20', '1'),
  positions: [position(ALICE, ['40', '20']), position(BOB, ['-40', '0'])],
};
const marketRow = (n: number, fields: object = {}) => ({
  number: n, market_id: hash(0xaa + n), question: 'Will it rain?', description: 'In "Oslo" \\ Bergen, {tomorrow}', category: 'general',
  contract_address: address(0xc0 + n), maker: address(9), expiration: '1800000000', chain_id: '137', kind: 'standard', closed: false, resolved: false,
  winning_outcome: null, created_at_ms: at(0), ...fields,
});

const HUGE: Terms = { size: UINT64_MAX, price: 999_999 };

const scenarios: { name: string; history: Event[][]; rows: Partial<Rows> }[] = [
  {
    name: 'MarketOpened: numbered in order of opening, texts kept whatever they hold',
    history: [[opened(0), opened(1, { question: 'NULL', description: '' })], [opened(2, { question: 'a\0b,"', marketKind: 'quick', category: 'defi' })]],
    rows: { markets: [marketRow(0), marketRow(1, { question: 'NULL', description: '' }),
      marketRow(2, { question: 'a\uFFFDb,"', kind: 'quick', category: 'defi', created_at_ms: at(1) })] },
  },
  {
    name: 'MarketClosed: of an earlier outcome and of the same one',
    history: [[opened(0), opened(1)], [{ type: 'MarketClosed', v: 1, marketId: MARKET }], [opened(2), { type: 'MarketClosed', v: 1, marketId: hash(0xac) }]],
    rows: { markets: [marketRow(0, { closed: true }), marketRow(1), marketRow(2, { closed: true, created_at_ms: at(2) })] },
  },
  { name: 'OrderAccepted: open with all of it left', history: [[], [accepted(1, ALICE)]], rows: { orders: [orderRow(1, ALICE)] } },
  {
    name: 'OrderRested: its level grows',
    history: [[], [accepted(1, ALICE), rested(1)], [accepted(2, BOB), rested(2, { size: '5' })], [accepted(3, BOB, { side: 1, outcome: 1 }), rested(3, { side: 1, outcome: 1 })]],
    rows: {
      orders: [orderRow(1, ALICE), orderRow(2, BOB), orderRow(3, BOB, { side: 1, outcome: 1 })],
      levels: [level({ size: '105' }), level({ side: 1, outcome: 1 })], books: [book(3)],
    },
  },
  { name: 'FillMatched: both orders and the maker\'s level shrink; trade, volumes, positions', history: crossed, rows: crossedRows },
  {
    name: 'FillMatched: an order with nothing left is filled, an empty level goes',
    history: [...crossed.slice(0, 2), [accepted(2, BOB, { side: 1 }), matched({ size: '100', cost: '50' })]],
    rows: {
      orders: [orderRow(1, ALICE, { remaining: '0', status: 1, closed_at_ms: at(2), closed_position: '2' }),
        orderRow(2, BOB, { side: 1, remaining: '0', status: 1, closed_at_ms: at(2), closed_position: '2' })],
      books: [book(2)], trades: [trade({ size: '100', cost: '50' })], ...volumes('50', '1'),
      positions: [position(ALICE, ['100', '50']), position(BOB, ['-100', '0'])],
    },
  },
  {
    name: 'OrderCancelled: a resting order leaves its level',
    history: [...crossed, [cancelled(1, { remaining: '60', rested: '60' })]],
    rows: {
      ...crossedRows, levels: [level({ side: 1, price: 600_000, size: '60' })], books: [book(3)],
      orders: [orderRow(1, ALICE, { remaining: '60', status: 2, closed_at_ms: at(3), closed_position: '3', close_reason: 'user' }), crossedRows.orders[1]],
    },
  },
  {
    name: 'OrderCancelled: what never rested changes no book',
    history: [[], [accepted(1, ALICE), cancelled(1, { rested: '0', reason: 'match_limit' })]],
    rows: { orders: [orderRow(1, ALICE, { status: 2, closed_at_ms: at(1), closed_position: '1', close_reason: 'match_limit' })] },
  },
  {
    name: 'FillSettled: the trade is confirmed and nothing else changes',
    history: [...crossed, [settled(fill)]],
    rows: { ...crossedRows, trades: [trade({ settlement: 2, tx_hash: TX, settled_position: '3', settled_at_ms: at(3) })] },
  },
  {
    name: 'FillFailed: both orders, volumes of the trade\'s own minute and positions take it back; the innocent order rests again',
    history: [...crossed, ...Array<Event[]>(60).fill([]), [failed(fill), cancelled(2, { side: 1, price: 600_000, remaining: '100', rested: '60', reason: 'settlement_failed' }),
      reinstated(1, { size: '40' }), rested(1, { size: '40' })]],
    rows: {
      orders: [orderRow(1, ALICE),
        orderRow(2, BOB, { side: 1, status: 2, closed_at_ms: at(63), closed_position: '63', close_reason: 'settlement_failed' })],
      levels: [level()], books: [book(63)],
      trades: [trade({ settlement: 3, tx_hash: TX, settled_position: '63', settled_at_ms: at(63), failure_reason: 'seller_insufficient_shares' })], ...volumes('0', '0'),
      positions: [position(ALICE, ['0', '0']), position(BOB, ['0', '0'])],
    },
  },
  {
    name: 'OrderReinstated: a filled order is open again',
    history: [[], [accepted(1, ALICE, { size: '40' }), rested(1, { size: '40' })], [accepted(2, BOB, { side: 1, size: '40' }), fill],
      [failed(fill), cancelled(2, { side: 1, remaining: '40', rested: '0', reason: 'settlement_failed' }), reinstated(1, { size: '40' }), rested(1, { size: '40' })]],
    rows: {
      orders: [orderRow(1, ALICE, { size: '40', remaining: '40' }),
        orderRow(2, BOB, { side: 1, size: '40', remaining: '40', status: 2, closed_at_ms: at(3), closed_position: '3', close_reason: 'settlement_failed' })],
      levels: [level({ size: '40' })], books: [book(3)],
      trades: [trade({ settlement: 3, tx_hash: TX, settled_position: '3', settled_at_ms: at(3), failure_reason: 'seller_insufficient_shares' })], ...volumes('0', '0'),
      positions: [position(ALICE, ['0', '0']), position(BOB, ['0', '0'])],
    },
  },
  {
    name: 'OrderRepeated, CancelRepeated, CommandRejected: nothing',
    history: [[], [accepted(1, ALICE)], [{ type: 'OrderRepeated', v: 1, orderHash: hash(1), orderNumber: 1 }],
      [{ type: 'CancelRepeated', v: 1, orderHash: hash(1), orderNumber: 1, size: '100', remaining: '100' }],
      [{ type: 'CommandRejected', v: 1, code: 'unknown_order', subject: hash(1) }]],
    rows: { orders: [orderRow(1, ALICE)] },
  },
  {
    name: 'sizes of 2^64-1 and sums beyond 2^63 are exact',
    history: [
      [], ...[1, 3].map((n) => [accepted(n, ALICE, HUGE), rested(n, HUGE)]),
      ...[1, 3].map((n) => [accepted(n + 1, BOB, { side: 1, size: UINT64_MAX, price: 1 }), matched({
        fill: (n - 1) / 2, makerNumber: n, takerNumber: n + 1, size: '18446744073709551614', cost: '18446725626965477906', price: 999_999 })])],
    rows: {
      orders: [1, 3].flatMap((n) => [
        orderRow(n, ALICE, { size: UINT64_MAX, remaining: '1', price: 999_999, placed_at_ms: at((n + 1) / 2) }),
        orderRow(n + 1, BOB, { side: 1, price: 1, size: UINT64_MAX, remaining: '1', placed_at_ms: at((n + 5) / 2) }),
      ]),
      levels: [level({ price: 999_999, size: '2' })], books: [book(4)],
      trades: [0, 1].map((n) => trade({
        number: String(n), price: 999_999, size: '18446744073709551614', cost: '18446725626965477906', maker_number: String(2 * n + 1),
        taker_number: String(2 * n + 2), position: String(n + 3), at_ms: at(n + 3) })),
      ...volumes('36893451253930955812', '2'),
      positions: [position(ALICE, ['36893488147419103228', '36893451253930955812']), position(BOB, ['-36893488147419103228', '0'])],
    },
  },
];

describe('projections: events', () => {
  let url: string;
  before(async () => { ({ url } = await testDatabase()); });
  beforeEach(async () => { await runSql(url, 'drop schema if exists read_models cascade'); });

  for (const { name, history, rows } of scenarios) {
    for (const size of [1, 1_000]) {
      it(`${name} (${size === 1 ? 'batches of one' : 'one batch'})`, async () => {
        const outcomes = outcomesOf(AT, ...history);
        await projectTo(outcomes.length, { url, log: await logOf(outcomes), limits: { outcomes: size, events: 1_000 } });
        const { projection, ...tables } = await readTables(url);
        assert.deepEqual(tables, { ...NOTHING, ...rows });
        assert.deepEqual(projection, checkpointsAt(outcomes.length));
      });
    }
  }
});
