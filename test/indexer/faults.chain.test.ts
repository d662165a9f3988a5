/** The indexer and nodes that fail: lost, late, repeated, disordered and contradictory answers, limits, laggards, and chains that stand still. */
import assert from 'node:assert/strict';
import { ZeroHash } from 'ethers';
import { ChainUnavailable, RpcError, type Rpc } from '../../command/chain/chain.js';
import type { Command } from '../../engine/records/commands.js';
import type { MemoryStore } from '../../engine/log/memory/memory-log.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { deployedChain, type DeployedChain } from '../support/deployed-chain.js';
import { advances, catchUp, newStore, patiently, quickRpc, startIndexer, takenFacts, type IndexerSceneOptions } from './indexer-scene.js';
import { answering, startRpcProxy, type RpcProxy } from '../support/proxies.js';
import { createRandom } from '../support/random-commands.js';
import { until } from '../support/until.js';

type Answer = (method: string, params: readonly unknown[], ask: () => Promise<unknown>) => Promise<unknown>;
interface Log { blockNumber: string; blockHash: string; logIndex: string }

describe('the indexer and nodes that fail', function () {
  this.timeout(120_000);
  let node: DeployedChain;
  let options: Omit<IndexerSceneOptions, 'store'>;
  let expected: Command[];
  let rpc: Rpc;
  let proxy: RpcProxy;
  before(async () => {
    node = await deployedChain({ chain: { confirmations: 2 } });
    rpc = quickRpc([node.url], TEST_CHAIN_ID);
    options = { chain: node.chain, rpc };
    const [, alice, bob] = node.accounts;
    const market = await node.createMarket();
    await node.mint(alice!, 100n);
    await node.split(alice!, market, 100n);
    for (let i = 1n; i <= 12n; i++) {
      await node.send(alice!, 'conditionalTokens', 'safeTransferFrom', [alice!.address, bob!.address, market.yesId, i, '0x']);
      if (i % 3n === 0n) await node.rpc('anvil_mine', ['0x5']);
    }
    await node.send(alice!, 'conditionalTokens', 'mergePositions', [node.chain.contracts.collateral, ZeroHash, market.marketId, [1n, 2n], 5n]);
    await node.rpc('anvil_mine', ['0x2']);
    const store = newStore();
    await catchUp({ ...options, store });
    expected = timeless(await takenFacts(store));
    assert.equal(expected.length, 15);
    proxy = await startRpcProxy(node.url);
  });
  after(async () => {
    await proxy.close();
    await node.stop();
  });
  beforeEach(() => { proxy.fate = () => 'pass'; });

  /** Numbers of 0 up to 1. */
  const fractions = (seed: number) => {
    const random = createRandom(seed);
    return () => random() / 2 ** 32;
  };
  const timeless = (commands: readonly Command[]) => commands.map((command) => ({ ...command, at: 0 }));
  const assertAllTaken = async (store: MemoryStore) => { assert.deepEqual(timeless(await takenFacts(store)), expected); };
  const answeredBy = (answer: Answer): Rpc => ({
    chainId: TEST_CHAIN_ID,
    request: <T>(method: string, params: readonly unknown[]) => answer(method, params, () => rpc.request(method, params)) as Promise<T>,
  });

  it('any of ten faults at any request, at random, changes nothing of what is taken', async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const random = fractions(seed);
      let faults = 0;
      const changed = (logs: unknown, change: (copy: Log[]) => unknown) => Array.isArray(logs) ? change(structuredClone(logs) as Log[]) : logs;
      const faulty = answeredBy(async (method, _, ask) => {
        if (random() > 0.35) return await ask();
        faults += 1;
        switch (Math.floor(random() * 10)) {
          case 0: throw new ChainUnavailable(TEST_CHAIN_ID, 'dropped');
          case 1: await ask(); throw new ChainUnavailable(TEST_CHAIN_ID, 'lost');
          case 2: throw new RpcError(method, -32_000, 'something or other', undefined);
          case 3: return null;
          case 4: return { error: 'nonsense' };
          case 5: return method === 'eth_blockNumber' ? '0x0' : await ask();
          case 6: return changed(await ask(), (logs) => logs.reverse());
          case 7: return changed(await ask(), (logs) => [...logs, ...logs]);
          case 8: return changed(await ask(), (logs) => logs.map((log) => ({ ...log, blockHash: ZeroHash })));
          default: return changed(await ask(), (logs) => logs.map((log) => ({ ...log, blockNumber: '0xffff' })));
        }
      });
      const store = newStore();
      const scene = await catchUp({ ...options, rpc: faulty, store, rangeBlocks: 7, random });
      await assertAllTaken(store);
      assert.equal(scene.indexer.status().stopped, undefined, `seed ${seed}`);
      assert.ok(faults > 10, `seed ${seed}: ${faults} faults`);
    }
  });

  it('over HTTP too: cut, lost and withheld answers, errors and nonsense', async () => {
    const random = fractions(77);
    let faults = 0;
    proxy.fate = () => {
      if (random() > 0.3) return 'pass';
      faults += 1;
      const fates = ['drop', 'lose', 'hang', { status: 503, body: 'busy' }, { body: '<html>' }, answering({ error: { code: -32_005, message: 'query returned more' } })];
      return fates[Math.floor(random() * fates.length)] as ReturnType<RpcProxy['fate']>;
    };
    const store = newStore();
    await catchUp({ ...options, rpc: quickRpc([proxy.url], TEST_CHAIN_ID, 40), store, rangeBlocks: 7 });
    await assertAllTaken(store);
    assert.ok(faults > 5, `${faults} faults`);
  });

  it('goes over to another node in the middle', async () => {
    let asked = 0;
    proxy.fate = () => ++asked > 9 ? 'drop' : 'pass';
    const store = newStore();
    const scene = await catchUp({ ...options, rpc: quickRpc([proxy.url, node.url], TEST_CHAIN_ID), store, rangeBlocks: 7 });
    await assertAllTaken(store);
    assert.deepEqual(scene.reports, []);
  });

  const logs = (address: string) => ({
    address, topics: [ZeroHash], data: '0x', blockNumber: '0x5', blockHash: ZeroHash, logIndex: '0x0', transactionHash: ZeroHash, removed: false,
  });
  const malformed: readonly (readonly [string, unknown])[] = [
    ['no array', { length: 1 }], ['an event that is null', [null]], ['no topics', [{ ...logs(ZeroHash.slice(0, 42)), topics: undefined }]],
    ['a short address', [logs('0x12')]], ['odd data', [{ ...logs(ZeroHash.slice(0, 42)), data: '0x1' }]],
    ['a number for the block', [{ ...logs(ZeroHash.slice(0, 42)), blockNumber: 5 }]],
    ['a pending event', [{ ...logs(ZeroHash.slice(0, 42)), blockNumber: null, blockHash: null, logIndex: null }]],
    ['a block beyond 2^53', [{ ...logs(ZeroHash.slice(0, 42)), blockNumber: '0x20000000000000' }]],
    ['an event of a block that the chain does not have', [logs(ZeroHash.slice(0, 42))]],
    ['a block that was not asked for', [{ ...logs(ZeroHash.slice(0, 42)), blockNumber: '0xffff' }]],
  ];
  for (const [what, answer] of malformed) {
    it(`waits for a better answer than ${what}`, async () => {
      let bad = 0;
      const store = newStore();
      const scene = await catchUp({
        ...options, store, rpc: answeredBy(async (method, _, ask) => method === 'eth_getLogs' && bad++ < 2 ? answer : await ask()),
      });
      await assertAllTaken(store);
      assert.equal(scene.reports.length, 2);
      assert.match(scene.reports[0]!, /^warn: chain 31337: reading waits: the node's answer cannot be used: /);
      assert.equal(scene.reports[1], 'info: chain 31337: reading goes on');
    });
  }

  for (const [what, change, pattern] of [
    ['an event marked as removed', (log: Log) => [{ ...log, removed: true }], /marked as removed/],
    ['two events with one index', (log: Log) => [log, { ...log, data: '0x' }], /has two events with logIndex/],
    ['two blocks of one number', (log: Log) => [log, { ...log, blockHash: ZeroHash }], /two different blocks/],
  ] as const) {
    it(`takes nothing from ${what}`, async () => {
      let bad = 0;
      const store = newStore();
      const scene = await catchUp({
        ...options, store,
        rpc: answeredBy(async (method, _, ask) => {
          const answer = await ask();
          return method === 'eth_getLogs' && bad++ === 0 ? (answer as Log[]).flatMap(change) : answer;
        }),
      });
      await assertAllTaken(store);
      assert.match(scene.reports[0]!, pattern);
    });
  }

  /** How many blocks each eth_getLogs asked for. */
  const widthOf = (params: readonly unknown[]) => {
    const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string };
    return Number(toBlock) - Number(fromBlock) + 1;
  };

  for (const [what, error] of [
    ['says so', new RpcError('eth_getLogs', -32_005, 'whatever it says', undefined)], ['gives no answer in time', new ChainUnavailable(TEST_CHAIN_ID, 'late')],
  ] as const) {
    it(`asks a node that cannot serve so many blocks and ${what} for half of them, then slowly for more`, async () => {
      const widths: number[] = [];
      const store = newStore();
      await catchUp({
        ...options, store, rangeBlocks: 32,
        rpc: answeredBy(async (method, params, ask) => {
          if (method !== 'eth_getLogs') return await ask();
          widths.push(widthOf(params));
          if (widths.at(-1)! > 9) throw error;
          return await ask();
        }),
      });
      await assertAllTaken(store);
      assert.deepEqual(widths.slice(0, 6), [32, 16, 8, 10, 5, 7]);
    });
  }

  it('reads a single block that a node refuses again and again, without going past it', async () => {
    const store = newStore();
    let refused = 0;
    const scene = await startIndexer({
      ...options, store, rangeBlocks: 4,
      rpc: answeredBy(async (method, params, ask) => {
        if (method === 'eth_getLogs' && refused < 20) {
          refused += 1;
          assert.ok(refused < 4 || widthOf(params) === 1);
          throw new RpcError(method, -32_000, 'query timeout exceeded', undefined);
        }
        return await ask();
      }),
    });
    await until('it has failed for long', () => scene.indexer.status().failures > 10);
    assert.deepEqual(scene.indexer.status().lastError, 'eth_getLogs: query timeout exceeded');
    await assert.rejects(scene.indexer.advanceNow(), { name: 'ChainUnavailable' });
    await patiently(() => scene.indexer.advanceNow());
    await scene.stop();
    await assertAllTaken(store);
    assert.deepEqual(scene.reports, [
      'warn: chain 31337: reading waits: eth_getLogs: query timeout exceeded', 'info: chain 31337: reading goes on',
    ]);
  });

  it('a chain with blocks on demand that has lost recorded blocks is not waited for: it says so, and what to do', async () => {
    const store = newStore();
    const first = await startIndexer({ ...options, store });
    await first.indexer.advanceNow();
    await first.stop();
    const second = await startIndexer({
      ...options, store, stalledAfterMs: Infinity, rpc: answeredBy(async (method, _, ask) => method === 'eth_blockNumber' ? '0x5' : await ask()),
    });
    await assert.rejects(second.indexer.advanceNow());
    assert.match(second.indexer.status().stopped!, new RegExp('^chain 31337 contradicts the history: it ends at block 5, and the history has recorded block \\d+: '
      + 'the chain has lost its last blocks\\. .*Begin anew with an empty data directory \\(move DATA_DIR away\\), or bring back the chain\'s state\\.$'));
    assert.deepEqual(second.reports, [`alert: ${second.indexer.status().stopped}`]);
    await second.stop();
  });

  it('a node that is behind is waited for; what is recorded stays', async () => {
    const store = newStore();
    let behind = false;
    const scene = await startIndexer({
      ...options, store,
      rpc: answeredBy(async (method, _, ask) => {
        if (!behind) return await ask();
        return method === 'eth_blockNumber' ? '0x5' : null;
      }),
    });
    await scene.indexer.advanceNow();
    const commands = store.records.commands.length;
    behind = true;
    await until('the report', () => scene.reports.length === 1);
    assert.match(scene.reports[0]!, /^warn: chain 31337: a node's latest block is 5, but block \d+ was read before; waits until the node has it/);
    await scene.indexer.advanceNow();
    behind = false;
    await node.rpc('anvil_mine', ['0x3']);
    await scene.indexer.advanceNow();
    assert.equal(store.records.commands.length, commands + 1);
    await scene.stop();
    assert.equal(scene.reports.length, 1);
    await assertAllTaken(store);
  });

  it('a node that lacks blocks without all confirmations is ordinary; one that lacks a final block is reported', async () => {
    const latest = Number(await rpc.request<string>('eth_blockNumber', []));
    let shown = latest;
    const looks: number[] = [];
    const scene = await startIndexer({
      ...options, store: newStore(),
      rpc: answeredBy(async (method, _, ask) => {
        if (method !== 'eth_blockNumber') return await ask();
        looks.push(shown);
        return `0x${shown.toString(16)}`;
      }),
    });
    /** Resolves when the indexer has looked once more after a look that saw this block, so that it has judged it. */
    const lookedAt = async (block: number) => {
      shown = block;
      await until('two looks', () => looks.filter((each) => each === block).length >= 2);
    };
    await scene.indexer.advanceNow();
    await lookedAt(latest - node.chain.confirmations);
    await lookedAt(latest - node.chain.confirmations - 1);
    await scene.stop();
    assert.deepEqual(scene.reports.map((report) => report.split(';')[0]), [
      `warn: chain 31337: a node's latest block is ${latest - 3}, but block ${latest - 2} was read before`,
    ]);
  });

  it('a chain that stands still is told of once, and once more when it goes on', async () => {
    const clock = { now: Date.now() };
    const scene = await startIndexer({ ...options, store: newStore(), now: () => clock.now, stalledAfterMs: 60_000 });
    await scene.indexer.advanceNow();
    clock.now += 59_999;
    await scene.indexer.advanceNow();
    assert.deepEqual(scene.reports, []);
    clock.now += 1;
    await scene.indexer.advanceNow();
    clock.now += 600_000;
    await scene.indexer.advanceNow();
    const { latestBlock, stalled } = scene.indexer.status();
    assert.equal(stalled, true);
    await node.rpc('anvil_mine', ['0x1']);
    await until('it goes on', () => !scene.indexer.status().stalled);
    assert.deepEqual(scene.reports, [
      `alert: chain 31337: no new block for 60 s after block ${latestBlock}; fills wait until the chain goes on: check the chain and its nodes`,
      `info: chain 31337: the chain goes on with block ${latestBlock! + 1}`,
    ]);
    await scene.stop();
  });

  it('nodes that give no answer are a chain that stands still, too', async () => {
    const clock = { now: Date.now() };
    const scene = await startIndexer({
      ...options, store: newStore(), now: () => clock.now, stalledAfterMs: 60_000, rpc: answeredBy(() => Promise.reject(new ChainUnavailable(TEST_CHAIN_ID, 'down'))),
    });
    await assert.rejects(scene.indexer.advanceNow(), { name: 'ChainUnavailable', message: 'no node of chain 31337 answers: down' });
    clock.now += 60_000;
    await until('it is noticed', () => scene.indexer.status().stalled);
    assert.deepEqual(scene.reports.map((report) => report.split(';')[0]), [
      'warn: chain 31337: reading waits: no node of chain 31337 answers: down', 'alert: chain 31337: no new block for 60 s after block (none)',
    ]);
    await scene.stop();
  });

  it('quiet blocks reach the history now and then: by number, by time, and when asked', async () => {
    const clock = { now: Date.now() };
    const store = newStore();
    const scene = await startIndexer({ ...options, store, now: () => clock.now, advanceEvery: 20, advanceEveryMs: 60_000 });
    await scene.indexer.advanceNow();
    const start = scene.cursor()!.nextBlock;
    const mined = async (blocks: number) => {
      await node.rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
      const next = Number(await node.rpc('eth_blockNumber')) - 2 + 1;
      await until('the blocks are read', () => scene.indexer.status().nextBlock === next);
      return next;
    };
    await mined(19);
    assert.equal(scene.cursor()!.nextBlock, start);
    assert.equal(await mined(1), start + 20);
    await until('twenty blocks are told of', () => scene.cursor()!.nextBlock === start + 20);
    await mined(1);
    assert.equal(scene.cursor()!.nextBlock, start + 20);
    clock.now += 60_000;
    await mined(1);
    await until('a minute is told of', () => scene.cursor()!.nextBlock === start + 22);
    await mined(1);
    await Promise.all([scene.indexer.advanceNow(), scene.indexer.advanceNow()]);
    await scene.indexer.advanceNow();
    assert.equal(scene.cursor()!.nextBlock, start + 23);
    assert.deepEqual((await advances(store)).slice(-4), [start - 1, start + 19, start + 21, start + 22]);
    await scene.stop();
    await assert.rejects(scene.indexer.advanceNow(), { name: 'ChainUnavailable', message: /its indexer has stopped/ });
  });

  it('ends while a node is silent, and rejects the waiting calls', async () => {
    proxy.fate = () => 'hang';
    const scene = await startIndexer({ ...options, rpc: quickRpc([proxy.url], TEST_CHAIN_ID, 60_000), store: newStore() });
    const asked = scene.indexer.advanceNow();
    await Promise.all([assert.rejects(asked, { name: 'ChainUnavailable', message: /its indexer has stopped/ }), scene.stop()]);
    proxy.release();
  });

  it('before any block is final there is nothing to tell', async () => {
    const store = newStore();
    const chain = { ...node.chain, confirmations: 1_000_000 };
    const scene = await startIndexer({ ...options, chain, store });
    await until('a look', () => scene.indexer.status().latestBlock !== undefined);
    await assert.rejects(scene.indexer.advanceNow(), { name: 'ChainUnavailable', message: /no block after the recorded facts is final yet/ });
    await scene.stop();
    assert.deepEqual(scene.reports, []);
    assert.equal(store.records.commands.length, 0);
  });

  it('more logs than are good at once are asked for in smaller ranges', async () => {
    const widths: number[] = [];
    const many = (answer: Log[]) => Array.from({ length: 2_001 }, (_, i) => ({ ...answer[0], address: ZeroHash.slice(0, 42), logIndex: `0x${(i + 900).toString(16)}` }));
    const store = newStore();
    await catchUp({
      ...options, store,
      rpc: answeredBy(async (method, params, ask) => {
        const answer = await ask();
        if (method !== 'eth_getLogs') return answer;
        widths.push(widthOf(params));
        return widthOf(params) > 16 ? [...answer as Log[], ...many(answer as Log[])] : answer;
      }),
    });
    assert.ok(widths[0]! > 30 && widths.includes(Math.floor(widths[0]! / 2)));
    await assertAllTaken(store);
  });
});
