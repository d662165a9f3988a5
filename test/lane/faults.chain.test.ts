/** The sender when the chain goes back, when chain, Postgres or caller are away, and when its process dies after any step. */
import assert from 'node:assert/strict';
import { SenderStopped } from '../../command/lane/sender-run.js';
import { mortalSender, STEPS } from '../support/mortal-sender.js';
import { CONFIRMATIONS, senderStack } from '../support/sender-stack.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

describe('chain: sender under faults', () => {
  const on = senderStack();

  describe('a chain that goes back', () => {
    it('a shallow reorganisation: what vanished is broadcast again, and the end comes once', async () => {
      const sender = await on.start();
      await Promise.all([1, 2].map((number) => sender.send(on.request(number))));
      await on.until('both seen in a block', () => on.told.signed.length === 2 && on.seen().length === 2);
      await on.automine(false);
      await on.chain.rpc('anvil_reorg', [Number(await on.chain.rpc('eth_blockNumber')), []]);
      assert.equal(await on.count(), 0);
      await on.until('both reported', () => on.reports.filter((text) => /^trouble: .* nonce [01]: block \d was reorganised away; it is broadcast again$/.test(text)).length === 2);
      await on.until('pooled again', async () => (await on.pooled()).length === 2);
      await on.mine(1);
      await on.mine(CONFIRMATIONS);
      await on.overAll(2);
      assert.deepEqual([on.told.over.length, await on.calls()], [2, [1, 2]]);
    });

    it('evm_revert below a mined transaction: the same', async () => {
      const snapshot = await on.chain.rpc('evm_snapshot');
      const sender = await on.start();
      const { attempts } = await sender.send(on.request(1));
      await on.until('seen in a block', () => on.seen().length === 1);
      await on.chain.rpc('evm_revert', [snapshot]);
      await on.until('mined again', async () => await on.count() === 1);
      await on.mine(CONFIRMATIONS);
      await on.overAll(1);
      assert.deepEqual([await on.calls(), on.told.signed], [[1], [attempts[0]!.txHash]]);
    });

    it('a chain that forgot what was final: nothing new is sent into the gap, and an alarm', async () => {
      const snapshot = await on.chain.rpc('evm_snapshot');
      const sender = await on.start();
      await sender.send(on.request(1));
      await on.until('mined', async () => await on.count() === 1);
      await on.mine(CONFIRMATIONS);
      await on.overAll(1);
      await on.chain.rpc('evm_revert', [snapshot]);
      const waits = sender.send(on.request(2)).catch((error: unknown) => error);
      await on.until('an alarm', () => on.reports.some((text) => /^alarm: .* the chain wants nonce 0, which was final/.test(text)));
      assert.equal((await on.rows()).length, 1);
      await sender.stop();
      assert.ok(await waits instanceof SenderStopped);
    });
  });

  describe('outages', () => {
    it('the chain is down, before anything is sent and after: all waits, in order, and goes on', async () => {
      on.proxy.fate = () => 'drop';
      const sender = await on.start();
      const sends = [1, 2, 3].map((number) => sender.send(on.request(number)));
      await on.until('trouble', () => on.reports.length === 1);
      assert.deepEqual([sender.open(), await on.rows()], [[], []]);
      on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'drop' : 'pass';
      const sent = await Promise.all(sends);
      await on.until('tried twice', () => on.proxy.calls.filter((method) => method === 'eth_sendRawTransaction').length >= 2);
      assert.deepEqual([sender.open(), on.reports.length], [sent, 1]);
      on.proxy.fate = () => 'pass';
      await on.until('mined', async () => await on.count() === 3);
      await on.mine(CONFIRMATIONS);
      await on.overAll(3);
      assert.deepEqual([await on.calls(), on.told.signed.length], [[1, 2, 3], 3]);
    });

    it('answers that are lost: a broadcast that was taken is not doubled', async () => {
      let lost = 0;
      on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' && lost++ < 3 ? 'lose' : 'pass';
      const sender = await on.start();
      await Promise.all([1, 2, 3].map((number) => sender.send(on.request(number))));
      await on.until('mined', async () => await on.count() === 3);
      await on.mine(CONFIRMATIONS);
      await on.overAll(3);
      assert.deepEqual(await on.calls(), [1, 2, 3]);
    });

    it('Postgres breaks off at every write, before it and after: each request is recorded once', async () => {
      const { hostname, port } = new URL(on.database.url);
      on.cutter = await startTcpProxy({ host: hostname, port: Number(port) });
      const writes = ['insert into sender.transactions', 'set broadcast = true', 'set ending ='];
      const seenWrites = new Map<string, number>();
      on.cutter.fate = (bytes) => {
        const write = writes.find((text) => bytes.includes(text));
        if (write === undefined) return 'pass';
        const before = seenWrites.get(write) ?? 0;
        seenWrites.set(write, before + 1);
        return (['lose-reply', 'cut', 'pass'] as const)[before % 3]!;
      };
      const url = new URL(on.database.url);
      url.port = String(on.cutter.port);
      const sender = await on.start({ store: on.outbox(url.href) });
      for (let number = 1; number <= 6; number++) assert.equal((await sender.send(on.request(number))).nonce, number - 1);
      await on.until('mined', async () => await on.count() === 6);
      await on.mine(CONFIRMATIONS);
      await on.overAll(6);
      assert.deepEqual(await on.calls(), [1, 2, 3, 4, 5, 6]);
      assert.deepEqual((await on.rows()).map((row) => row.slice(0, 3)), [0, 1, 2, 3, 4, 5].map((nonce) => [nonce, 'mined', true]));
      assert.ok(writes.every((write) => seenWrites.get(write)! > 2), [...seenWrites].join());
    });

    it('the caller cannot record: nothing is broadcast until it can, and its end is told again until it is taken', async () => {
      let signable = false;
      let tries = 0;
      const sender = await on.start({
        signed: async () => { if (!signable) throw new Error('the log is away'); },
        over: async ({ nonce, request: { note } }, { kind }) => {
          if (++tries < 3) throw new Error('the log is away again');
          on.told.over.push([nonce, kind, note]);
        },
      });
      await sender.send(on.request(1));
      await on.until('reported', () => on.reports.length === 1);
      assert.deepEqual([on.reports[0]!.endsWith('the log is away'), on.proxy.calls.includes('eth_sendRawTransaction')], [true, false]);
      signable = true;
      await on.until('mined', async () => await on.count() === 1);
      await on.mine(CONFIRMATIONS);
      await on.overAll(1);
      assert.deepEqual([tries, await on.calls()], [3, [1]]);
    });
  });

  it('stopped while a node is slow, it waits for that one answer only; the rest is broadcast at the next start', async () => {
    on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'hang' : 'pass';
    const broadcasts = () => on.proxy.calls.filter((method) => method === 'eth_sendRawTransaction').length;
    const first = await on.start();
    await Promise.all([1, 2, 3].map((number) => first.send(on.request(number))));
    await on.until('a broadcast', () => broadcasts() === 1);
    const stopping = first.stop();
    on.proxy.release();
    await stopping;
    assert.deepEqual([broadcasts(), await on.rows()], [1, [[0, null, false, [true]], [1, null, false, [false]], [2, null, false, [false]]]]);
    on.proxy.fate = () => 'pass';
    await on.start();
    await on.until('mined', async () => await on.count() === 3);
    assert.deepEqual([await on.calls(), on.told.signed.length], [[1, 2, 3], 5], 'two are told of again');
  });

  describe('processes', () => {
    it('a second one with the same key stands by, and takes over when the first one ends', async () => {
      const first = await on.start();
      await first.send(on.request(1));
      const taking = on.start();
      await on.until('standing by', () => on.reports.some((text) => /^note: .* another process holds the lane; standing by$/.test(text)));
      await first.send(on.request(2));
      await first.stop();
      const second = await taking;
      assert.equal((await second.send(on.request(3))).nonce, 2);
      await on.until('mined', async () => await on.count() === 3);
      assert.deepEqual(await on.calls(), [1, 2, 3]);
      const gaveUp = new AbortController();
      const third = on.start({ signal: gaveUp.signal });
      gaveUp.abort(new Error('no more'));
      await assert.rejects(third, /no more/);
    });

    it('one that lost its session to another stands by, and what it was asked meanwhile waits for its turn', async () => {
      const first = await on.start();
      await first.send(on.request(1));
      const taking = on.start();
      await on.until('standing by', () => on.reports.some((text) => text.endsWith('standing by')));
      const { rows: [{ pid } = { pid: 0 }] } = await on.sql.query<{ pid: number }>(
        'select pid from pg_locks where locktype = \'advisory\' and granted and database = (select oid from pg_database where datname = current_database())');
      on.reports.length = 0;
      await on.sql.query('select pg_terminate_backend($1)', [pid]);
      const second = await taking;
      await on.until('the first one stands by', () => on.reports.some((text) => text.endsWith('standing by')));
      const waits = first.send(on.request(3));
      assert.equal((await second.send(on.request(2))).nonce, 1);
      await second.stop();
      assert.equal((await waits).nonce, 2);
      await on.until('mined', async () => await on.count() === 3);
      assert.deepEqual(await on.calls(), [1, 2, 3]);
    });

    it('a stopped sender sends nothing more; what it had is there for the next one', async () => {
      await on.automine(false);
      const first = await on.start();
      const sent = await first.send(on.request(1));
      await first.stop();
      await assert.rejects(first.send(on.request(2)), SenderStopped);
      const second = await on.start();
      assert.deepEqual(second.open(), [sent]);
    });

    for (const step of STEPS) {
      it(`dies at ${step}: the next one loses nothing, doubles nothing and leaves no gap`, async () => {
        await on.automine(false);
        const { died, options } = mortalSender(on, step);
        const first = await on.start({ ...options, bumpAfterMs: step === 'replacement' ? 30 : 60_000 });
        const sends = [1, 2, 3].map((number) => first.send(on.request(number)).then(() => true, () => false));
        await on.until('its death', async () => {
          if (step === 'receipt' || step === 'over') await on.mine(1);
          return died();
        });
        await first.stop();
        const recorded = await Promise.all(sends);
        assert.deepEqual(recorded, Array<boolean>(3).fill(step !== 'before record'));
        const second = await on.start();
        for (let number = step === 'before record' ? 1 : 4; number <= 4; number++) await second.send(on.request(number));
        await on.automine(true);
        await on.mine(1);
        await on.until('mined', async () => await on.count() === 4);
        await on.mine(CONFIRMATIONS);
        await on.until('all marked', async () => (await on.rows()).filter((row) => row[1] === 'mined').length === 4);
        assert.deepEqual(await on.calls(), [1, 2, 3, 4]);
        assert.deepEqual([...new Set(on.told.over.map(([nonce]) => nonce))].sort(), [0, 1, 2, 3]);
        const { rows: [{ hashes } = { hashes: [] }] } = await on.sql.query<{ hashes: string[] }>(
          'select array_agg(tx_hash) as hashes from sender.attempts where address = $1', [on.address]);
        assert.deepEqual([...new Set(on.told.signed)].sort(), hashes.sort(), 'an attempt that the caller never heard of');
      });
    }
  });
});
