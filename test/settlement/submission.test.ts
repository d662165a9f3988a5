/** What the history is told of a settlement transaction. */
import { deepEqual, throws } from 'node:assert/strict';
import { submissionOf } from '../../command/settlement/submission.js';
import { newCommand } from '../support/commands.js';
import { bytes32 } from '../support/scenario.js';

describe('settlement: submission', () => {
  it('names the fills of a request\'s note, and nothing else becomes one', () => {
    deepEqual(submissionOf({ fills: [3, 4], permits: [0] }, { chainId: 5, txHash: bytes32('tx'), at: 9 }), newCommand('SubmitSettlement', {
      at: 9, chainId: 5, txHash: bytes32('tx'), fills: [3, 4],
    }));
    for (const note of [null, {}, { fills: [] }, { fills: ['1'] }, 'fills']) {
      throws(() => submissionOf(note, { chainId: 5, txHash: bytes32('tx'), at: 9 }), /is not a settlement: its note names no fills/);
    }
  });
});
