/** Average cost: buys add, sells remove in proportion, rounded down, and what failed is taken back. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { buy, sell, undoBuy, undoSell, type Holding } from '../projections/average-cost.js';

const held = (shares: bigint, cost: bigint): Holding => ({ shares, cost });
const sold = (size: bigint) => ({ size, cost: 12_345n });
const uint64 = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });
const purchase = fc.record({ size: uint64, cost: uint64 });

describe('projections: average cost', () => {
  it('a buy adds its cost', () => {
    assert.deepEqual(buy(held(10n, 5n), { size: 30n, cost: 20n }), held(40n, 25n));
  });

  it('a sell removes cost in proportion, rounded down, and all of it with the last share', () => {
    assert.deepEqual(sell(held(3n, 10n), sold(1n)), held(2n, 7n));
    assert.deepEqual(sell(held(3n, 10n), sold(2n)), held(1n, 4n));
    assert.deepEqual(sell(held(3n, 10n), sold(3n)), held(0n, 0n));
  });

  it('selling more than is held leaves negative shares without cost', () => {
    assert.deepEqual(sell(held(3n, 10n), sold(5n)), held(-2n, 0n));
    assert.deepEqual(sell(held(-2n, 0n), sold(5n)), held(-7n, 0n));
  });

  it('bought from below zero, only the part above zero brings cost', () => {
    assert.deepEqual(buy(held(-7n, 0n), { size: 5n, cost: 100n }), held(-2n, 0n));
    assert.deepEqual(buy(held(-2n, 0n), { size: 2n, cost: 100n }), held(0n, 0n));
    assert.deepEqual(buy(held(-2n, 0n), { size: 5n, cost: 100n }), held(3n, 60n));
    assert.deepEqual(buy(held(-2n, 0n), { size: 3n, cost: 100n }), held(1n, 33n));
  });

  it('a failed buy takes its own cost back, never below 0', () => {
    assert.deepEqual(undoBuy(held(40n, 25n), { size: 30n, cost: 20n }), held(10n, 5n));
    assert.deepEqual(undoBuy(held(31n, 10n), { size: 30n, cost: 20n }), held(1n, 0n));
    assert.deepEqual(undoBuy(held(10n, 5n), { size: 30n, cost: 20n }), held(-20n, 0n));
  });

  it('a failed sell comes back at the average cost of what is held, else at its own price', () => {
    assert.deepEqual(undoSell(held(20n, 10n), { size: 10n, cost: 9n }), held(30n, 15n));
    assert.deepEqual(undoSell(held(0n, 0n), { size: 10n, cost: 9n }), held(10n, 9n));
    assert.deepEqual(undoSell(held(-4n, 0n), { size: 10n, cost: 9n }), held(6n, 5n));
  });

  it('a buy that fails at once leaves the holding as it was', () => {
    fc.assert(fc.property(uint64, uint64, purchase, (shares, cost, bought) => {
      assert.deepEqual(undoBuy(buy(held(shares, cost), bought), bought), held(shares, cost));
    }));
  });

  it('shares add up exactly and cost is never negative, nor there without shares', () => {
    const step = fc.record({ act: fc.constantFrom('buy', 'sell', 'undoBuy', 'undoSell'), size: uint64, cost: uint64 });
    fc.assert(fc.property(fc.array(step), (steps) => {
      let now = held(0n, 0n);
      let shares = 0n;
      for (const { act, size, cost } of steps) {
        if (act === 'buy') now = buy(now, { size, cost });
        else if (act === 'sell') now = sell(now, { size, cost });
        else if (act === 'undoBuy') now = undoBuy(now, { size, cost });
        else now = undoSell(now, { size, cost });
        shares += act === 'buy' || act === 'undoSell' ? size : -size;
        assert.equal(now.shares, shares);
        assert.ok(now.cost >= 0n && (now.shares > 0n || now.cost === 0n), `${now.shares} shares cost ${now.cost}`);
      }
    }));
  });
});
