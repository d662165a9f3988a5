/** The sender on a real chain and a real Postgres: order, depth, refusals, fees, drops, strangers. */
import assert from 'node:assert/strict';
import { keccak256, Wallet } from 'ethers';
import { UnsendableTransaction } from '../../command/lane/signer.js';
import type { Ending, TransactionRequest } from '../../command/lane/sender.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { CONFIRMATIONS, senderStack, TARGET } from '../support/sender-stack.js';

describe('chain: sender', () => {
  const on = senderStack();

  /** A transaction of the key that the sender knows nothing of, with its first nonce. */
  async function stranger(): Promise<void> {
    await on.chain.rpc('eth_sendRawTransaction', [await new Wallet(on.key).signTransaction({
      type: 2, chainId: TEST_CHAIN_ID, nonce: 0, to: on.address, gasLimit: 21_000n,
      maxFeePerGas: 9n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n,
    })]);
  }

  it('sends in order, tells of each attempt before its broadcast, and of each end at final depth', async () => {
    const sender = await on.start();
    const untold: unknown[] = [];
    on.proxy.fate = ({ method, params }) => {
      if (method === 'eth_sendRawTransaction' && !on.told.signed.includes(keccak256(params[0] as string))) untold.push(params);
      return 'pass';
    };
    const sent = await Promise.all([1, 2, 3].map((number) => sender.send(on.request(number))));
    assert.deepEqual(sent.map(({ nonce }) => nonce), [0, 1, 2]);
    assert.deepEqual(sent.map((transaction) => transaction.request), [1, 2, 3].map(on.request));
    await on.until('mined', async () => await on.count() === 3);
    assert.deepEqual([sender.address, sender.open(), on.told.over], [on.address, sent, []], 'not final yet');
    await on.mine(CONFIRMATIONS - 1);
    await on.until('the first one over', () => on.told.over.length >= 1);
    await on.mine(1);
    await on.overAll(3);
    assert.deepEqual(on.told.over.map(([, kind, note]) => [kind, note]), [1, 2, 3].map((number) => ['mined', { number }]));
    assert.deepEqual(on.told.signed, sent.map(({ attempts }) => attempts[0]!.txHash));
    assert.deepEqual(await on.rows(), [0, 1, 2].map((nonce) => [nonce, 'mined', true, [true]]));
    assert.deepEqual([await on.calls(), sender.open(), on.reports, untold], [[1, 2, 3], [], [], []]);
  });

  it('a transaction that reverts ends as mined without success', async () => {
    const endings: Ending[] = [];
    const sender = await on.start({ over: async (_, ending) => { endings.push(ending); } });
    await on.chain.rpc('anvil_setCode', [TARGET, '0x5f5ffd']);
    const { attempts } = await sender.send(on.request(1));
    await on.until('mined', async () => await on.count() === 1);
    await on.mine(CONFIRMATIONS);
    await on.until('over', () => endings.length === 1);
    assert.deepEqual(endings, [{ kind: 'mined', txHash: attempts[0]!.txHash, block: 1, succeeded: false }]);
  });

  it('refuses what no node would take, and goes on', async () => {
    const sender = await on.start();
    const good = on.request(1);
    const bad: readonly (readonly [Partial<TransactionRequest>, RegExp])[] = [
      [{ to: '0x12' }, /`to` is no address/], [{ data: '0x123' }, /`data` is not hex/],
      [{ gasLimit: 21_000n }, /its gas limit 21000 is below the 21350 that its data alone costs/],
      [{ gasLimit: 2n ** 24n + 1n }, /its gas limit 16777217 is above 16777216/],
      [{ data: `0x${'11'.repeat(130_049)}`, gasLimit: 10_000_000n }, /its data has 130049 bytes, nodes take 130048/],
      [{ note: 1n }, /its note is not JSON/],
    ];
    for (const [wrong, message] of bad) {
      const refused = sender.send({ ...good, ...wrong });
      await assert.rejects(refused, (error: Error) => error instanceof UnsendableTransaction && message.test(error.message));
    }
    assert.equal((await sender.send(on.request(2))).nonce, 0);
  });

  it('refuses what no block could hold', async () => {
    await on.chain.rpc('evm_setBlockGasLimit', ['0x100000']);
    await on.mine(1);
    const sender = await on.start();
    await assert.rejects(sender.send({ ...on.request(1), gasLimit: 0x100001n }), /above the chain's block gas limit/);
    assert.equal((await sender.send({ ...on.request(2), gasLimit: 0x100000n })).nonce, 0);
  });

  it('a wrong key is refused and never shown; nor is a right one', async () => {
    await assert.rejects(on.start({ privateKey: `${on.key}ff` }), (error: Error) => !error.message.includes(on.key) && !String(error.stack).includes(on.key.slice(2)));
    const sender = await on.start();
    await sender.send(on.request(1));
    const { rows } = await on.sql.query<{ all: string }>('select (select json_agg(t)::text from sender.transactions t) || (select json_agg(a)::text from sender.attempts a) as all');
    assert.ok(rows[0]!.all.includes(on.address) && !rows[0]!.all.includes(on.key.slice(2)));
  });

  describe('fees', () => {
    it('mining stops: replacements at the same nonce, each at least an eighth higher, until one is mined', async () => {
      await on.automine(false);
      const sender = await on.start({ bumpAfterMs: 50 });
      await sender.send(on.request(1));
      await on.until('three attempts in the pool', async () => on.told.signed.length >= 3 && (await on.pooled())[0]?.[1] === on.told.signed.at(-1));
      await on.mine(1);
      await on.until('mined', async () => await on.count() === 1);
      await on.mine(CONFIRMATIONS);
      await on.overAll(1);
      assert.deepEqual(await on.calls(), [1]);
      const { rows: fees } = await on.sql.query<{ max: string; priority: string }>(
        'select max_fee_per_gas as max, max_priority_fee_per_gas as priority from sender.attempts where address = $1 order by number', [on.address]);
      assert.equal(fees.length, on.told.signed.length);
      fees.slice(1).forEach(({ max, priority }, i) => {
        assert.ok(BigInt(max) * 8n >= BigInt(fees[i]!.max) * 9n && BigInt(priority) * 8n >= BigInt(fees[i]!.priority) * 9n);
      });
    });

    it('the base fee rises above the offer: all are replaced, at the new price, and mined in order', async () => {
      await on.automine(false);
      const sender = await on.start({ bumpAfterMs: 50 });
      await Promise.all([1, 2, 3].map((number) => sender.send(on.request(number))));
      await on.chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(100n * 10n ** 9n).toString(16)}`]);
      await on.mine(1);
      await on.until('higher offers', async () => {
        const { rows } = await on.sql.query('select nonce from sender.attempts where address = $1 and broadcast and max_fee_per_gas > 100e9 group by nonce', [on.address]);
        return rows.length === 3;
      });
      await on.automine(true);
      await on.mine(CONFIRMATIONS);
      await on.until('mined', async () => await on.count() === 3);
      await on.mine(CONFIRMATIONS);
      await on.overAll(3);
      assert.deepEqual(await on.calls(), [1, 2, 3]);
    });

    it('at the limit it offers no more, says so once, and goes on broadcasting', async () => {
      await on.automine(false);
      const sender = await on.start({ bumpAfterMs: 50, maxFeePerGas: 3n * 10n ** 9n });
      await sender.send(on.request(1));
      await on.until('an alarm', () => on.reports.length > 0);
      const broadcasts = () => on.proxy.calls.filter((method) => method === 'eth_sendRawTransaction').length;
      const before = broadcasts();
      await on.until('broadcast again', () => broadcasts() >= before + 2);
      assert.equal(on.reports.length, 1);
      assert.match(on.reports[0]!, /^alarm: .* nonce 0 is not mined, and the limit of 3000000000 wei/);
      await on.mine(1);
      await on.until('mined', async () => await on.count() === 1);
    });

    it('an account without money: an alarm; it is sent when the money has come', async () => {
      await on.balance(0n);
      const sender = await on.start();
      await Promise.all([1, 2].map((number) => sender.send(on.request(number))));
      await on.until('an alarm', () => on.reports.length >= 1);
      assert.match(on.reports[0]!, /^alarm: .* nonce 0: the key's account cannot pay for the gas: fund it/);
      await on.balance(10n ** 20n);
      await on.until('mined', async () => await on.count() === 2);
      assert.deepEqual(await on.calls(), [1, 2]);
    });
  });

  describe('what the pool and others do', () => {
    it('a dropped transaction is broadcast again', async () => {
      await on.automine(false);
      const sender = await on.start();
      const { attempts: [{ txHash } = { txHash: '' }] } = await sender.send(on.request(1));
      await on.until('pooled', async () => (await on.pooled()).length === 1);
      await on.chain.rpc('anvil_dropTransaction', [txHash]);
      await on.until('pooled again', async () => (await on.pooled())[0]?.[1] === txHash);
      assert.deepEqual(on.told.signed, [txHash]);
    });

    it('a stranger\'s pending transaction at its nonce is outbid', async () => {
      await on.automine(false);
      await stranger();
      const sender = await on.start();
      await sender.send(on.request(1));
      await on.until('outbid', async () => (await on.pooled())[0]?.[1] === sender.open()[0]!.attempts.at(-1)!.txHash && on.told.signed.length > 1);
      await on.mine(1);
      await on.mine(CONFIRMATIONS);
      await on.overAll(1);
      assert.deepEqual(await on.calls(), [1]);
    });

    it('a nonce that a stranger used is lost, at final depth and with an alarm; the next one goes on', async () => {
      await on.automine(false);
      on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'drop' : 'pass';
      const sender = await on.start();
      await sender.send(on.request(1));
      await stranger();
      await on.mine(1);
      on.proxy.fate = () => 'pass';
      const second = await sender.send(on.request(2));
      assert.equal(second.nonce, 1);
      await on.until('pooled', async () => (await on.pooled()).length === 1);
      assert.deepEqual(on.told.over, []);
      await on.mine(1);
      await on.until('seen', async () => await on.count() === 2);
      await on.until('lost', async () => {
        await on.mine(1);
        return on.told.over.length === 2;
      });
      await on.overAll(2);
      assert.deepEqual([...on.told.over].sort(), [[0, 'lost', { number: 1 }], [1, 'mined', { number: 2 }]]);
      assert.equal(on.reports.filter((text) => /^alarm: .* nonce 0 was used by a transaction that this sender does not know/.test(text)).length, 1);
      assert.deepEqual(await on.calls(), [2]);
    });

    it('no more than allowed are in flight; the rest waits in order', async () => {
      await on.automine(false);
      const sender = await on.start({ maxInFlight: 2 });
      const sends = [1, 2, 3, 4, 5].map((number) => sender.send(on.request(number)));
      await Promise.all(sends.slice(0, 2));
      await on.until('pooled', async () => (await on.pooled()).length === 2);
      assert.equal((await on.rows()).length, 2);
      await on.mine(1);
      await Promise.all(sends.slice(2, 4));
      assert.equal((await on.rows()).length, 4);
      await on.automine(true);
      await on.mine(1);
      await sends[4];
      await on.until('mined', async () => await on.count() === 5);
      assert.deepEqual(await on.calls(), [1, 2, 3, 4, 5]);
    });
  });
});
