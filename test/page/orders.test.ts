/** The page's own arithmetic: what is typed, what an order costs and pays, what an account lacks, and how orders live. */
import assert from 'node:assert/strict';
import type { Hex } from '../../client/src/vocabulary.js';
import type { Message } from '../../client/src/watch.js';
import { amountIn, MAX_AMOUNT } from '../../page/src/orders/amount-input.js';
import { mendsFor } from '../../page/src/orders/mends.js';
import { failureInWords, ordersAfter, type LiveOrders } from '../../page/src/orders/order-life.js';
import { costOf, missingOf, payoffOf, payoutOf, setsOf, valueOf } from '../../page/src/orders/payoff.js';

const PRICES = { min: 1n, max: 999_999n };
const SIZES = { min: 1_000_000n, max: MAX_AMOUNT };
const [A, B, MARKET]: [Hex, Hex, Hex] = [`0x${'a1'.repeat(32)}`, `0x${'b2'.repeat(32)}`, `0x${'4d'.repeat(32)}`];

describe('page: amounts that are typed', () => {
  const unitsIn = (text: string, bounds = PRICES) => {
    const read = amountIn(text, bounds);
    return read.kind === 'amount' ? read.units : read.kind;
  };

  it('are exact, with up to six decimals', () => {
    const typed = ['0.62', '.62', ' 0.62 ', '0.620000', '0.000001', '0.999999'];
    assert.deepEqual(typed.map((text) => unitsIn(text)), [620_000n, 620_000n, 620_000n, 620_000n, 1n, 999_999n]);
    assert.equal(unitsIn('18446744073709.551615', SIZES), MAX_AMOUNT);
    assert.equal(unitsIn('9007199254.740993', SIZES), 9_007_199_254_740_993n);
    assert.equal(unitsIn('12.', SIZES), 12_000_000n);
  });

  it('are nothing yet while nothing is typed, and a fault with its reason otherwise', () => {
    assert.deepEqual(['', '  '].map((text) => unitsIn(text)), ['empty', 'empty']);
    const wrong = ['.', 'x', '-1', '1e3', '0x1', '1 000', 'NaN', 'Infinity', '0.1.2', '９', '0.6200001', '0', '1', '2'];
    assert.deepEqual(wrong.filter((text) => unitsIn(text) !== 'fault'), []);
    assert.deepEqual(amountIn('0,62', PRICES), { kind: 'fault', fault: 'Write decimals with a point, and thousands without a comma.' });
    assert.deepEqual(amountIn('0.5', SIZES), { kind: 'fault', fault: 'At least 1.' });
    assert.deepEqual(amountIn('18446744073709.551616', SIZES), { kind: 'fault', fault: 'At most 18446744073709.551615.' });
  });
});

describe('page: cost, payout and value', () => {
  it('rounds what is paid up, and what is received down', () => {
    assert.equal(costOf(333_333n, 1n), 1n);
    assert.deepEqual(payoffOf({ side: 0, price: 620_000n, size: 10_000_000n }), { gives: 6_200_000n, gets: 10_000_000n });
    assert.deepEqual(payoffOf({ side: 1, price: 333_333n, size: 10n }), { gives: 10n, gets: 3n });
    const size = 9_007_199_254_740_993n;
    assert.deepEqual(payoffOf({ side: 0, price: 999_999n, size }), { gives: 9_007_190_247_541_739n, gets: size });
  });

  it('says what is missing beside what other orders need, and nothing where enough is there', () => {
    assert.equal(missingOf({ required: 10n, available: 7n, reserved: 2n }), 5n);
    assert.equal(missingOf({ required: 10n, available: 2n, reserved: 7n }), 10n);
    assert.equal(missingOf({ required: 10n, available: 20n, reserved: 2n }), 0n);
    assert.equal(missingOf({}), 0n);
  });

  it('values shares by the best bid, and not where nobody bids', () => {
    assert.deepEqual([valueOf(10_000_000n, 620_000n), valueOf(10n, undefined), valueOf(10n, 0n), valueOf(0n, undefined)],
      [6_200_000n, undefined, undefined, 0n]);
  });

  it('pays the winner\'s shares, or half of both', () => {
    const shares = { yesShares: 5n, noShares: 9n };
    assert.deepEqual([payoutOf(shares, 0), payoutOf(shares, 1), payoutOf(shares, undefined)], [5n, 9n, 6n]);
    assert.equal(setsOf(shares), 5n);
  });
});

describe('page: what an account lacks for an order', () => {
  const [BUY, SELL] = [0, 1] as const;
  const none = { yesShares: 0n, noShares: 0n };
  const short = { code: 'insufficient_balance', required: 10n, available: 7n, reserved: 2n };

  it('is mended by an allowance for a buy, and an approval for a sell', () => {
    const refusal = { ...short, code: 'insufficient_allowance' };
    assert.deepEqual(mendsFor({ side: BUY, refusal, shares: none, hasTestMoney: true }), [{ kind: 'permit' }]);
    assert.deepEqual(mendsFor({ side: SELL, refusal, shares: none, hasTestMoney: true }), [{ kind: 'approve' }]);
  });

  it('is mended by exactly what is missing: a split for a sell; for a buy a merge of whole sets, and test money where there is some', () => {
    assert.deepEqual(mendsFor({ side: SELL, refusal: short, shares: none, hasTestMoney: true }), [{ kind: 'split', amount: 5n }]);
    const merged = (sets: bigint) => mendsFor({ side: BUY, refusal: short, shares: { yesShares: sets, noShares: 90n }, hasTestMoney: false });
    assert.deepEqual([merged(0n), merged(3n), merged(80n)], [[], [{ kind: 'merge', amount: 3n }], [{ kind: 'merge', amount: 5n }]]);
    assert.deepEqual(mendsFor({ side: BUY, refusal: short, shares: none, hasTestMoney: true }), [{ kind: 'funds' }]);
  });

  it('is mended by no click where the refusal has another reason, or does not say how much', () => {
    for (const code of ['would_match', 'trader_suspended', 'market_closed', 'something_new']) {
      assert.deepEqual(mendsFor({ side: BUY, refusal: { ...short, code }, shares: { yesShares: 9n, noShares: 9n }, hasTestMoney: true }), []);
    }
    assert.deepEqual(mendsFor({ side: SELL, refusal: { code: 'insufficient_balance' }, shares: none, hasTestMoney: true }), []);
  });
});

describe('page: the open orders of a trader', () => {
  const told = (type: string, orderHash: Hex, fields: object): Message => (
    { channel: 'orders:0x', position: 1, previous: 0, at: 0, type, orderHash, ...fields } as unknown as Message);
  const accepted = (hash: Hex, size = 10n, remainingSize = size) => (
    told('accepted', hash, { marketId: MARKET, side: 0, outcome: 1, price: 5n, size, remainingSize }));
  const after = (messages: readonly Message[], orders: LiveOrders = new Map()) => (
    messages.reduce((so, message) => ordersAfter(so, message).orders, orders));
  const left = (orders: LiveOrders) => [...orders.values()].map(({ orderHash, remainingSize }) => [orderHash, remainingSize]);

  it('come, shrink by fills and reductions, and go', () => {
    const both = after([accepted(A), accepted(B)]);
    assert.deepEqual(left(both), [[A, 10n], [B, 10n]]);
    const smaller = after([told('filled', A, { remainingSize: 4n }), told('reduced', B, { size: 3n, remainingSize: 3n })], both);
    assert.deepEqual([left(smaller), smaller.get(B)?.size], [[[A, 4n], [B, 3n]], 3n]);
    assert.deepEqual(left(after([told('filled', A, { remainingSize: 0n }), told('cancelled', B, { remainingSize: 3n })], smaller)), []);
    assert.deepEqual(left(both), [[A, 10n], [B, 10n]], 'the map before is as it was');
  });

  it('do not begin with what is not open, nor with messages of unknown orders', () => {
    assert.deepEqual(left(after([accepted(A, 10n, 0n), told('filled', B, { remainingSize: 2n }), told('settled', B, {})])), []);
  });

  it('have to be read where a failed fill opens one again that is not here', () => {
    const reinstated = told('reinstated', A, { size: 6n, remainingSize: 6n });
    assert.deepEqual(ordersAfter(new Map(), reinstated), { orders: new Map(), missing: A });
    assert.deepEqual(left(after([accepted(A), told('filled', A, { remainingSize: 1n }), reinstated])), [[A, 6n]]);
  });

  it('tell why a fill failed, also by a reason that the page does not know', () => {
    assert.equal(failureInWords('seller_not_approved'), 'the seller had not let the exchange move shares');
    assert.equal(failureInWords('some_new_reason'), 'some new reason');
  });
});
