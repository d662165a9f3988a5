/** What each event does to the rows, one history a scenario: all rows of the tables that it touches, and none in the others. */
import assert from 'node:assert/strict';
import type {
  Event, FillFailed, FillMatched, FillSettled, MarketOpened, OrderAccepted, OrderCancelled, OrderReduced, OrderReinstated, OrderRested,
  PositionSynced, ResolutionProposed, SettlementSubmitted, SharesTransferred,
} from '../../engine/records/events.js';
import type { MarketOutcome, Side } from '../../engine/records/fields.js';
import { projections } from '../../projections/catalogue.js';
import { derivedRows } from '../reference/derived-rows.js';
import { levelHistoryOf, storedHistoryOf } from '../support/level-history.js';
import { exchangeDatabase } from '../support/postgres.js';
import { forgetOutcomes, logOf, outcomesOf, projectTo, readTables, rowsOf, type Rows } from '../support/projected.js';

const [UINT64_MAX, UINT256_MAX] = ['18446744073709551615', String(2n ** 256n - 1n)];
/** Half of its shares, rounded down and up, and what goes along with them and what stays of a cost of 2^255. */
const [UINT256_HALF, UINT256_HALF_UP] = [String(2n ** 255n - 1n), String(2n ** 255n)];
const [UINT256_QUARTER, UINT256_QUARTER_UP] = [String(2n ** 254n - 1n), String(2n ** 254n + 1n)];
/** A whole minute, so that outcomes a second apart share it. */
const AT = 1_700_000_040_000;
const MINUTE = String(AT / 60_000);
const at = (n: number) => String(AT + 1_000 * n);
const bytes = (length: number) => (n: number) => `0x${n.toString(16).padStart(2 * length, '0')}`;
const [hash, address] = [bytes(32), bytes(20)];
const MARKET = hash(0xaa);
const [NOBODY, ALICE, BOB, TX, BUMPED] = [address(0), address(1), address(2), hash(0xcc), hash(0xcd)];

const VERSIONS = projections.map(({ name, version }) => ({ name, version })).sort((a, b) => a.name < b.name ? -1 : 1);

interface Terms { side?: Side; outcome?: MarketOutcome; price?: number; size?: string }

const opened = (n = 0, fields: Partial<MarketOpened> = {}): MarketOpened => ({
  type: 'MarketOpened', v: 2, marketId: hash(0xaa + n), question: 'Will it rain?', description: 'In "Oslo" \\ Bergen, {tomorrow}', category: 'general',
  contractAddress: address(0xc0 + n), maker: address(9), expiration: 1_800_000_000, chainId: 137, marketKind: 'standard', quick: null, ...fields,
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
const settled = (fill: FillMatched, txHash = TX): FillSettled => ({ ...fill, type: 'FillSettled', txHash });
const submitted = (txHash: string, ...fills: number[]): SettlementSubmitted => ({ type: 'SettlementSubmitted', v: 1, chainId: 137, txHash, fills });
const moved = (from: string, to: string, amount: string, outcome: MarketOutcome = 0): SharesTransferred => (
  { type: 'SharesTransferred', v: 1, marketId: MARKET, outcome, from, to, amount, txHash: TX });
const split = (user: string, amount: string) => [moved(NOBODY, user, amount, 0), moved(NOBODY, user, amount, 1)];
const synced = (user: string, yesShares: string, noShares: string): PositionSynced => (
  { type: 'PositionSynced', v: 1, marketId: MARKET, user, yesShares, noShares });
const failed = (fill: FillMatched): FillFailed => ({ ...fill, type: 'FillFailed', txHash: TX, reason: 'seller_insufficient_shares', culprit: 'seller' });

const orderRow = (number: number, trader: string, fields: object = {}) => ({
  number: String(number), order_hash: hash(number), market_id: MARKET, trader, side: 0, outcome: 0, price: 500_000, size: '100', remaining: '100', status: 0,
  nonce: UINT64_MAX, expiration: UINT64_MAX, placed_at_ms: at(number), closed_at_ms: null, closed_position: null, close_reason: null,
  chain_id: null, ...fields,
});
const level = (fields: object = {}) => ({ market_id: MARKET, outcome: 0, side: 0, price: 500_000, size: '100', ...fields });
const book = (n: number) => ({ market_id: MARKET, first_position: '1', updated_at_ms: at(n) });
const trade = (fields: object = {}) => ({
  number: '0', market_id: MARKET, outcome: 0, price: 500_000, size: '40', cost: '20', taker_side: 1, maker_number: '1', taker_number: '2', buyer: ALICE,
  seller: BOB, position: '2', at_ms: at(2), settlement: 0, tx_hash: null, settled_position: null, settled_at_ms: null, failure_reason: null, ...fields,
});
const position = (user_address: string, yes: [string, string], no: [string, string] = ['0', '0']) => ({
  market_id: MARKET, user_address, chain_id: null, opened_position: null, yes_shares: yes[0], yes_cost: yes[1], no_shares: no[0], no_cost: no[1],
  held: [...yes, ...no].some((each) => each !== '0'),
});
const volumes = (volume: string, trades: string) => ({
  market_volumes: [{ market_id: MARKET, chain_id: null, volume, trades, first_fill: '0' }], minute_volumes: [{ market_id: MARKET, minute: MINUTE, volume }],
});

const submission = (tx_hash: string, n: number, ...fills: number[]) => ({ tx_hash, position: String(n), at_ms: at(n), fills: fills.map(String) });

const NOTHING: Rows = {
  markets: [], orders: [], reductions: [], levels: [], books: [], trades: [], submissions: [], market_volumes: [], minute_volumes: [], positions: [],
  redemptions: [], assertions: [], relays: [], claims: [], prices: [], quick_markets: [],
};

const reduced = (number: number, sizes: Pick<OrderReduced, 'size' | 'remaining' | 'reduced'>): OrderReduced => (
  { type: 'OrderReduced', ...order(number, {}), ...sizes });

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
};
const marketRow = (n: number, fields: object = {}) => ({
  number: n, market_id: hash(0xaa + n), question: 'Will it rain?', description: 'In "Oslo" \\ Bergen, {tomorrow}', category: 'general',
  contract_address: address(0xc0 + n), maker: address(9), expiration: '1800000000', chain_id: '137', kind: 'standard', closed: false, resolved: false,
  winning_outcome: null, created_at_ms: at(0), opened_position: '0', yes_token: null, no_token: null, proposal: 0,
  state: 'resolved' in fields ? 4 : 'closed' in fields ? 1 : 0, words: `'it':2 'rain':3 'will':1`, ...fields,
});
const proposed = (n: number, fields: Partial<ResolutionProposed> = {}): ResolutionProposed => ({
  type: 'ResolutionProposed', v: 1, marketId: MARKET, assertionId: hash(n), proposer: ALICE, outcome: 0, bond: UINT256_MAX, assertionTime: 1_700_000_000,
  expirationTime: 1_700_007_200, ...fields,
});
const disputed = (n: number): Event => ({ type: 'ResolutionDisputed', v: 1, marketId: MARKET, assertionId: hash(n), disputer: BOB });
const rejected = (n: number): Event => ({ type: 'ResolutionRejected', v: 1, marketId: MARKET, assertionId: hash(n) });
const assertionRow = (n: number, position: number, fields: object = {}) => ({
  market_id: MARKET, assertion_id: hash(n), position: String(position), proposer: ALICE, outcome: 0, bond: UINT256_MAX, assertion_time: '1700000000',
  expiration_time: '1700007200', disputer: null, rejected: false, ...fields,
});

const HUGE: Terms = { size: UINT64_MAX, price: 999_999 };

const scenarios: { name: string; history: Event[][]; rows: Partial<Rows> }[] = [
  {
    name: 'MarketOpened: numbered in order of opening, texts kept whatever they hold',
    history: [[opened(0), opened(1, { question: 'NULL', description: '' })], [opened(2, { question: 'a\0b,"', marketKind: 'quick', category: 'defi' })]],
    rows: { markets: [marketRow(0), marketRow(1, { question: 'NULL', description: '', words: `'null':1` }),
      marketRow(2, { question: 'a\uFFFDb,"', words: `'a\uFFFDb':1`, kind: 'quick', category: 'defi', created_at_ms: at(1), opened_position: '1' })] },
  },
  {
    name: 'MarketClosed: of an earlier outcome and of the same one',
    history: [[opened(0), opened(1)], [{ type: 'MarketClosed', v: 1, marketId: MARKET }], [opened(2), { type: 'MarketClosed', v: 1, marketId: hash(0xac) }]],
    rows: { markets: [marketRow(0, { closed: true }), marketRow(1), marketRow(2, { closed: true, created_at_ms: at(2), opened_position: '2' })] },
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
  { name: 'FillMatched: both orders and the maker\'s level shrink; trade and volumes, but no position yet', history: crossed, rows: crossedRows },
  {
    name: 'FillMatched: an order with nothing left is filled, an empty level goes',
    history: [...crossed.slice(0, 2), [accepted(2, BOB, { side: 1 }), matched({ size: '100', cost: '50' })]],
    rows: {
      orders: [orderRow(1, ALICE, { remaining: '0', status: 1, closed_at_ms: at(2), closed_position: '2' }),
        orderRow(2, BOB, { side: 1, remaining: '0', status: 1, closed_at_ms: at(2), closed_position: '2' })],
      books: [book(2)], trades: [trade({ size: '100', cost: '50' })], ...volumes('50', '1'),
    },
  },
  {
    name: 'OrderCancelled: a resting order leaves its level',
    history: [...crossed, [cancelled(1, { remaining: '60', rested: '60' })]],
    rows: {
      ...crossedRows, levels: [level({ side: 1, price: 600_000, size: '60' })], books: [book(3)],
      orders: [orderRow(1, ALICE, { remaining: '60', status: 2, closed_at_ms: at(3), closed_position: '3', close_reason: 'user' }), orderRow(2, BOB, { side: 1, remaining: '60' })],
    },
  },
  {
    name: 'OrderReduced: size, rest and level shrink; twice, and in the batch of its order',
    history: [...crossed, [reduced(1, { size: '70', remaining: '30', reduced: '30' })], [reduced(1, { size: '50', remaining: '10', reduced: '20' })]],
    rows: {
      ...crossedRows, levels: [level({ size: '10' }), level({ side: 1, price: 600_000, size: '60' })], books: [book(4)],
      orders: [orderRow(1, ALICE, { size: '50', remaining: '10' }), orderRow(2, BOB, { side: 1, remaining: '60' })],
      reductions: [
        { order_number: '1', position: '3', size: '70', reduced: '30', at_ms: at(3) }, { order_number: '1', position: '4', size: '50', reduced: '20', at_ms: at(4) },
      ],
    },
  },
  {
    name: 'OrderCancelled: what never rested changes no book',
    history: [[], [accepted(1, ALICE), cancelled(1, { rested: '0', reason: 'match_limit' })]],
    rows: { orders: [orderRow(1, ALICE, { status: 2, closed_at_ms: at(1), closed_position: '1', close_reason: 'match_limit' })] },
  },
  {
    name: 'FillSettled: the trade is confirmed, and the positions are those of the chain',
    history: [...crossed, [settled(fill)]],
    rows: {
      ...crossedRows, trades: [trade({ settlement: 2, tx_hash: TX, settled_position: '3', settled_at_ms: at(3) })],
      positions: [position(ALICE, ['40', '20']), position(BOB, ['-40', '0'])],
    },
  },
  {
    name: 'SettlementSubmitted: the trades wait in the latest transaction, each with its place in every one',
    history: [...crossed, [matched({ fill: 1 })], [submitted(TX, 1, 0)], [submitted(BUMPED, 0)]],
    rows: {
      ...crossedRows, orders: [orderRow(1, ALICE, { remaining: '20' }), orderRow(2, BOB, { side: 1, remaining: '20' })],
      levels: [level({ size: '20' }), level({ side: 1, price: 600_000, size: '60' })], books: [book(3)], ...volumes('40', '2'),
      trades: [trade({ settlement: 1, tx_hash: BUMPED }), trade({ number: '1', position: '3', at_ms: at(3), settlement: 1, tx_hash: TX })],
      submissions: [submission(TX, 4, 1, 0), submission(BUMPED, 5, 0)],
    },
  },
  {
    name: 'SettlementSubmitted: the transaction that settles need not be the latest; what is settled stays so; again is once',
    history: [...crossed, [submitted(TX, 0)], [submitted(BUMPED, 7, 0)], [submitted(TX, 0, 0)], [settled(fill)], [submitted(hash(0xce), 0)],
      [submitted(TX, 3, 0)]],
    rows: {
      ...crossedRows, trades: [trade({ settlement: 2, tx_hash: TX, settled_position: '6', settled_at_ms: at(6) })],
      positions: [position(ALICE, ['40', '20']), position(BOB, ['-40', '0'])],
      submissions: [
        submission(TX, 3, 0), submission(TX, 5, 0, 0), submission(TX, 8, 3, 0), submission(BUMPED, 4, 7, 0), submission(hash(0xce), 7, 0),
      ],
    },
  },
  {
    name: 'SettlementSubmitted: a fill that is to fail fails, in a transaction that nobody announced',
    history: [...crossed, [submitted(TX, 0)], [{ ...failed(fill), txHash: BUMPED }]],
    rows: {
      ...crossedRows, orders: [orderRow(1, ALICE), orderRow(2, BOB, { side: 1 })],
      trades: [trade({ settlement: 3, tx_hash: BUMPED, settled_position: '4', settled_at_ms: at(4), failure_reason: 'seller_insufficient_shares' })],
      ...volumes('0', '0'), submissions: [submission(TX, 3, 0)],
    },
  },
  {
    name: 'SharesTransferred: a split costs half on each side, the odd unit on the YES side',
    history: [split(ALICE, '7'), split(BOB, '10')],
    rows: { positions: [position(ALICE, ['7', '4'], ['7', '3']), position(BOB, ['10', '5'], ['10', '5'])] },
  },
  {
    name: 'SharesTransferred: from user to user the cost goes along, in proportion, and nothing invested is lost',
    history: [split(ALICE, '7'), [moved(ALICE, BOB, '2')], [moved(ALICE, BOB, '7', 1)]],
    rows: { positions: [position(ALICE, ['5', '3']), position(BOB, ['2', '1'], ['7', '3'])] },
  },
  {
    name: 'SharesTransferred: burnt shares take their cost along, all of it with the last one',
    history: [split(ALICE, '9'), [moved(ALICE, NOBODY, '4'), moved(ALICE, NOBODY, '9', 1)]],
    rows: { positions: [position(ALICE, ['5', '3'])] },
  },
  {
    name: 'SharesTransferred: nothing moves to oneself, nor an amount of 0',
    history: [split(ALICE, '9'), [moved(ALICE, ALICE, '4'), moved(BOB, BOB, '4'), moved(BOB, ALICE, '0'), moved(NOBODY, BOB, '0')]],
    rows: { positions: [position(ALICE, ['9', '5'], ['9', '4'])] },
  },
  {
    name: 'SharesTransferred: amounts up to 2^256-1 are exact',
    history: [split(ALICE, UINT256_MAX), [moved(ALICE, BOB, UINT256_HALF)]],
    rows: {
      positions: [
        position(ALICE, [UINT256_HALF_UP, UINT256_QUARTER_UP], [UINT256_MAX, UINT256_HALF]), position(BOB, [UINT256_HALF, UINT256_QUARTER]),
      ],
    },
  },
  {
    name: 'PositionSynced: missing shares take their cost along, new ones have none',
    history: [split(ALICE, '100'), [synced(ALICE, '40', '120')], [synced(BOB, '5', '0')], [synced(address(3), '0', '0')]],
    rows: { positions: [position(ALICE, ['40', '20'], ['120', '50']), position(BOB, ['5', '0']), position(address(3), ['0', '0'])] },
  },
  {
    name: 'MarketResolved: of an earlier outcome and of the same one; it is closed in any case only by MarketClosed',
    history: [[opened(0), { type: 'MarketTokenized', v: 1, marketId: MARKET, yesToken: `0x${'ff'.repeat(32)}`, noToken: hash(2) }],
      [{ type: 'MarketClosed', v: 1, marketId: MARKET }, { type: 'MarketResolved', v: 1, marketId: MARKET, winningOutcome: 1 }],
      [opened(1), { type: 'MarketResolved', v: 1, marketId: hash(0xab), winningOutcome: 0 }], [{ type: 'MarketClosed', v: 1, marketId: hash(0xab) }]],
    rows: { markets: [marketRow(0, { closed: true, resolved: true, winning_outcome: 1, yes_token: UINT256_MAX, no_token: '2' }),
      marketRow(1, { closed: true, resolved: true, winning_outcome: 0, created_at_ms: at(2), opened_position: '2' })] },
  },
  {
    name: 'MarketHalved: resolved without a winner, of an earlier outcome and of the same one',
    history: [[opened(0)], [{ type: 'MarketClosed', v: 1, marketId: MARKET }, { type: 'MarketHalved', v: 1, marketId: MARKET }],
      [opened(1), { type: 'MarketHalved', v: 1, marketId: hash(0xab) }]],
    rows: { markets: [marketRow(0, { closed: true, resolved: true }), marketRow(1, { resolved: true, created_at_ms: at(2), opened_position: '2' })] },
  },
  {
    name: 'PositionRedeemed: what was paid, to whom and where',
    history: [[], [{ type: 'PositionRedeemed', v: 1, marketId: MARKET, user: ALICE, payout: UINT256_MAX, txHash: TX }]],
    rows: { redemptions: [{ position: '1', market_id: MARKET, user_address: ALICE, payout: UINT256_MAX, tx_hash: TX, at_ms: at(1) }] },
  },
  {
    name: 'ResolutionProposed, Disputed, Rejected: each assertion by itself, and nothing of one that was not proposed',
    history: [[proposed(1)], [disputed(1)], [rejected(1), disputed(2), rejected(3)], [proposed(2, { outcome: 1 })], [proposed(3)], [disputed(3)]],
    rows: {
      assertions: [assertionRow(1, 0, { disputer: BOB, rejected: true }), assertionRow(2, 3, { outcome: 1 }), assertionRow(3, 4, { disputer: BOB })],
    },
  },
  {
    name: 'NonceFloorRaised, ChainAdvanced: nothing',
    history: [[{ type: 'NonceFloorRaised', v: 1, chainId: 137, trader: ALICE, belowNonce: UINT64_MAX }],
      [{ type: 'ChainAdvanced', v: 1, chainId: 137, block: 5, blockHash: TX }]],
    rows: {},
  },
  {
    name: 'FillFailed: both orders, volumes of the trade\'s own minute take it back; the innocent order rests again',
    history: [...crossed, ...Array<Event[]>(60).fill([]), [failed(fill), cancelled(2, { side: 1, price: 600_000, remaining: '100', rested: '60', reason: 'settlement_failed' }),
      reinstated(1, { size: '40' }), rested(1, { size: '40' })]],
    rows: {
      orders: [orderRow(1, ALICE),
        orderRow(2, BOB, { side: 1, status: 2, closed_at_ms: at(63), closed_position: '63', close_reason: 'settlement_failed' })],
      levels: [level()], books: [book(63)],
      trades: [trade({ settlement: 3, tx_hash: TX, settled_position: '63', settled_at_ms: at(63), failure_reason: 'seller_insufficient_shares' })], ...volumes('0', '0'),
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
      [], ...[1, 2].map((n) => [accepted(n, ALICE, HUGE), rested(n, HUGE)]),
      ...[1, 2].map((n) => [accepted(n + 2, BOB, { side: 1, size: UINT64_MAX, price: 1 }), matched({
        fill: n - 1, makerNumber: n, takerNumber: n + 2, size: '18446744073709551614', cost: '18446725626965477906', price: 999_999 })]),
      [0, 1].map((n) => settled(matched({
        fill: n, makerNumber: n + 1, takerNumber: n + 3, size: '18446744073709551614', cost: '18446725626965477906', price: 999_999 })))],
    rows: {
      orders: [
        ...[1, 2].map((n) => orderRow(n, ALICE, { size: UINT64_MAX, remaining: '1', price: 999_999 })),
        ...[3, 4].map((n) => orderRow(n, BOB, { side: 1, price: 1, size: UINT64_MAX, remaining: '1' })),
      ],
      levels: [level({ price: 999_999, size: '2' })], books: [book(4)],
      trades: [0, 1].map((n) => trade({
        number: String(n), price: 999_999, size: '18446744073709551614', cost: '18446725626965477906', maker_number: String(n + 1),
        taker_number: String(n + 3), position: String(n + 3), at_ms: at(n + 3),
        settlement: 2, tx_hash: TX, settled_position: '5', settled_at_ms: at(5) })),
      ...volumes('36893451253930955812', '2'),
      positions: [position(ALICE, ['36893488147419103228', '36893451253930955812']), position(BOB, ['-36893488147419103228', '0'])],
    },
  },
];

describe('projections: events', () => {
  let url: string;
  before(async () => { ({ url } = await exchangeDatabase()); });
  beforeEach(async () => { await forgetOutcomes(url); });

  for (const { name, history, rows } of scenarios) {
    for (const size of [1, 1_000]) {
      it(`${name} (${size === 1 ? 'batches of one' : 'one batch'})`, async () => {
        const outcomes = outcomesOf(AT, ...history);
        await projectTo(outcomes.length, { url, log: await logOf(outcomes), limits: { outcomes: size, events: 1_000 } });
        const { projection, checkpoint, ...tables } = await readTables(url);
        const expected = { ...NOTHING, ...derivedRows(MARKET, outcomes, rows), level_history: levelHistoryOf(outcomes), ...rows };
        const { price_candles: candles, ...others } = tables;
        const books = rowsOf(tables, 'books').map(({ market_id, first_position, updated_at_ms }) => ({ market_id, first_position, updated_at_ms }));
        assert.deepEqual({ ...others, books, level_history: storedHistoryOf(tables) }, expected);
        assert.equal(candles!.length > 0, rowsOf(tables, 'prices').length > 0);
        assert.deepEqual(projection, VERSIONS);
        assert.deepEqual(checkpoint, [{ position: String(outcomes.length), at_ms: at(outcomes.length - 1) }]);
      });
    }
  }

  for (const size of [1, 7, 10_000]) {
    it(`a transaction of 1,000 fills, replaced, one half settled by each, every tenth fill failed (batches of ${size})`, async () => {
      const LARGE: Terms = { size: '1000' };
      const numbers = Array.from({ length: 1_000 }, (_, n) => n);
      const fills = numbers.map((n) => matched({ fill: n, size: '1', cost: '1' }));
      const hashOf = (n: number) => n < 500 ? TX : BUMPED;
      const outcomes = outcomesOf(AT, [], [accepted(1, ALICE, LARGE), rested(1, LARGE)], [accepted(2, BOB, { ...LARGE, side: 1 }), ...fills],
        [submitted(TX, ...numbers)], [submitted(BUMPED, ...numbers.slice().reverse())],
        ...fills.map((each, n): Event[] => [n % 10 === 0 ? { ...failed(each), txHash: hashOf(n) } : settled(each, hashOf(n))]));
      await projectTo(outcomes.length, { url, log: await logOf(outcomes), limits: { outcomes: size, events: 100_000 } });
      const rows = await readTables(url);
      const byNumber = (column: string) => (a: Record<string, unknown>, b: Record<string, unknown>) => Number(a[column]) - Number(b[column]);
      assert.deepEqual(rowsOf(rows, 'trades').sort(byNumber('number')), numbers.map((n) => trade({
        number: String(n), size: '1', cost: '1', settlement: n % 10 === 0 ? 3 : 2, tx_hash: hashOf(n), settled_position: String(5 + n), settled_at_ms: at(5 + n),
        failure_reason: n % 10 === 0 ? 'seller_insufficient_shares' : null,
      })));
      assert.deepEqual(rowsOf(rows, 'submissions').sort(byNumber('position')), [submission(TX, 3, ...numbers), submission(BUMPED, 4, ...numbers.slice().reverse())]);
      assert.deepEqual(rows['positions'], [position(ALICE, ['900', '900']), position(BOB, ['-900', '0'])]);
      assert.deepEqual(rows['market_volumes'], [{ market_id: MARKET, chain_id: null, volume: '900', trades: '900', first_fill: '0' }]);
    });
  }
});
