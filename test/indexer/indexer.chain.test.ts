/** The indexer on a real chain: catching up, restarts and crashes at every step, reorganisations, resets. */
import assert from 'node:assert/strict';
import { ZeroHash, id } from 'ethers';
import type { Chain } from '../../command/chain/chain.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { LogUnavailable } from '../../engine/log/log.js';
import { createMemoryLog, type MemoryStore } from '../../engine/log/memory/memory-log.js';
import { deployedChain, orderOf, type DeployedChain, type DeployedMarket } from '../support/deployed-chain.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { catchUp, newStore, quickRpc, sharesTaken, startIndexer, takenFacts, type IndexerScene, type IndexerSceneOptions } from './indexer-scene.js';
import { until } from '../support/until.js';

type Account = DeployedChain['operator'];

const CONFIRMATIONS = 3;

describe('the indexer on a chain', function () {
  this.timeout(120_000);
  let node: DeployedChain;
  let options: Omit<IndexerSceneOptions, 'store'>;
  let chain: Chain;
  before(async () => {
    node = await deployedChain({ chain: { confirmations: CONFIRMATIONS } });
    ({ chain } = node);
    options = { chain, rpc: quickRpc([node.url], TEST_CHAIN_ID) };
  });
  after(() => node.stop());
  beforeEach(() => {
    activities = 0;
    return node.reset();
  });

  let activities = 0;
  let miners = 0;
  const mine = (blocks: number) => node.rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
  /** The last blocks are others now, without the transactions: by a new miner, since an empty block of the same second would be the same. */
  const reorganise = async (depth: number) => {
    await node.rpc('anvil_setCoinbase', [`0x${(++miners).toString(16).padStart(40, '0')}`]);
    await node.rpc('anvil_reorg', [depth, []]);
  };
  const head = async () => Number(await node.rpc('eth_blockNumber'));

  /** A market and every kind of event in it, one transaction per block; resolves with the kinds of facts to expect. */
  async function activity(question = 'Will it rain?'): Promise<{ market: DeployedMarket; kinds: string[] }> {
    const [, alice, bob] = node.accounts as [unknown, Account, Account];
    const market = await node.createMarket({ question });
    await node.mint(alice, 1_000n);
    await node.split(alice, market, 600n);
    await node.send(alice, 'conditionalTokens', 'safeTransferFrom', [alice.address, bob.address, market.yesId, 250n, '0x']);
    await node.send(alice, 'conditionalTokens', 'safeBatchTransferFrom', [alice.address, bob.address, [market.yesId, market.noId], [0n, 100n], '0x']);
    await node.send(alice, 'conditionalTokens', 'mergePositions', [chain.contracts.collateral, ZeroHash, market.marketId, [1n, 2n], 50n]);
    await node.send(node.accounts[4 + activities++]!, 'settlement', 'scheduleCancelAll', [7n]);
    // A condition without a market: its shares do not matter.
    const foreign = [alice.address, id(question), 2n];
    await node.send(alice, 'conditionalTokens', 'prepareCondition', foreign);
    await node.split(alice, { marketId: await node.read('conditionalTokens', 'getConditionId', foreign) as string }, 10n);
    const order = orderOf(market, alice, 1n);
    await node.send(alice, 'settlement', 'cancelOrders', [[order]]);
    return { market, kinds: ['OpenMarket', 'RecordTransfer', 'RecordTransfer', 'RecordTransfer', 'RecordTransfer', 'CancelOrdersBelow', 'CancelOrder'] };
  }

  async function resolveMarket({ question = 'Will it rain?', payouts = [1n, 0n] } = {}): Promise<void> {
    const resolver = { address: chain.contracts.oracleResolver };
    await node.rpc('anvil_setBalance', [resolver.address, '0xde0b6b3a7640000']);
    await node.send(resolver, 'conditionalTokens', 'reportPayouts', [id(question), payouts]);
  }

  const kindsTaken = async (store: MemoryStore) => (await takenFacts(store)).map(({ kind }) => kind);

  /** What was reported, without the cancels of orders that this history does not have. */
  const newsOf = ({ reports }: IndexerScene): string[] =>
    reports.filter((report) => !/^info: .* facts were ignored .*: \d CancelOrder/.test(report));

  /** The history's shares are the chain's balances. */
  async function assertSharesEqualChain(store: MemoryStore, markets: readonly DeployedMarket[]): Promise<void> {
    const expected: Record<string, bigint> = {};
    for (const market of markets) {
      for (const account of node.accounts) {
        const { yes, no } = await node.sharesOf(account, market);
        [yes, no].forEach((amount, outcome) => {
          if (amount !== 0n) expected[`${account.address.toLowerCase()} ${market.marketId} ${outcome}`] = amount;
        });
      }
    }
    assert.deepEqual(await sharesTaken(store), expected);
  }

  it('catches up over many ranges, in the chain\'s order, and goes on live', async () => {
    const [first, second] = [await activity('one'), await activity('two')];
    await mine(CONFIRMATIONS);
    const store = newStore();
    const startedMs = Date.now();
    const scene = await startIndexer({ ...options, store, rangeBlocks: 3 });
    await scene.indexer.advanceNow();
    assert.deepEqual(await kindsTaken(store), [...first.kinds, ...second.kinds]);
    await assertSharesEqualChain(store, [first.market, second.market]);
    const latestBlock = await head();
    const finalBlock = latestBlock - CONFIRMATIONS;
    const { lookedAtMs, ...status } = scene.indexer.status();
    assert.ok(lookedAtMs! >= startedMs && lookedAtMs! <= Date.now());
    assert.deepEqual(status, {
      chainId: TEST_CHAIN_ID, latestBlock, finalBlock, nextBlock: finalBlock + 1, lagBlocks: 0, rangeBlocks: 3,
      stalled: false, contradicted: [], failures: 0, lastError: undefined, stopped: undefined,
    });
    await resolveMarket({ question: 'one' });
    await resolveMarket({ question: 'two', payouts: [0n, 1n] });
    await mine(CONFIRMATIONS);
    await until('both resolutions', async () => (await takenFacts(store)).length === 16);
    const resolved = (await takenFacts(store)).slice(14).map((command) => command.kind === 'ResolveMarket' && [command.marketId, command.winningOutcome]);
    assert.deepEqual(resolved, [[first.market.marketId, 0], [second.market.marketId, 1]]);
    await scene.stop();
    assert.deepEqual(newsOf(scene), []);
  });

  it('takes a block only with its confirmations on top', async () => {
    await node.createMarket();
    const block = await head();
    await mine(CONFIRMATIONS - 1);
    const store = newStore();
    const scene = await startIndexer({ ...options, store });
    await scene.indexer.advanceNow();
    assert.deepEqual([await kindsTaken(store), scene.cursor()?.nextBlock], [[], block]);
    await mine(1);
    await scene.indexer.advanceNow();
    assert.deepEqual([await kindsTaken(store), scene.cursor()?.nextBlock], [['OpenMarket'], block + 1]);
    await scene.stop();
  });

  it('killed before or after any request and any append, it has each fact once', async () => {
    const { market, kinds } = await activity();
    await mine(CONFIRMATIONS);
    let crashes = 0;
    for (const moment of ['before', 'after'] as const) {
      for (let step = 1, killed = true; killed; step++) {
        const store = newStore();
        killed = await killedAt(store, step, moment);
        if (killed) crashes += 1;
        await catchUp({ ...options, store, rangeBlocks: 8 });
        assert.deepEqual(await kindsTaken(store), kinds, `killed ${moment} step ${step}`);
        await assertSharesEqualChain(store, [market]);
      }
    }
    assert.ok(crashes > 20, `${crashes} crashes`);
  });

  /** Runs until the step, or to the end; whether it came to the step. */
  async function killedAt(store: MemoryStore, step: number, moment: 'before' | 'after'): Promise<boolean> {
    let steps = 0;
    const scene = await startIndexer({
      ...options, store, rangeBlocks: 8,
      async around(_, work, end) {
        steps += 1;
        if (steps < step) return await work();
        if (steps === step && moment === 'after') await work();
        end();
        throw new Error('the process is gone');
      },
    });
    await scene.indexer.advanceNow().catch(() => undefined);
    await scene.stop();
    return steps >= step;
  }

  it('facts that come twice, for the answer to their append was lost, are taken once', async () => {
    const { market, kinds } = await activity();
    await mine(CONFIRMATIONS);
    const store = newStore();
    await catchUp({
      ...options, store, rangeBlocks: 4,
      async around(what, work) {
        if (what === 'append') await work();
        return await work();
      },
    });
    assert.deepEqual(await kindsTaken(store), kinds);
    await assertSharesEqualChain(store, [market]);
    const known = store.records.outcomes.flatMap(({ data }) => decodeOutcome(data).events)
      .filter((event) => event.type === 'CommandRejected' && event.code === 'known_fact');
    assert.equal(known.length, store.records.commands.length / 2);
  });

  it('goes on behind nothing that was not written: every other append fails, before it is written or after, and the process lives', async () => {
    const { market, kinds } = await activity();
    await mine(CONFIRMATIONS);
    for (const written of [false, true]) {
      const store = newStore();
      let appends = 0;
      const scene = await startIndexer({
        ...options, store, rangeBlocks: 4,
        async around(what, work) {
          if (what !== 'append' || ++appends % 2 === 0) return await work();
          if (written) await work();
          throw new LogUnavailable(written);
        },
      });
      await until('the history has the final block', async () => await head() - CONFIRMATIONS === scene.cursor()?.block);
      await scene.stop();
      assert.deepEqual(await kindsTaken(store), kinds, written ? 'answers lost' : 'nothing written');
      await assertSharesEqualChain(store, [market]);
      assert.ok(appends >= 4, `${appends} appends`);
      assert.ok(scene.reports.some((report) => /^warn: chain 31337: reading waits: the log /.test(report)), scene.reports.join());
      assert.equal(scene.indexer.status().stopped, undefined);
    }
  });

  it('goes on in the middle of a block', async () => {
    const { market, kinds } = await activity();
    const trader = node.accounts[4]!;
    await node.send(trader, 'settlement', 'cancelOrders', [[1n, 2n, 3n].map((nonce) => orderOf(market, trader, nonce))]);
    await mine(CONFIRMATIONS);
    const whole = newStore();
    await catchUp({ ...options, store: whole });
    const facts = (await takenFacts(whole)).map((command) => ({ ...command, at: 1 }));
    assert.deepEqual(facts.map(({ kind }) => kind), [...kinds, 'CancelOrder', 'CancelOrder', 'CancelOrder']);
    const cut = newStore();
    const records = facts.slice(0, -2).map((command, i) => ({ id: recordId(`cut:${i}`), data: encodeCommand(command) }));
    await createMemoryLog(cut).append('commands', records);
    await catchUp({ ...options, store: cut });
    assert.deepEqual((await takenFacts(cut)).map((command) => ({ ...command, at: 1 })), facts);
    assert.equal(cut.records.commands.length, facts.length + 1, 'what the engine has is not even sent again');
  });

  it('a reorganisation of blocks that are not final has no effect', async () => {
    const { market, kinds } = await activity();
    await mine(CONFIRMATIONS);
    const store = newStore();
    const scene = await startIndexer({ ...options, store });
    await scene.indexer.advanceNow();
    await node.createMarket({ question: 'never' });
    await scene.indexer.advanceNow();
    const before = await node.rpc('eth_getBlockByNumber', ['latest', false]) as { hash: string };
    await reorganise(CONFIRMATIONS);
    const after = await node.rpc('eth_getBlockByNumber', ['latest', false]) as { hash: string };
    assert.notEqual(after.hash, before.hash);
    await mine(10);
    await scene.indexer.advanceNow();
    assert.equal(scene.cursor()?.nextBlock, await head() - CONFIRMATIONS + 1);
    assert.deepEqual(await kindsTaken(store), kinds);
    await assertSharesEqualChain(store, [market]);
    await scene.stop();
    assert.deepEqual(newsOf(scene), []);
  });

  it('a reorganisation between the requests for a range is noticed before anything is taken', async () => {
    const early = await activity();
    const unsettled: Chain = { ...chain, confirmations: 0 };
    for (const when of ['before', 'after'] as const) {
      const lost = await node.createMarket({ question: `lost ${when}` });
      const store = newStore();
      let reorganised = false;
      const scene = await catchUp({
        ...options, chain: unsettled, store,
        async around(what, work) {
          if (what !== 'eth_getLogs' || reorganised) return await work();
          reorganised = true;
          if (when === 'before') await reorganise(1);
          const answer = await work();
          if (when === 'after') await reorganise(1);
          return answer;
        },
      });
      assert.ok(reorganised);
      assert.ok(!(await takenFacts(store)).some((command) => 'marketId' in command && command.marketId === lost.marketId), when);
      assert.deepEqual(await kindsTaken(store), early.kinds);
      const news = newsOf(scene);
      assert.equal(news.length, 2);
      assert.match(news[0]!, /^warn: .* reading waits: the node's answer cannot be used: (block \d+ changed|its events are from a block)/);
      assert.match(news[1]!, /^info: chain 31337: reading goes on$/);
    }
  });

  it('a reorganisation deeper than the confirmations stops it for good, with nothing rewritten', async () => {
    await activity();
    await mine(CONFIRMATIONS);
    const store = newStore();
    const scene = await startIndexer({ ...options, store });
    await scene.indexer.advanceNow();
    const recorded = scene.cursor()!;
    const commands = store.records.commands.length;
    await reorganise(CONFIRMATIONS + 2);
    await mine(1);
    await scene.indexer.done;
    const { stopped } = scene.indexer.status();
    assert.match(stopped!, new RegExp(`^chain 31337 contradicts the history: block ${recorded.block} has hash 0x[0-9a-f]{64}, `
      + `where the history recorded ${recorded.blockHash}. Nothing was rewritten, .* deeper than its 3 confirmations: bring back`));
    assert.deepEqual(scene.reports.filter((report) => report.startsWith('alert')), [`alert: ${stopped}`]);
    await assert.rejects(scene.indexer.advanceNow(), { name: 'ChainUnavailable', message: `no node of chain 31337 answers: ${stopped}` });
    assert.deepEqual([scene.cursor(), store.records.commands.length], [recorded, commands]);
    await scene.stop();
    const again = await startIndexer({ ...options, store });
    await again.indexer.done;
    assert.deepEqual([again.indexer.status().stopped, store.records.commands.length], [stopped, commands]);
    await again.stop();
  });

  it('blocks read ahead of the history may change: nothing was taken from them, and they are read again', async () => {
    await activity();
    await mine(CONFIRMATIONS + 10);
    const store = newStore();
    const scene = await startIndexer({ ...options, store, advanceEveryMs: Infinity });
    await scene.indexer.advanceNow();
    await mine(5);
    const next = await head() - CONFIRMATIONS + 1;
    await until('the new blocks are read', () => scene.indexer.status().nextBlock === next);
    assert.equal(scene.cursor()!.nextBlock, next - 5);
    await reorganise(CONFIRMATIONS + 2);
    const market = await node.createMarket({ question: 'after' });
    await mine(CONFIRMATIONS);
    await scene.indexer.advanceNow();
    assert.ok((await takenFacts(store)).some((command) => command.kind === 'OpenMarket' && command.marketId === market.marketId));
    assert.equal(scene.indexer.status().stopped, undefined);
    assert.ok(scene.reports.some((report) => /^warn: .* changed although it was final; nothing of it was recorded/.test(report)));
    await scene.stop();
  });

  it('a chain that was reset is waited for while it is short, and refused once it is not', async () => {
    await activity();
    await mine(CONFIRMATIONS + 30);
    const store = newStore();
    await catchUp({ ...options, store });
    const commands = store.records.commands.length;
    const fresh = await deployedChain({ chain: { confirmations: CONFIRMATIONS } });
    const scene = await startIndexer({ ...options, chain: fresh.chain, rpc: quickRpc([fresh.url], TEST_CHAIN_ID), store });
    await until('the report', () => scene.reports.length > 0);
    const behind = /^warn: .* a node's latest block is \d+, but block \d+ was read before; waits until the node has it. If the chain was reset, /;
    assert.match(scene.reports[0]!, behind);
    const { failures, lastError } = scene.indexer.status();
    assert.equal(failures, 0);
    assert.match(lastError!, /^a node's latest block is \d+, but block \d+ was read before; /);
    await fresh.createMarket({ question: 'elsewhere' });
    await fresh.rpc('anvil_mine', ['0x64']);
    await scene.indexer.done;
    assert.match(scene.indexer.status().stopped!, /^chain 31337 contradicts the history/);
    assert.equal(store.records.commands.length, commands);
    await scene.stop();
    await fresh.stop();
  });
});
