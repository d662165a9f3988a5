/** What callers of the client give: amounts are exact or refused, and nothing wrong is sent. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decimalOf, hexOf, oneOf, unitsOf, unitsWithin, wholeNumber } from '../../client/src/arguments.js';
import { connect } from '../../client/src/client.js';
import { BadArgument } from '../../client/src/errors.js';
import { Side, type Amount } from '../../client/src/vocabulary.js';

const refuses = (argument: string, work: () => unknown) => {
  assert.throws(work, (error) => error instanceof BadArgument && error.argument === argument && error.message.startsWith(`${argument} `));
};

describe('client: arguments', () => {
  it('takes amounts as decimal strings and as bigints', () => {
    const cases: [Amount, bigint][] = [['0.62', 620_000n], ['10', 10_000_000n], ['0.000001', 1n], ['007.5', 7_500_000n], [620_000n, 620_000n], [0n, 0n], ['0', 0n]];
    for (const [amount, units] of cases) assert.equal(unitsOf('price', amount), units, String(amount));
  });

  it('refuses numbers, and strings that are not exact', () => {
    const wrong = [0.62, 10, NaN, '0.0000001', '1e3', '.5', '5.', '-1', '+1', ' 1', '1,5', '0x10', '', '１', -1n, null, undefined, {}];
    for (const amount of wrong) refuses('price', () => unitsOf('price', amount as Amount));
    assert.throws(() => unitsOf('price', 0.1 as unknown as Amount), /numbers are refused, since they are rounded/);
  });

  it('gives back every amount that it shows', () => {
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 80n }), (units) => { assert.equal(unitsOf('size', decimalOf(units)), units); }));
    assert.deepEqual([620_000n, 1n, 10_000_000n, 0n, -1_500_000n].map(decimalOf), ['0.62', '0.000001', '10', '0', '-1.5']);
  });

  it('checks bounds, hex, choices and whole numbers', () => {
    assert.equal(unitsWithin('price', '0.5', { min: 1n, max: 999_999n }), 500_000n);
    for (const price of ['0', '1', 1_000_000n]) refuses('price', () => unitsWithin('price', price, { min: 1n, max: 999_999n }));
    assert.equal(hexOf('market', `0x${'Ab'.repeat(32)}`, 32), `0x${'ab'.repeat(32)}`);
    for (const hex of ['', '0x', `0x${'ab'.repeat(31)}`, `0x${'ag'.repeat(32)}`, `0X${'ab'.repeat(32)}`, 5, undefined]) refuses('market', () => hexOf('market', hex as string, 32));
    assert.equal(oneOf('side', Side.Sell, Side), 1);
    for (const side of [2, -1, '0', undefined]) refuses('side', () => oneOf('side', side as Side, Side));
    for (const seconds of [-1, 0.5, NaN, Infinity, '5']) refuses('seconds', () => wholeNumber('seconds', seconds as number));
  });

  it('sends nothing where an argument is wrong', async () => {
    const asked: string[] = [];
    const client = connect({ url: 'http://exchange.invalid', fetch: (url) => { asked.push(url); return Promise.reject(new Error('was asked')); } });
    const order = { market: `0x${'4d'.repeat(32)}`, side: Side.Buy, outcome: 0, price: '0.5', size: '1' } as const;
    for (const wrong of [{ price: 0.5 }, { size: 1 }, { size: '0' }, { price: '1' }, { market: '0x4d' }, { side: 2 }, { outcome: 7 }, { expiration: 1.5 }]) {
      await assert.rejects(client.place({ ...order, ...wrong } as never), BadArgument, JSON.stringify(wrong));
    }
    await assert.rejects(client.placeBatch([]), BadArgument);
    await assert.rejects(client.cancel({ orderHash: '0x12', marketId: order.market }), BadArgument);
    await assert.rejects(client.read.order('0x12'), BadArgument);
    assert.deepEqual(asked, []);
    for (const url of ['exchange', 'ftp://exchange', '']) assert.throws(() => connect({ url }), BadArgument);
  });
});
