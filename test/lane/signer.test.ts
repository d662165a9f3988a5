/** Which requests no node would take, to the unit of gas. */
import { doesNotThrow, throws } from 'node:assert/strict';
import { checkRequest, MAX_DATA_BYTES } from '../../command/lane/signer.js';

const to = `0x${'c0'.repeat(20)}`;
const MAX_GAS = 16_777_216n;

describe('lane: requests that no node would take', () => {
  // By EIP-7623: 21,000, and 10 per zero byte and 40 per other byte.
  const floors: readonly (readonly [what: string, data: string, least: bigint])[] = [
    ['nothing', '0x', 21_000n],
    ['zero bytes', '0x0000', 21_020n],
    ['other bytes', '0xffff', 21_080n],
    ['both', '0x00ff00', 21_060n],
    ['bytes of which one digit is zero', '0x0ff0', 21_080n],
    ['zeros that are not of one byte', '0xf00f', 21_080n],
    ['a selector and two words', `0x12345678${'00'.repeat(31)}01${'00'.repeat(12)}${'c0'.repeat(20)}`, 21_000n + 4n * 40n + 31n * 10n + 40n + 12n * 10n + 20n * 40n],
  ];
  for (const [what, data, least] of floors) {
    it(`data of ${what} costs ${least} gas`, () => {
      doesNotThrow(() => { checkRequest({ to, data, gasLimit: least }, MAX_GAS); });
      throws(() => { checkRequest({ to, data, gasLimit: least - 1n }, MAX_GAS); }, {
        name: 'UnsendableTransaction', message: new RegExp(`its gas limit ${least - 1n} is below the ${least} that its data alone costs$`),
      });
    });
  }

  it('limits are inclusive: gas, bytes', () => {
    doesNotThrow(() => { checkRequest({ to, data: `0x${'00'.repeat(MAX_DATA_BYTES)}`, gasLimit: MAX_GAS }, MAX_GAS); });
    throws(() => { checkRequest({ to, data: `0x${'00'.repeat(MAX_DATA_BYTES + 1)}`, gasLimit: MAX_GAS }, MAX_GAS); }, /its data has 130049 bytes/);
    throws(() => { checkRequest({ to, data: '0x', gasLimit: MAX_GAS + 1n }, MAX_GAS); }, /its gas limit 16777217 is above 16777216/);
  });
});
