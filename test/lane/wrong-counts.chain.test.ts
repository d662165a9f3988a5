/** A lane whose node counts the key's transactions wrongly: it goes on each time, without an operator and without sending a request twice. */
import assert from 'node:assert/strict';
import { createRpc } from '../../command/chain/rpc.js';
import type { LanePolicy } from '../../command/lane/lane-options.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { laneWorld } from '../harness/lane-world.js';
import { answering } from '../support/proxies.js';

describe('chain: lane and wrong counts', function () {
  this.timeout(120_000);
  const on = laneWorld();

  /** The node says that so many transactions are in the latest block, or in any; at as many looks as are wanted. */
  function counting({ told, looks, everywhere = false }: { told: number; looks: number; everywhere?: boolean }) {
    let lies = 0;
    let isWrong = true;
    on.proxy.fate = ({ method, params }) => {
      const asked = method === 'eth_getTransactionCount' && (everywhere || params[1] === 'latest');
      if (!asked || !isWrong || lies >= looks) return 'pass';
      lies++;
      return answering({ result: `0x${told.toString(16)}` });
    };
    return { lies: () => lies, stop: () => { isWrong = false; } };
  }

  /** A count that stays the same for long while no block comes is believed, and so is a gap. */
  const PATIENT = { gapAfterMs: 3_600_000 };

  /** Three transactions: mined and over, or open. */
  async function begin(state: 'over' | 'open', policy: Partial<LanePolicy> = {}) {
    await on.automine(state === 'over');
    const lane = await on.start({ policy });
    await on.ask(1, 2, 3);
    await on.sent(1, 2, 3);
    if (state === 'over') await on.mineUntilEnded(3);
    else await on.until('pooled', async () => (await on.pooled()).length === 3);
    return lane;
  }

  async function goesOn(requests: number): Promise<void> {
    await on.automine(true);
    await on.mineUntilEnded(requests);
    const numbers = Array.from({ length: requests }, (_, i) => i + 1);
    assert.deepEqual([await on.calls(), await on.fates()], [numbers, numbers.map((number) => [number, 'mined'])]);
  }

  for (const by of [1, 1_000]) {
    for (const state of ['over', 'open'] as const) {
      for (const [when, looks] of [['once', 1], ['for a while', 12]] as const) {
        for (const restarts of [false, true]) {
          it(`${by} too high ${when}${restarts ? ', at a restart' : ''}, with transactions that are ${state}: no nonce is left out`, async () => {
            const first = await begin(state, PATIENT);
            if (restarts) await first.stop();
            const { lies } = counting({ told: (state === 'over' ? 3 : 0) + by, looks });
            await on.ask(4, 5);
            if (restarts) await on.start({ policy: PATIENT });
            await on.until('the lies are over', () => lies() === looks);
            await on.sent(4, 5);
            assert.deepEqual(await on.nonces(4, 5), [3, 4]);
            await goesOn(5);
          });
        }
      }
    }
  }

  it('too high at the latest block only, always: continues when the final block has shown that it is wrong', async () => {
    await begin('over', PATIENT);
    counting({ told: 1_003, looks: Infinity });
    await on.ask(4);
    await on.until('sent', async () => {
      await on.mine(1);
      return (await on.nonces(4))[0] === 3;
    });
    await goesOn(4);
  });

  // The larger gap is filled in several turns of 64 transactions.
  for (const by of [1, 150]) {
    it(`${by} too high at every block for so long that it is believed: the gap is filled when the truth comes out, also after a restart`, async () => {
      const first = await begin('over');
      const { stop } = counting({ told: 3 + by, looks: Infinity, everywhere: true });
      await on.until('it is heard', () => on.reports.some((text) => /a node counts/.test(text)));
      await on.ask(4);
      await on.sent(4);
      assert.deepEqual(await on.nonces(4), [3 + by]);
      stop();
      await first.stop();
      await on.start({ policy: { maxInFlight: 64 } });
      await on.until('the gap is filled', async () => {
        await on.mine(1);
        return await on.count() === 4 + by;
      });
      await on.ask(5);
      await goesOn(5);
      assert.deepEqual(await on.nonces(4, 5), [3 + by, 4 + by]);
    });
  }

  for (const state of ['over', 'open'] as const) {
    it(`too low for a while, with transactions that are ${state}: nothing is sent twice`, async () => {
      await begin(state, PATIENT);
      await on.automine(true);
      await on.mineUntilEnded(3);
      const { lies } = counting({ told: 1, looks: 8 });
      await on.ask(4);
      await on.until('the node has caught up', () => lies() === 8);
      await on.sent(4);
      await goesOn(4);
      assert.deepEqual(await on.nonces(4), [3]);
    });
  }

  it('too low for so long that it counts as a gap: what went there is lost, is asked again, and the empty ones are no alert', async () => {
    await begin('over');
    const { lies, stop } = counting({ told: 1, looks: Infinity });
    await on.until('it is heard', () => lies() > 2);
    await on.ask(4);
    await on.sent(4);
    assert.deepEqual(await on.nonces(4), [1]);
    stop();
    await on.mineUntilEnded(4);
    assert.deepEqual((await on.fates()).at(-1), [4, 'lost']);
    await on.user.ask([on.request(5)]);
    await on.mineUntilEnded(5);
    assert.deepEqual([await on.calls(), await on.nonces(5)], [[1, 2, 3, 5], [3]]);
    const alerts = on.reports.filter((text) => text.startsWith('alert'));
    assert.deepEqual([alerts.length, /wants nonce 1/.test(alerts[0]!), /nonce 1 was used/.test(alerts[1]!)], [2, true, true]);
  });

  it('with two nodes: what both say is believed at once, and what one says against the other is not', async () => {
    const rpc = createRpc({
      chainId: TEST_CHAIN_ID, urls: [on.proxy.url, on.chain.url], now: () => performance.now(), report: () => undefined, restMs: [10],
    });
    await on.chain.rpc('anvil_setNonce', [on.address, '0x7']);
    await on.start({ rpc, policy: { looksApartMs: 3_600_000 } });
    await on.ask(1);
    await on.sent(1);
    assert.deepEqual(await on.nonces(1), [7]);
    await on.mineUntilEnded(1);
    counting({ told: 1_008, looks: Infinity, everywhere: true });
    await on.ask(2);
    await on.until('sent', async () => {
      await on.mine(1);
      return (await on.nonces(2))[0] === 8;
    });
    await goesOn(2);
  });

  it('a key that was used elsewhere: its count is believed at final depth, with an alert', async () => {
    await begin('over', PATIENT);
    await on.chain.rpc('anvil_setNonce', [on.address, '0x9']);
    await on.until('it is heard', () => on.reports.some((text) => /a node counts 9/.test(text)));
    await on.ask(4);
    await on.until('sent', async () => {
      await on.mine(1);
      return (await on.nonces(4))[0] === 9;
    });
    await goesOn(4);
    assert.equal(on.reports.filter((text) => /^alert: .* nonces 3 to 8 were used by transactions that this lane does not know/.test(text)).length, 1);
  });
});
