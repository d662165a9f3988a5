/** Random histories of everything that anybody can do to the contracts, by Foundry's forge; and bugs that they find. */
import assert from 'node:assert/strict';
import { runHistories, seedOfRun, textsOfInvariants } from '../support/forge.js';
import { PLANTED_BUGS, bytecodeWith } from '../support/planted-bugs.js';

const RUNS = 150;
/** A bug that most seeds find in a few histories, another needs many more: it ends with the first that finds it. */
const RUNS_FOR_A_BUG = 1_000;

/** What every action, and each way in which it ends, is counted as: a history without one of them says nothing about it. */
const DONE = [
  'batch', 'batchStopped', 'settled', 'failed0', 'failed1', 'failed2', 'failed3', 'failed4', 'failed5', 'failed6', 'failed7', 'failed8', 'failed9',
  'cancel', 'cancelAll', 'split', 'merge', 'redeem', 'giveShares', 'giveManyShares', 'giveMoney', 'approve', 'revoke', 'intrusion',
  'signed approval', 'signed split', 'signed merge', 'signed redeem', 'signed permit', 'signed propose', 'signed settle',
  'createMarket', 'dispute', 'arbitrate', 'settleAssertion', 'assertSomething', 'resolved by proposal', 'resolveQuick', 'halve', 'abandon',
  'reportForeign', 'pause',
];

describe('contracts: histories', function () {
  this.timeout(600_000);
  let seed: number;
  let invariants: readonly string[];
  before(async () => {
    invariants = await textsOfInvariants();
    seed = await seedOfRun();
    process.stdout.write(`SEED=${seed} TESTS=contracts/histories npm test\n`);
  });

  it('leave every invariant true, and do everything', async () => {
    const { passed, output, counts } = await runHistories({ seed, name: 'committed', runs: RUNS });
    assert.ok(passed, `SEED=${seed}: ${output}`);
    process.stdout.write(`${[...counts].sort().map(([what, count]) => `${what} ${count}`).join(', ')}\n`);
    assert.deepEqual(DONE.filter((what) => !counts.has(what)), [], `SEED=${seed}: never done in ${RUNS} histories`);
  });

  describe('find a contract that', () => {
    for (const [number, bug] of PLANTED_BUGS.entries()) {
      it(bug.what, async () => {
        const { passed, output } = await runHistories({ seed, name: `bug-${number}`, bytecode: bytecodeWith(bug), runs: RUNS_FOR_A_BUG, shrinks: false });
        assert.ok(!passed, `SEED=${seed}: not found in ${RUNS_FOR_A_BUG} histories`);
        const reason = /^\[FAIL: (.*)\]/m.exec(output)?.[1] ?? output;
        // Which one finds it first is up to the seed.
        assert.ok(invariants.some((invariant) => reason.includes(invariant)), `SEED=${seed}: no invariant says ${reason}`);
        process.stdout.write(`${bug.what}: ${reason}\n`);
      });
    }
  });
});
