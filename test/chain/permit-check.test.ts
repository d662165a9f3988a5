/** Permits of orders: the stablecoin is asked where the owner's account has code. */
import assert from 'node:assert/strict';
import { encodeCall } from '../../command/chain/abi.js';
import type { SimulatedCall } from '../../command/chain/chain-reads.js';
import { createPermitCheck } from '../../command/chain/permit-check.js';
import { contracts } from '../support/relay-scene.js';

const owner = `0x${'11'.repeat(20)}`;
const permit = { nonce: '3', value: '7', deadline: '2000000000', v: 27 as const, r: `0x${'aa'.repeat(32)}`, s: `0x${'0b'.repeat(32)}` };

describe('the check of an order\'s permit', () => {
  function checkOn(code: string, answer: { returned: string } | { reverted: string }) {
    const simulated: SimulatedCall[] = [];
    const check = createPermitCheck({ contracts }, {
      code: () => Promise.resolve(code),
      simulate(call) {
        simulated.push(call);
        return Promise.resolve(answer);
      },
    });
    return { simulated, holds: () => check({ owner, permit }) };
  }

  it('takes the signature\'s word for an account without code, and does not ask', async () => {
    const { holds, simulated } = checkOn('0x', { reverted: 'nobody should ask' });
    assert.deepEqual([await holds(), simulated], [true, []]);
  });

  it('asks the stablecoin when the account has code, as the settlement contract would', async () => {
    for (const [answer, expected] of [[{ returned: '0x' }, true], [{ reverted: 'FiatTokenV2: invalid signature' }, false]] as const) {
      const { holds, simulated } = checkOn(`0xef0100${'12'.repeat(20)}`, answer);
      assert.equal(await holds(), expected);
      const data = encodeCall({ abi: 'collateral', method: 'permit', args: [owner, contracts.settlement, '7', '2000000000', 27, permit.r, permit.s] });
      assert.deepEqual(simulated, [{ from: contracts.settlement, to: contracts.collateral, data, gasLimit: 171_000n }]);
    }
  });
});
