/** A lane when the chain goes back, when chain, Postgres or history are away, and when its process dies after any step. */
import assert from 'node:assert/strict';
import type { LaneOptions } from '../../command/lane/lane-options.js';
import type { HeldLane } from '../../command/lane/outbox.js';
import { CONFIRMATIONS, laneWorld, type LaneWorld } from '../harness/lane-world.js';

const STEPS = ['before record', 'record', 'announced', 'broadcast', 'marked', 'before replacement', 'replacement', 'receipt', 'before over', 'over'] as const;
type Step = typeof STEPS[number];

/** A lane that stops at a chosen step, as if its process had been killed there; its earlier effects remain. */
function mortalLane(on: LaneWorld, step: Step): { died: () => boolean; options: Partial<LaneOptions> } {
  let dead = false;
  const die = (): never => {
    dead = true;
    throw new Error('killed');
  };
  const alive = (): void => { if (dead) throw new Error('killed'); };
  const { outbox } = on.stores();
  const rpc = on.rpc();
  return {
    died: () => dead,
    options: {
      outbox: {
        async hold(lane, options) {
          alive();
          return mortalOutbox(await outbox.hold(lane, options), { step, alive, die });
        },
      },
      rpc: {
        chainId: rpc.chainId,
        async request<T>(method: string, params: readonly unknown[]) {
          alive();
          const result = await rpc.request<T>(method, params);
          if (method === 'eth_getTransactionReceipt' && step === 'receipt') die();
          return result;
        },
      },
      async announce({ txHash }) {
        alive();
        on.announced.push(txHash);
        if (step === 'announced') die();
      },
    },
  };
}

interface Death { readonly step: Step; readonly alive: () => void; readonly die: () => never }

function mortalOutbox(held: HeldLane, { step, alive, die }: Death): HeldLane {
  const mortal = <Args extends unknown[]>(carryOut: (...args: Args) => Promise<void>, before?: Step, after?: Step) => async (...args: Args) => {
    alive();
    if (step === before) die();
    await carryOut(...args);
    if (step === after) die();
  };
  return {
    ...held, record: mortal(held.record, 'before record', 'record'), recordAttempt: mortal(held.recordAttempt, 'before replacement', 'replacement'),
    markBroadcast: mortal(held.markBroadcast, 'broadcast', 'marked'), markOver: mortal(held.markOver, 'before over', 'over'),
    publish: mortal(held.publish), refuse: mortal(held.refuse),
  };
}

describe('chain: lane under faults', () => {
  const on = laneWorld();

  describe('a chain that goes back', () => {
    it('a shallow reorganisation: what vanished is broadcast again, and the end comes once', async () => {
      await on.start();
      await on.ask(1, 2);
      await on.until('both seen in a block', () => on.announced.length === 2 && on.seen().length === 2);
      await on.automine(false);
      await on.chain.rpc('anvil_reorg', [Number(await on.chain.rpc('eth_blockNumber')), []]);
      assert.equal(await on.count(), 0);
      await on.until('both reported', () => on.reports.filter((text) => /^warn: .* nonce [01]: block \d was reorganised away; the transaction is broadcast again$/.test(text)).length === 2);
      await on.until('pooled again', async () => (await on.pooled()).length === 2);
      await on.mine(1);
      await on.mine(CONFIRMATIONS);
      await on.endedAll(2);
      assert.deepEqual([await on.fates(), await on.calls()], [[[1, 'mined'], [2, 'mined']], [1, 2]]);
    });

    it('evm_revert below a mined transaction: the same', async () => {
      const snapshot = await on.chain.rpc('evm_snapshot');
      await on.start();
      await on.ask(1);
      await on.until('seen in a block', () => on.seen().length === 1);
      await on.chain.rpc('evm_revert', [snapshot]);
      await on.until('mined again', async () => await on.count() === 1);
      await on.mine(CONFIRMATIONS);
      await on.endedAll(1);
      assert.deepEqual([await on.calls(), on.announced.length], [[1], 1]);
    });

    it('a chain that forgot what was final: an alert, then the gap is filled, with requests first, and the lane goes on', async () => {
      const snapshot = await on.chain.rpc('evm_snapshot');
      await on.start();
      await on.ask(1, 2, 3);
      await on.until('mined', async () => await on.count() === 3);
      await on.mine(CONFIRMATIONS);
      await on.endedAll(3);
      await on.chain.rpc('evm_revert', [snapshot]);
      await on.ask(4);
      await on.until('an alert', () => on.reports.some((text) => /^alert: .* the chain wants nonce 0, which was over or was never sent/.test(text)));
      await on.until('filled', async () => await on.count() === 3);
      await on.ask(5);
      await on.mineUntilEnded(5);
      assert.deepEqual([await on.calls(), await on.nonces(4, 5)], [[4, 5], [0, 3]]);
      assert.deepEqual((await on.rows()).map(([nonce, kind]) => [nonce, kind]), [0, 0, 1, 1, 2, 2, 3].map((nonce) => [nonce, 'mined']));
      assert.equal(on.reports.filter((text) => text.startsWith('alert')).length, 1);
    });
  });

  describe('outages', () => {
    it('the chain is down, before anything is sent and after: all waits, in order, and goes on', async () => {
      on.proxy.fate = () => 'drop';
      const lane = await on.start();
      await on.ask(1, 2, 3);
      await on.until('a warning', () => on.reports.length === 1);
      assert.deepEqual([lane.status().open, await on.rows()], [0, []]);
      await on.until('the user is told', async () => /no node of chain 31337 answers/.test((await on.user.state())?.problem?.text ?? ''));
      on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'drop' : 'pass';
      await on.sent(1, 2, 3);
      await on.until('tried twice', () => on.broadcasts() >= 2);
      assert.deepEqual([lane.status().open, on.reports.length], [3, 1]);
      on.proxy.fate = () => 'pass';
      await on.calledWith(1, 2, 3);
      assert.equal(on.announced.length, 3);
    });

    it('answers that are lost: a broadcast that was taken is not doubled', async () => {
      let lost = 0;
      on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' && lost++ < 3 ? 'lose' : 'pass';
      await on.start();
      await on.ask(1, 2, 3);
      await on.calledWith(1, 2, 3);
    });

    it('Postgres breaks off at every write, before it and after: each request is recorded once', async () => {
      const writes = ['insert into lane.transactions', 'set broadcast = true', 'set ending ='];
      const seenWrites = new Map<string, number>();
      const { outbox } = await on.cut((bytes) => {
        const write = writes.find((text) => bytes.includes(text));
        if (write === undefined) return 'pass';
        const before = seenWrites.get(write) ?? 0;
        seenWrites.set(write, before + 1);
        return (['lose-reply', 'cut', 'pass'] as const)[before % 3]!;
      });
      await on.start({ outbox });
      for (let number = 1; number <= 6; number++) {
        await on.ask(number);
        await on.sent(number);
        assert.deepEqual(await on.nonces(number), [number - 1]);
      }
      await on.calledWith(1, 2, 3, 4, 5, 6);
      assert.deepEqual((await on.rows()).map((row) => row.slice(0, 3)), [0, 1, 2, 3, 4, 5].map((nonce) => [nonce, 'mined', true]));
      assert.ok(writes.every((write) => seenWrites.get(write)! > 2), [...seenWrites].join());
    });

    it('Postgres breaks off at every write of a replacement, before it and after: what is broadcast is recorded, and the last offer is mined', async () => {
      let writes = 0;
      const { outbox } = await on.cut((bytes) => (
        bytes.includes('insert into lane.attempts') && bytes.includes('select open.id') ? (['cut', 'lose-reply', 'pass'] as const)[writes++ % 3]! : 'pass'));
      await on.automine(false);
      await on.start({ outbox, policy: { bumpAfterBlocks: 1 } });
      await on.ask(1, 2, 3);
      await on.until('pooled', async () => (await on.pooled()).length === 3);
      await on.chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(100n * 10n ** 9n).toString(16)}`]);
      await on.mine(1);
      await on.until('all are replaced', async () => new Set((await on.offers()).filter(({ max }) => max > 10n ** 11n).map(({ nonce }) => nonce)).size === 3);
      await on.automine(true);
      await on.mineUntilEnded(3);
      assert.ok(writes >= 3, `${writes} writes`);
      assert.deepEqual([await on.calls(), await on.nonces(1, 2, 3)], [[1, 2, 3], [0, 1, 2]]);
    });

    it('the history cannot record: nothing is broadcast until it can', async () => {
      let isAway = true;
      await on.start({
        announce: async ({ txHash }) => {
          if (isAway) throw new Error('the log is away');
          on.announced.push(txHash);
        },
      });
      await on.ask(1, 2);
      await on.until('reported', () => on.reports.length === 1);
      assert.deepEqual([on.reports[0]!.endsWith('the log is away'), on.broadcasts()], [true, 0]);
      isAway = false;
      await on.calledWith(1, 2);
    });
  });

  it('stopped while a node is slow, it waits for that one answer only; the rest is broadcast at the next start', async () => {
    on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'hang' : 'pass';
    await on.ask(1, 2, 3);
    const first = await on.start();
    await on.until('a broadcast', () => on.broadcasts() === 1);
    const stopping = first.stop();
    on.proxy.release();
    await stopping;
    assert.deepEqual([on.broadcasts(), await on.rows()], [1, [[0, null, false, [true]], [1, null, false, [false]], [2, null, false, [false]]]]);
    on.proxy.fate = () => 'pass';
    await on.start();
    await on.until('mined', async () => await on.count() === 3);
    assert.deepEqual([await on.calls(), on.announced.length], [[1, 2, 3], 5], 'two are told of again');
  });

  describe('processes', () => {
    const STANDS_BY = /^info: .* stands by: another process does this$/;

    it('a second one with the same key stands by, and takes over when the first one ends', async () => {
      const first = await on.start();
      await on.ask(1);
      await on.sent(1);
      const second = await on.start();
      await on.until('standing by', () => on.reports.some((text) => STANDS_BY.test(text)));
      await on.ask(2);
      await on.sent(2);
      assert.deepEqual([first.status().holds, second.status().holds], [true, false]);
      await first.stop();
      await on.ask(3);
      await on.sent(3);
      assert.deepEqual([second.status().holds, await on.nonces(1, 2, 3)], [true, [0, 1, 2]]);
      await on.calledWith(1, 2, 3);
    });

    for (const [what, options] of [['the same key under another name', { key: 'another name' }], ['another key under the same name', { privateKey: `0x${'11'.repeat(32)}` }]] as const) {
      it(`${what} stands by, too`, async () => {
        const first = await on.start();
        await on.until('it works', () => first.status().holds);
        const second = await on.start(options);
        await on.until('standing by', () => on.reports.some((text) => STANDS_BY.test(text)));
        await first.stop();
        await on.until('it works', () => second.status().holds);
      });
    }

    it('of one that lost its session and another, one goes on and the other stands by and sends nothing', async () => {
      const first = await on.start();
      await on.ask(1);
      await on.sent(1);
      const second = await on.start();
      await on.until('standing by', () => on.reports.some((text) => STANDS_BY.test(text)));
      await on.sql.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1 and pid in '
        + '(select pid from pg_locks where locktype = \'advisory\' and granted)', ['lane 31337']);
      await on.ask(2);
      await on.sent(2);
      // Whichever was quicker has the lane.
      const holders = () => [first, second].filter((each) => each.status().holds);
      await on.until('one holds the lane, and the other knows that it does not', () => holders().length === 1);
      await holders()[0]!.stop();
      await on.ask(3);
      await on.sent(3);
      assert.deepEqual(await on.nonces(1, 2, 3), [0, 1, 2]);
      await on.calledWith(1, 2, 3);
    });

    it('the asker is dead: what it asked is sent and ends, and the next one finds it', async () => {
      await on.ask(1, 2);
      await on.user.close();
      await on.start();
      await on.until('mined', async () => await on.count() === 2);
      await on.mine(CONFIRMATIONS);
      on.user = await on.hold('settlement');
      await on.endedAll(2);
      assert.deepEqual([await on.fates(), await on.calls()], [[[1, 'mined'], [2, 'mined']], [1, 2]]);
    });

    for (const swallowed of [false, true]) {
      it(`a key that had another address: what that has open${swallowed ? ', and no node has,' : ''} is followed to its end; the new one goes on`, async () => {
        await on.automine(false);
        if (swallowed) on.proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'drop' : 'pass';
        const first = await on.start();
        await on.ask(1, 2);
        await on.sent(1, 2);
        if (!swallowed) await on.until('pooled', async () => (await on.pooled()).length === 2);
        await first.stop();
        on.proxy.fate = () => 'pass';
        const second = await on.start({ privateKey: `0x${'22'.repeat(32)}` });
        await on.chain.rpc('anvil_setBalance', [second.address, '0x56bc75e2d63100000']);
        await on.ask(3);
        await on.until('told', () => on.reports.some((text) => text.includes(`follows 2 transactions of ${on.address}`)));
        await on.mineUntilEnded(3);
        assert.deepEqual([await on.fates(), (await on.calls()).sort()], [[1, 2, 3].map((number) => [number, 'mined']), [1, 2, 3]]);
      });
    }

    it('an outbox of the version before: the lane begins behind what the chain counts, and tells what is open there', async () => {
      await on.sql.query(`create schema sender; create table sender.transactions (chain_id bigint, address text, nonce bigint, ending json);
        insert into sender.transactions values (31337, '${on.address}', 6, null), (31337, '${on.address}', 5, '{}'), (31337, '0xother', 7, null)`);
      await on.chain.rpc('anvil_setNonce', [on.address, '0x6']);
      await on.ask(1);
      await on.start();
      await on.mineUntilEnded(1);
      assert.deepEqual([await on.nonces(1), await on.calls()], [[6], [1]]);
      const told = /^warn: .* 1 transactions of an earlier version \(schema sender\) are not over/;
      assert.equal(on.reports.filter((text) => told.test(text)).length, 1);
      await on.sql.query('drop schema sender cascade');
    });

    for (const step of STEPS) {
      it(`dies at ${step}: the next one loses nothing, doubles nothing and leaves no gap`, async () => {
        await on.automine(false);
        const { died, options } = mortalLane(on, step);
        const first = await on.start({ ...options, policy: { bumpAfterBlocks: 1 } });
        await on.ask(1, 2, 3);
        // Replaced where the base fee has risen above the offers.
        if (step.endsWith('replacement')) {
          await on.until('pooled', async () => (await on.pooled()).length === 3);
          await on.chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(100n * 10n ** 9n).toString(16)}`]);
          await on.mine(1);
        }
        await on.until('its death', async () => {
          if (['receipt', 'before over', 'over'].includes(step)) await on.mine(1);
          return died();
        });
        await first.stop();
        await on.ask(1, 2, 3, 4);
        await on.start({ policy: { bumpAfterBlocks: 1 } });
        await on.sent(1, 2, 3, 4);
        await on.automine(true);
        await on.mineUntilEnded(4);
        assert.deepEqual([await on.calls(), await on.nonces(1, 2, 3, 4)], [[1, 2, 3, 4], [0, 1, 2, 3]]);
        const hashes = [...(await on.tracked()).values()].flatMap(({ txHashes }) => txHashes);
        assert.deepEqual([...new Set(on.announced)].sort(), hashes.sort(), 'an attempt that the history never heard of');
      });
    }
  });
});
