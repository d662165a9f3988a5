/** What goes into one settlement transaction: orders once, permits where they are needed, and no more than gas and size allow. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { BATCH_LIMITS, composeBatch, limitsWithin, settleGas } from '../../command/settlement/batch.js';
import { encodeSettleBatch, settleBytes } from '../../command/settlement/settle-calldata.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { BUY, SELL, YES, type Side } from '../../engine/records/fields.js';
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { newCommand } from '../support/commands.js';
import { address, bytes32 } from '../support/scenario.js';

const NOW_S = 1_800_000_000;

function order(name: string, side: Side, permit?: Partial<PlaceOrder['permit']>): PlaceOrder {
  return newCommand('PlaceOrder', {
    at: 0, orderHash: bytes32(name), marketId: bytes32('market'), trader: address(name), side, outcome: YES, price: 500_000, size: '10',
    nonce: '1', expiration: '1900000000', signature: `0x${'ab'.repeat(65)}`,
    ...permit === undefined ? {} : { permit: { nonce: '0', value: '5', deadline: String(NOW_S), v: 27, r: bytes32('r'), s: bytes32('s'), ...permit } },
  });
}

function fill(number: number, buyNumber: number, sellNumber: number): UnsettledFill {
  return {
    fill: number, marketId: bytes32('market'), chainId: 1, outcome: YES, price: 500_000, size: 10n, cost: 5n, buyNumber, sellNumber, buyer: address('b'),
    seller: address('s'),
  };
}

const nothingUsed = () => false;

describe('settlement: batch', () => {
  it('lists every order once, in the order in which fills name them', () => {
    const orders = new Map([[7, order('taker', BUY)], [2, order('first', SELL)], [3, order('second', SELL)], [9, order('other', BUY)]]);
    const fills = [fill(0, 7, 2), fill(1, 7, 3), fill(4, 9, 3)];
    const batch = composeBatch({ fills, orders, permitUsed: nothingUsed, nowS: NOW_S });
    deepEqual(batch, {
      fills, permits: [], gasLimit: settleGas({ orders: 4, permits: 0, fills: 3 }),
      content: {
        orders: [7, 2, 3, 9].map((number) => orders.get(number)), permits: [],
        fills: [
          { seq: 0, buyIndex: 0, sellIndex: 1, price: 500_000, size: 10n }, { seq: 1, buyIndex: 0, sellIndex: 2, price: 500_000, size: 10n },
          { seq: 4, buyIndex: 3, sellIndex: 2, price: 500_000, size: 10n },
        ],
      },
    });
  });

  const cases: [string, PlaceOrder, PlaceOrder, boolean, number[]][] = [
    ['a buyer\'s permit', order('b', BUY, {}), order('s', SELL), false, [1]],
    ['no permit', order('b', BUY), order('s', SELL), false, []],
    ['a seller\'s permit, which settlement does not need', order('b', BUY), order('s', SELL, {}), false, []],
    ['a permit in its last second', order('b', BUY, { deadline: String(NOW_S) }), order('s', SELL), false, [1]],
    ['a permit past its deadline', order('b', BUY, { deadline: String(NOW_S - 1) }), order('s', SELL), false, []],
    ['a permit without an end', order('b', BUY, { deadline: '18446744073709551615' }), order('s', SELL), false, [1]],
    ['a permit that a final transaction has had', order('b', BUY, {}), order('s', SELL), true, []],
  ];
  for (const [name, buy, sell, used, permits] of cases) {
    it(`permits: ${name}: ${permits.length}`, () => {
      const orders = new Map([[1, buy], [2, sell]]);
      const batch = composeBatch({ fills: [fill(0, 1, 2), fill(1, 1, 2)], orders, permitUsed: (number) => used && number === 1, nowS: NOW_S });
      deepEqual(
        { permits: batch.permits, content: batch.content.permits, gas: batch.gasLimit },
        {
          permits, content: permits.map(() => ({ owner: buy.trader, permit: buy.permit })),
          gas: settleGas({ orders: 2, permits: permits.length, fills: 2 }),
        },
      );
    });
  }

  it('uses an owner\'s permits in the order of their nonces', () => {
    const late = { ...order('late', BUY, { nonce: '10' }), trader: address('same') };
    const early = { ...order('early', BUY, { nonce: '9' }), trader: address('same') };
    const orders = new Map([[1, late], [2, early], [3, order('s', SELL)]]);
    const { permits, content } = composeBatch({ fills: [fill(0, 1, 3), fill(1, 2, 3)], orders, permitUsed: nothingUsed, nowS: NOW_S });
    deepEqual({ permits, nonces: content.permits.map(({ permit }) => permit.nonce) }, { permits: [1, 2], nonces: ['9', '10'] });
  });

  /** Fills of two orders each, all with permits. */
  function many(count: number) {
    const orders = new Map(Array.from({ length: 2 * count }, (_, i) => [i, order(`o${i}`, i % 2 === 0 ? BUY : SELL, {})] as const));
    return { orders, fills: Array.from({ length: count }, (_, i) => fill(i, 2 * i, 2 * i + 1)) };
  }

  it('50 fills of 100 orders fit; with 50 permits, the first 35 of them', () => {
    const { orders, fills } = many(50);
    equal(composeBatch({ fills, orders, permitUsed: () => true, nowS: NOW_S }).fills.length, 50);
    const batch = composeBatch({ fills, orders, permitUsed: nothingUsed, nowS: NOW_S });
    deepEqual(batch.fills, fills.slice(0, 35));
    equal(batch.permits.length, 35);
  });

  for (const limits of [{ gas: 3_000_000, bytes: 120_000 }, { gas: 16_777_216, bytes: 10_000 }]) {
    it(`never asks for more than ${limits.gas} gas and ${limits.bytes} bytes, and takes all that fit`, () => {
      const { orders, fills } = many(50);
      const { fills: taken, gasLimit, content, permits } = composeBatch({ fills, orders, permitUsed: nothingUsed, nowS: NOW_S, limits });
      const data = encodeSettleBatch({ ...content, history: { position: 0, digest: new Uint8Array(32) } });
      ok(gasLimit <= limits.gas && data.length / 2 - 1 <= limits.bytes);
      const next = { orders: content.orders.length + 2, permits: permits.length + 1, fills: taken.length + 1 };
      ok(settleGas(next) > limits.gas || settleBytes(next) > limits.bytes);
      deepEqual(taken, fills.slice(0, taken.length));
    });
  }

  it('takes one fill whatever the limits, so that none waits for ever', () => {
    const { orders, fills } = many(2);
    deepEqual(composeBatch({ fills, orders, permitUsed: nothingUsed, nowS: NOW_S, limits: { gas: 1, bytes: 1 } }).fills, [fills[0]]);
  });

  it('leaves an eighth of a block\'s gas, and takes no more where blocks have much', () => {
    deepEqual([10_000_000n, 19_173_961n, 30_000_000n, 2n ** 64n - 1n].map((gas) => limitsWithin(BATCH_LIMITS, gas)),
      [8_750_000, 16_777_215, 16_777_216, 16_777_216].map((gas) => ({ gas, bytes: 120_000 })));
  });

  it('stays within what a transaction may be (EIP-7825)', () => {
    deepEqual(BATCH_LIMITS, { gas: 2 ** 24, bytes: 120_000 });
  });
});
