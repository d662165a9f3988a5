/** Average cost: what comes in adds its cost, what leaves takes cost along in proportion, and nothing invested is lost on the way. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { buy, correct, sell, splitCost, transfer, type Holding } from '../../projections/models/positions.js';

const held = (shares: bigint, cost: bigint): Holding => ({ shares, cost });
const uint64 = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });
const uint256 = fc.bigInt({ min: 1n, max: 2n ** 256n - 1n });

describe('projections: average cost', () => {
  it('a buy adds its cost', () => {
    assert.deepEqual(buy(held(10n, 5n), { size: 30n, cost: 20n }), held(40n, 25n));
  });

  it('a sell removes cost in proportion, rounded down, and all of it with the last share', () => {
    assert.deepEqual(sell(held(3n, 10n), 1n), held(2n, 7n));
    assert.deepEqual(sell(held(3n, 10n), 2n), held(1n, 4n));
    assert.deepEqual(sell(held(3n, 10n), 3n), held(0n, 0n));
  });

  it('selling more than is held leaves negative shares without cost', () => {
    assert.deepEqual(sell(held(3n, 10n), 5n), held(-2n, 0n));
    assert.deepEqual(sell(held(-2n, 0n), 5n), held(-7n, 0n));
    assert.deepEqual(sell(held(0n, 0n), 5n), held(-5n, 0n));
  });

  it('bought from below zero, only the part above zero brings cost', () => {
    assert.deepEqual(buy(held(-7n, 0n), { size: 5n, cost: 100n }), held(-2n, 0n));
    assert.deepEqual(buy(held(-2n, 0n), { size: 2n, cost: 100n }), held(0n, 0n));
    assert.deepEqual(buy(held(-2n, 0n), { size: 5n, cost: 100n }), held(3n, 60n));
    assert.deepEqual(buy(held(-2n, 0n), { size: 3n, cost: 100n }), held(1n, 33n));
  });

  it('a transfer takes cost along, in proportion', () => {
    assert.deepEqual(transfer(held(3n, 10n), held(4n, 1n), 2n), { from: held(1n, 4n), to: held(6n, 7n) });
    assert.deepEqual(transfer(held(3n, 10n), held(0n, 0n), 3n), { from: held(0n, 0n), to: held(3n, 10n) });
    assert.deepEqual(transfer(held(0n, 0n), held(1n, 5n), 3n), { from: held(-3n, 0n), to: held(4n, 5n) });
  });

  it('a split costs half on each side, an odd one its odd unit on the YES side', () => {
    assert.deepEqual([10n, 7n, 1n].map((size) => [splitCost(size, 0), splitCost(size, 1)]), [[5n, 5n], [4n, 3n], [1n, 0n]]);
    fc.assert(fc.property(uint256, (size) => { assert.equal(splitCost(size, 0) + splitCost(size, 1), size); }));
  });

  it('a correction takes cost away with the shares that are missing, and adds none for those too many', () => {
    assert.deepEqual(correct(held(10n, 7n), 5n), held(5n, 4n));
    assert.deepEqual(correct(held(10n, 7n), 0n), held(0n, 0n));
    assert.deepEqual(correct(held(10n, 7n), 10n), held(10n, 7n));
    assert.deepEqual(correct(held(10n, 7n), 25n), held(25n, 7n));
    assert.deepEqual(correct(held(-3n, 0n), 4n), held(4n, 0n));
    assert.deepEqual(correct(held(0n, 0n), 2n ** 255n), held(2n ** 255n, 0n));
  });

  it('a transfer conserves shares and cost exactly', () => {
    const some = fc.record({ shares: uint256, cost: uint256 });
    fc.assert(fc.property(some, some, fc.bigInt({ min: 1n, max: 1_000n }), (from, to, part) => {
      const size = from.shares * part / 1_000n;
      const after = transfer(from, to, size);
      assert.equal(after.from.cost + after.to.cost, from.cost + to.cost);
      assert.deepEqual([after.from.shares, after.to.shares], [from.shares - size, to.shares + size]);
    }));
  });

  it('shares add up exactly and cost is never negative, nor there without shares', () => {
    const step = fc.record({ act: fc.constantFrom('buy', 'sell', 'correct'), size: uint64, cost: uint64 });
    fc.assert(fc.property(fc.array(step), (steps) => {
      let now = held(0n, 0n);
      let shares = 0n;
      for (const { act, size, cost } of steps) {
        if (act === 'buy') now = buy(now, { size, cost });
        else if (act === 'sell') now = sell(now, size);
        else now = correct(now, size);
        shares = act === 'correct' ? size : act === 'buy' ? shares + size : shares - size;
        assert.equal(now.shares, shares);
        assert.ok(now.cost >= 0n && (now.shares > 0n || now.cost === 0n), `${now.shares} shares cost ${now.cost}`);
      }
    }));
  });
});
