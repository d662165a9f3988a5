/** A lane on a real chain and a real Postgres: order, depth, refusals, fees, drops, strangers. */
import assert from 'node:assert/strict';
import { keccak256, Wallet } from 'ethers';
import type { LaneRequest } from '../../command/lane/requests.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { CONFIRMATIONS, laneWorld, TARGET } from '../harness/lane-world.js';
import { answering } from '../support/proxies.js';

describe('chain: lane', () => {
  const on = laneWorld();

  /** A transaction of the key that the lane knows nothing of, with its first nonce. */
  async function stranger(): Promise<void> {
    await on.chain.rpc('eth_sendRawTransaction', [await new Wallet(on.key).signTransaction({
      type: 2, chainId: TEST_CHAIN_ID, nonce: 0, to: on.address, gasLimit: 21_000n,
      maxFeePerGas: 9n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n,
    })]);
  }

  /** What nodes answer to a broadcast that they take and forget. */
  const swallowing = (wants: () => boolean): void => {
    on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' && wants() ? answering({ result: `0x${'00'.repeat(32)}` }) : 'pass';
  };

  it('sends in order, records each attempt before its broadcast, and reports each end at final depth', async () => {
    const lane = await on.start();
    const untold: unknown[] = [];
    on.proxy.fate = ({ method, params }) => {
      if (method === 'eth_sendRawTransaction' && !on.announced.includes(keccak256(params[0] as string))) untold.push(params);
      return 'pass';
    };
    await on.ask(1, 2, 3);
    await on.until('mined', async () => await on.count() === 3);
    assert.deepEqual(await on.fates(), [[1, 'sent'], [2, 'sent'], [3, 'sent']], 'not final yet');
    assert.deepEqual({ ...lane.status(), blockGasLimit: 0 }, { address: on.address, holds: true, open: 3, blockGasLimit: 0, problem: undefined });
    const tracked = await on.tracked();
    assert.deepEqual([1, 2, 3].flatMap((number) => tracked.get(number)?.txHashes), on.announced);
    assert.deepEqual(await on.nonces(1, 2, 3), [0, 1, 2]);
    await on.mine(CONFIRMATIONS - 1);
    await on.until('the first one has ended', async () => (await on.fates())[0]?.[1] === 'mined');
    await on.mine(1);
    await on.endedAll(3);
    assert.deepEqual(await on.fates(), [[1, 'mined'], [2, 'mined'], [3, 'mined']]);
    assert.deepEqual(await on.rows(), [0, 1, 2].map((nonce) => [nonce, 'mined', true, [true]]));
    assert.deepEqual([await on.calls(), lane.status().open, on.reports, untold], [[1, 2, 3], 0, [], []]);
  });

  it('a transaction that reverts ends as mined without success', async () => {
    await on.start();
    await on.chain.rpc('anvil_setCode', [TARGET, '0x5f5ffd']);
    await on.ask(1);
    await on.until('mined', async () => await on.count() === 1);
    await on.mine(CONFIRMATIONS);
    await on.endedAll(1);
    assert.deepEqual((await on.tracked()).get(1)?.status, { kind: 'ended', ending: { kind: 'mined', txHash: on.announced[0], block: 1, succeeded: false } });
  });

  it('refuses requests that every node would refuse, with the reason, and sends the next one', async () => {
    const bad: readonly (readonly [Partial<LaneRequest>, RegExp])[] = [
      [{ to: '0x12' }, /`to` is not an address/], [{ data: '0x123' }, /`data` is not hex/],
      [{ gasLimit: 21_000n }, /its gas limit 21000 is below the 21350 that its data alone costs/],
      [{ gasLimit: 2n ** 24n + 1n }, /its gas limit 16777217 is above 16777216/],
      [{ data: `0x${'11'.repeat(130_049)}`, gasLimit: 10_000_000n }, /its data has 130049 bytes, nodes take 130048/],
    ];
    await on.user.ask([...bad.map(([wrong], i) => on.request(i + 1, wrong)), on.request(9)]);
    await on.start();
    await on.sent(9);
    const tracked = await on.tracked();
    for (const [i, [, reason]] of bad.entries()) {
      const status = tracked.get(i + 1)?.status;
      assert.ok(status?.kind === 'refused');
      assert.match(status.reason, reason);
    }
    assert.deepEqual([await on.nonces(9), (await on.rows()).length], [[0], 1]);
  });

  it('refuses a request that needs more gas than a block has, and says how much a block has', async () => {
    await on.chain.rpc('evm_setBlockGasLimit', ['0x100000']);
    await on.mine(1);
    await on.user.ask([on.request(1, { gasLimit: 0x100001n }), on.request(2, { gasLimit: 0x100000n })]);
    await on.start();
    await on.sent(1, 2);
    const status = (await on.tracked()).get(1)?.status;
    assert.match(status?.kind === 'refused' ? status.reason : '', /above the chain's block gas limit/);
    assert.deepEqual(await on.nonces(1, 2), [-1, 0]);
    await on.until('the block\'s gas', async () => (await on.user.state())?.blockGasLimit === 0x100000n);
  });

  it('a wrong key is refused and never shown; nor is a right one', async () => {
    await assert.rejects(on.start({ privateKey: `${on.key}ff` }), (error: Error) => !error.message.includes(on.key) && !String(error.stack).includes(on.key.slice(2)));
    await on.start();
    await on.ask(1);
    await on.sent(1);
    const { rows: [{ all } = { all: '' }] } = await on.sql.query<{ all: string }>(
      'select concat((select json_agg(t) from lane.transactions t), (select json_agg(a) from lane.attempts a), (select json_agg(r) from lane.requests r)) as all');
    assert.ok(all.includes(on.address) && !all.includes(on.key.slice(2)));
  });

  it('higher priorities go first, then the order of asking, whoever asks', async () => {
    const relay = await on.hold('relay');
    await on.ask(1, 2);
    await relay.ask([on.request(3, { priority: 5 })]);
    await on.user.ask([on.request(4, { priority: 5 }), on.request(5, { priority: -1 })]);
    await on.start();
    await on.sent(1, 2, 4, 5);
    assert.deepEqual(await on.nonces(3, 4, 1, 2, 5), [0, 1, 2, 3, 4]);
    await on.until('mined', async () => await on.count() === 5);
    await on.mine(CONFIRMATIONS);
    await on.endedAll(4);
    assert.deepEqual((await relay.list()).map(({ status }) => status.kind), ['ended']);
  });

  describe('fees', () => {
    it('blocks pass without it: replacements at the same nonce, each at least an eighth higher, until one is mined', async () => {
      await on.automine(false);
      let swallows = true;
      swallowing(() => swallows);
      await on.start({ policy: { bumpAfterBlocks: 2 } });
      await on.ask(1);
      await on.until('three attempts', async () => {
        await on.mine(1);
        return on.announced.length >= 3;
      });
      swallows = false;
      await on.until('the last one is pooled', async () => (await on.pooled())[0]?.[1] === on.announced.at(-1));
      await on.mineUntilEnded(1);
      assert.deepEqual(await on.calls(), [1]);
      const offers = await on.offers();
      assert.equal(offers.length, on.announced.length);
      offers.slice(1).forEach(({ max, priority }, i) => {
        assert.ok(max * 8n >= offers[i]!.max * 9n && priority * 8n >= offers[i]!.priority * 9n);
      });
    });

    it('no block comes: it is broadcast again and again, and nothing more is offered', async () => {
      await on.automine(false);
      await on.start({ policy: { bumpAfterBlocks: 1, rebroadcastMs: 20 } });
      await on.ask(1);
      await on.until('broadcast many times', () => on.broadcasts() > 15);
      assert.equal((await on.offers()).length, 1);
    });

    it('the base fee rises above the offer: all are replaced, at the new price, and mined in order', async () => {
      await on.automine(false);
      await on.start({ policy: { bumpAfterBlocks: 1 } });
      await on.ask(1, 2, 3);
      await on.until('pooled', async () => (await on.pooled()).length === 3);
      await on.chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(100n * 10n ** 9n).toString(16)}`]);
      await on.mine(1);
      await on.until('higher offers', async () => {
        const higher = (await on.offers()).filter(({ broadcast, max }) => broadcast && max > 100n * 10n ** 9n);
        return new Set(higher.map(({ nonce }) => nonce)).size === 3;
      });
      await on.automine(true);
      await on.mineUntilEnded(3);
      assert.deepEqual(await on.calls(), [1, 2, 3]);
    });

    it('at the limit it offers no more, says so once, and goes on broadcasting', async () => {
      await on.automine(false);
      let swallows = true;
      swallowing(() => swallows);
      await on.start({ policy: { bumpAfterBlocks: 1, maxFeePerGas: 3n * 10n ** 9n } });
      await on.ask(1);
      await on.until('an alert', async () => {
        await on.mine(1);
        return on.reports.length > 0;
      });
      const before = on.broadcasts();
      await on.until('broadcast again', () => on.broadcasts() >= before + 2);
      assert.equal(on.reports.length, 1);
      assert.match(on.reports[0]!, /^alert: lane 0x.* of chain 31337: nonce 0 is not mined, and the limit of 3000000000 wei/);
      swallows = false;
      await on.mineUntilEnded(1);
    });

    it('an account without money: an alert, and the lane\'s problem; it is sent when the money has come', async () => {
      await on.balance(0n);
      await on.start();
      await on.ask(1, 2);
      await on.until('an alert', () => on.reports.length >= 1);
      assert.match(on.reports[0]!, /^alert: .* nonce 0: the key's account cannot pay for the gas: fund it/);
      await on.until('its problem', async () => /cannot pay for the gas/.test((await on.user.state())?.problem?.text ?? ''));
      await on.balance(10n ** 20n);
      await on.until('mined', async () => await on.count() === 2);
      await on.until('no problem', async () => (await on.user.state())?.problem === undefined);
      assert.deepEqual(await on.calls(), [1, 2]);
    });
  });

  describe('what the pool and others do', () => {
    it('a dropped transaction is broadcast again', async () => {
      await on.automine(false);
      await on.start();
      await on.ask(1);
      await on.until('pooled', async () => (await on.pooled()).length === 1);
      const [txHash] = on.announced;
      await on.chain.rpc('anvil_dropTransaction', [txHash]);
      await on.until('pooled again', async () => (await on.pooled())[0]?.[1] === txHash);
      assert.deepEqual(on.announced, [txHash]);
    });

    for (const [when, restarts] of [['', false], [', also after a restart', true]] as const) {
      it(`a transaction that a node took and forgot is sent again from the outbox${when}`, async () => {
        let swallows = true;
        swallowing(() => swallows);
        const first = await on.start();
        await on.ask(1, 2);
        await on.until('all are marked as taken', async () => (await on.offers()).filter(({ broadcast }) => broadcast).length === 2);
        assert.deepEqual([await on.pooled(), await on.count()], [[], 0]);
        if (restarts) await first.stop();
        swallows = false;
        if (restarts) await on.start();
        await on.until('mined', async () => await on.count() === 2);
        await on.mine(CONFIRMATIONS);
        await on.endedAll(2);
        assert.deepEqual([await on.calls(), on.announced.length, (await on.offers()).length], [[1, 2], 2, 2]);
      });
    }

    it('a stranger\'s pending transaction at its nonce is outbid', async () => {
      await on.automine(false);
      await stranger();
      await on.start();
      await on.ask(1);
      await on.until('outbid', async () => on.announced.length > 1 && (await on.pooled())[0]?.[1] === on.announced.at(-1));
      await on.mineUntilEnded(1);
      assert.deepEqual([await on.calls(), await on.fates()], [[1], [[1, 'mined']]]);
    });

    it('a nonce that a stranger used is lost, at final depth and with an alert; the next one goes on', async () => {
      await on.automine(false);
      on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'drop' : 'pass';
      await on.start();
      await on.ask(1);
      await on.sent(1);
      await stranger();
      await on.mine(1);
      on.proxy.fate = () => 'pass';
      await on.ask(2);
      await on.sent(2);
      assert.deepEqual(await on.nonces(1, 2), [0, 1]);
      await on.until('pooled', async () => (await on.pooled()).length === 1);
      assert.deepEqual(await on.fates(), [[1, 'sent'], [2, 'sent']]);
      await on.mine(1);
      await on.until('seen', async () => await on.count() === 2);
      await on.mineUntilEnded(2);
      assert.deepEqual(await on.fates(), [[1, 'lost'], [2, 'mined']]);
      assert.equal(on.reports.filter((text) => /^alert: .* nonce 0 was used by a transaction that this lane does not know/.test(text)).length, 1);
      assert.deepEqual(await on.calls(), [2]);
    });

    it('no more than allowed are in flight; the rest waits in order', async () => {
      await on.automine(false);
      await on.start({ policy: { maxInFlight: 2 } });
      await on.ask(1, 2, 3, 4, 5);
      await on.until('pooled', async () => (await on.pooled()).length === 2);
      assert.equal((await on.rows()).length, 2);
      await on.mine(1);
      await on.sent(1, 2, 3, 4);
      assert.equal((await on.rows()).length, 4);
      await on.automine(true);
      await on.mine(1);
      await on.calledWith(1, 2, 3, 4, 5);
    });
  });
});
