/** What reports say of errors: the message, and of a fault in the program its class too. */
import { equal } from 'node:assert/strict';
import { ChainUnavailable } from '../../command/chain/chain.js';
import { errorText } from '../../engine/report.js';
import { OutboxUnavailable } from '../../command/lane/requests.js';

describe('chain: the text of an error in a report', () => {
  const thrownBy = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  const nothing = undefined as unknown as { readonly asset: string };

  for (const [what, error, text] of [
    ['an error of ours', new ChainUnavailable(5, 'no node answers'), new ChainUnavailable(5, 'no node answers').message],
    ['an error', new Error('the disk is full'), 'the disk is full'],
    ['what is no error', 'cut', 'cut'],
    ['a look at nothing', thrownBy(() => nothing.asset), 'TypeError: Cannot read properties of undefined (reading \'asset\')'],
    ['a number out of its range', thrownBy(() => BigInt(0.5)), 'RangeError: The number 0.5 cannot be converted to a BigInt because it is not an integer'],
    ['what cannot be parsed', thrownBy(() => BigInt('five')), 'SyntaxError: Cannot convert five to a BigInt'],
    ['such a fault below the outbox', new OutboxUnavailable(new TypeError('rows is not iterable')), 'the outbox is not available: TypeError: rows is not iterable'],
  ] as const) it(`${what}: ${text}`, () => { equal(errorText(error), text); });
});
