/** The contracts' arithmetic for all numbers at once, by Halmos on the committed byte code. */
import assert from 'node:assert/strict';
import { PLANTED_BUGS, bytecodeWith } from '../support/planted-bugs.js';
import { prove } from '../support/provers.js';

const OF_COSTS = [
  'check_costIsTheExactValueRoundedUp', 'check_costIsZeroForNothingOnly', 'check_costIsAtMostWhatTheSharesCanPay', 'check_costGrowsWithSize',
  'check_costGrowsWithPrice', 'check_partsCostTheWholeOrOneUnitMore',
];
const OF_NONCES = ['check_noncesOfKeysAreIndependent', 'check_noncesOfOwnersAreIndependent'];

describe('contracts: arithmetic', function () {
  this.timeout(600_000);

  it('gives every fill its exact value rounded up, whatever its size and price', async () => {
    const { proven, output } = await prove({ contract: 'CostProof', name: 'costs', solver: 'integers' });
    assert.deepEqual(proven, [...OF_COSTS].sort(), output);
  });

  it('counts nonces by owner and key', async () => {
    const { proven, output } = await prove({ contract: 'NonceProof', name: 'nonces', solver: 'words' });
    assert.deepEqual(proven, [...OF_NONCES].sort(), output);
  });

  it('has a counterexample when a cost is rounded down', async () => {
    const bug = PLANTED_BUGS.find(({ what }) => what === 'rounds a cost down')!;
    const { refuted, output } = await prove({ contract: 'CostProof', name: 'costs-bug', bytecode: bytecodeWith(bug), checks: 'ExactValue', solver: 'integers' });
    assert.deepEqual(refuted, ['check_costIsTheExactValueRoundedUp'], output);
  });
});
