/** A lane on go-ethereum: its rules for replacements, a pool that forgets at a restart, blocks that are taken away. */
import assert from 'node:assert/strict';
import { Wallet } from 'ethers';
import { GETH_CHAIN_ID, startGeth } from '../support/geth.js';
import { CONFIRMATIONS, laneWorld } from '../harness/lane-world.js';

describe('lane on go-ethereum', function () {
  this.timeout(120_000);
  const on = laneWorld(() => startGeth({ blocks: 'by hand', keepsPool: false }));
  const pools = (txHash: string | undefined) => async () => (await on.pooled()).some(([, hash]) => hash === txHash);
  const ends = async (number: number) => {
    await on.mine(1 + CONFIRMATIONS);
    await on.endedAll(1);
    assert.equal((await on.tracked()).get(number)?.status.kind, 'ended');
    assert.deepEqual(await on.fates(), [[number, 'mined']]);
  };

  it('takes each replacement at the same nonce, an eighth higher, and mines the last one', async () => {
    await on.start({ policy: { bumpAfterBlocks: 1 } });
    await on.ask(1);
    await on.until('attempt 1 is pooled', async () => on.announced.length > 0 && await pools(on.announced.at(-1))());
    for (let attempts = 2; attempts <= 4; attempts++) {
      let nextMs = 0;
      await on.until(`attempt ${attempts} is pooled`, async () => {
        // Once more where the lane had not looked at the chain yet since its last attempt: then the block was no later one.
        if (performance.now() >= nextMs && on.announced.length < attempts) {
          await on.chain.mine(1, { empty: true });
          nextMs = performance.now() + 2_000;
        }
        return on.announced.length >= attempts && await pools(on.announced.at(-1))();
      });
    }
    assert.equal((await on.pooled()).length, 1);
    await ends(1);
    const offers = await on.offers();
    offers.slice(1).forEach(({ max, priority }, i) => { assert.ok(max * 8n >= offers[i]!.max * 9n && priority * 8n >= offers[i]!.priority * 9n); });
    assert.deepEqual(on.reports, []);
  });

  it('raises its fees until geth takes it in place of another transaction at its nonce', async () => {
    const fees = { maxFeePerGas: 3n * 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n };
    const other = { type: 2, chainId: GETH_CHAIN_ID, nonce: 0, to: on.address, gasLimit: 21_000n, ...fees };
    await on.chain.rpc('eth_sendRawTransaction', [await new Wallet(on.key).signTransaction(other)]);
    await on.start();
    await on.ask(1);
    await on.until('it is pooled in the other\'s place', async () => await pools(on.announced.at(-1))());
    const offers = await on.offers();
    assert.ok(offers.length > 1);
    assert.ok(offers.at(-1)!.priority * 10n >= fees.maxPriorityFeePerGas * 11n, 'a tenth more than the other one');
    await ends(1);
    assert.deepEqual(on.reports, []);
  });

  it('sends again what geth has forgotten after a kill', async () => {
    await on.start();
    await on.ask(1);
    await on.until('it is pooled', async () => await pools(on.announced[0])());
    await on.chain.kill();
    await on.chain.start();
    await on.until('it is pooled again, or in the block that geth makes when it starts', async () => await pools(on.announced[0])() || await on.count() > 0);
    await ends(1);
    assert.equal(on.announced.length, 1, 'the same bytes');
  });

  it('sends again what was mined in a block that is taken away', async () => {
    await on.start({ policy: { rebroadcastMs: 100 } });
    await on.ask(1);
    await on.until('it is pooled', async () => await pools(on.announced[0])());
    await on.mine(1);
    await on.until('it is seen', () => on.seen().length > 0);
    await on.chain.setHead(Number(await on.chain.rpc('eth_blockNumber')) - 1);
    assert.equal(await on.count(), 0);
    await on.until('it is pooled again', async () => await pools(on.announced[0])());
    await ends(1);
    assert.match(on.reports.join('; '), /^warn: lane .* nonce 0: block \d+ was reorganised away; the transaction is broadcast again$/);
  });
});
