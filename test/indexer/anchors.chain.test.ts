/** Anchors of the history on a real chain: this history's, another one's, and false ones of a leaked key, which settings pass over. */
import assert from 'node:assert/strict';
import { ZeroHash, id } from 'ethers';
import type { Chain } from '../../command/chain/chain.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { createMemoryLog, type MemoryStore } from '../../engine/log/memory/memory-log.js';
import { deployedChain, sendAnchoredBatch, type DeployedChain, type DeployedMarket, type AnchoredBatch } from '../support/deployed-chain.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { catchUp, newStore, quickRpc, startIndexer, takenFacts, type IndexerSceneOptions } from './indexer-scene.js';

const CONFIRMATIONS = 3;

describe('the indexer and anchors', function () {
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
  beforeEach(() => node.reset());

  const mine = (blocks: number) => node.rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
  const head = async () => Number(await node.rpc('eth_blockNumber'));
  const kindsTaken = async (store: MemoryStore) => (await takenFacts(store)).map(({ kind }) => kind);
  const settleBatch = (batch: AnchoredBatch) => sendAnchoredBatch(node, batch);

  /** A market and a few shares that move; resolves with the kinds of facts to expect. */
  async function activity(): Promise<{ market: DeployedMarket; kinds: string[] }> {
    const [, alice, bob] = node.accounts;
    const market = await node.createMarket();
    await node.mint(alice!, 100n);
    await node.split(alice!, market, 100n);
    for (const amount of [1n, 2n]) await node.send(alice!, 'conditionalTokens', 'safeTransferFrom', [alice!.address, bob!.address, market.yesId, amount, '0x']);
    return { market, kinds: ['OpenMarket', 'RecordTransfer', 'RecordTransfer', 'RecordTransfer'] };
  }

  it('anchors of this history pass; another history\'s stop it before the range\'s facts are taken', async () => {
    const { market, kinds } = await activity();
    await mine(CONFIRMATIONS);
    const store = newStore();
    await catchUp({ ...options, store });
    const digestAt = (position: number) => decodeOutcome(store.records.outcomes[position]!.data).digest;
    await settleBatch({ market, seq: 0n, position: 2n, digest: digestAt(2) });
    await mine(CONFIRMATIONS);
    await catchUp({ ...options, store });
    assert.deepEqual(await kindsTaken(store), [...kinds, 'FailFill']);
    const anchors = [[2n, digestAt(3)], [BigInt(store.records.outcomes.length) + 100n, digestAt(2)], [2n ** 64n - 1n, digestAt(2)]] as const;
    for (const [i, [position, digest]] of anchors.entries()) {
      const before = await node.rpc('evm_snapshot');
      await settleBatch({ market, seq: BigInt(i + 1), position: position, digest: digest });
      await mine(CONFIRMATIONS);
      const { length } = store.records.commands;
      const scene = await startIndexer({ ...options, store });
      await scene.indexer.done;
      const known = position === 2n ? digestAt(2) : 'nothing';
      const said = `anchors digest ${digest} at position ${position}, where the history has ${known}. Nothing was rewritten`;
      assert.ok(scene.indexer.status().stopped!.includes(said), scene.indexer.status().stopped);
      assert.equal(store.records.commands.length, length);
      await scene.stop();
      await node.rpc('evm_revert', [before]);
    }
  });

  it('an anchor that a leaked key made stops it, also after restarts and without the role, until the settings pass it over: then no fact is missing', async () => {
    const { market, kinds } = await activity();
    await mine(CONFIRMATIONS);
    const store = newStore();
    await catchUp({ ...options, store });
    const leaked = node.accounts[8]!;
    await node.send(node.operator, 'settlement', 'grantRole', [id('OPERATOR_ROLE'), leaked.address]);
    const digest = `0x${'de'.repeat(32)}`;
    const txHash = await settleBatch({ market, seq: 5n, position: 2n, digest: digest, from: leaked });
    const block = await head();
    const second = await settleBatch({ market, seq: 6n, position: 2n ** 64n - 1n, digest: digest, from: leaked });
    await node.send(node.accounts[7]!, 'settlement', 'scheduleCancelAll', [9n]);
    await mine(CONFIRMATIONS);
    const { length } = store.records.commands;
    const stops = async (pattern: RegExp, passOverAnchors: readonly string[] = []) => {
      const scene = await startIndexer({ ...options, chain: { ...chain, passOverAnchors }, store });
      await scene.indexer.done;
      assert.match(scene.indexer.status().stopped!, pattern);
      assert.equal(store.records.commands.length, length, 'nothing of the range is recorded');
      await scene.stop();
    };
    const first = new RegExp(`: transaction ${txHash} of ${leaked.address.toLowerCase()} in block ${block} anchors .* take the operator role from the sender, then name `
      + `the transaction in \`passOverAnchors\` .* So do, in the blocks up to ${block + 1}: ${second}\\.$`);
    await stops(first);
    await stops(first);
    await node.send(node.operator, 'settlement', 'revokeRole', [id('OPERATOR_ROLE'), leaked.address]);
    await mine(CONFIRMATIONS);
    await stops(first);
    await stops(new RegExp(`: transaction ${second} of [^.]*\\. .* recorded all the same\\.$`), [txHash]);

    const audited: Chain = { ...chain, passOverAnchors: [txHash, second] };
    const scene = await catchUp({ ...options, chain: audited, store });
    assert.deepEqual(await kindsTaken(store), [...kinds, 'FailFill', 'PassOverAnchor', 'FailFill', 'PassOverAnchor', 'CancelOrdersBelow']);
    const events = store.records.outcomes.flatMap((record) => decodeOutcome(record.data).events);
    assert.deepEqual(events.filter(({ type }) => type === 'AnchorPassedOver'), [
      { type: 'AnchorPassedOver', v: 1, chainId: TEST_CHAIN_ID, txHash, position: '2', digest },
      { type: 'AnchorPassedOver', v: 1, chainId: TEST_CHAIN_ID, txHash: second, position: String(2n ** 64n - 1n), digest },
    ]);
    assert.equal(scene.reports[0], `info: chain 31337: its settings pass over the anchors of 2 transactions: ${txHash}, ${second}`);
    assert.equal(scene.reports.filter((report) => report.startsWith('warn: chain 31337: passes over the anchor of transaction ')).length, 2);
    const { length: after } = store.records.commands;
    assert.deepEqual((await catchUp({ ...options, chain: audited, store })).reports, [scene.reports[0]], 'the setting is told at each start');
    assert.equal((await takenFacts(store)).length, kinds.length + 5);
    assert.ok(store.records.commands.length <= after + 1, 'an AdvanceChain at most');
    await catchUp({ ...options, store });
    assert.equal((await takenFacts(store)).length, kinds.length + 5, 'what is recorded needs the setting no longer');
  });

  it('what was passed over is not judged again, though the history ends in the middle of its block', async () => {
    const market = await node.createMarket();
    const txHash = await settleBatch({ market, seq: 0n, position: 7n, digest: ZeroHash });
    await node.send(node.accounts[7]!, 'settlement', 'scheduleCancelAll', [9n]);
    await mine(CONFIRMATIONS);
    const whole = newStore();
    await catchUp({ ...options, chain: { ...chain, passOverAnchors: [txHash] }, store: whole });
    const facts = await takenFacts(whole);
    assert.deepEqual(facts.map(({ kind }) => kind), ['OpenMarket', 'FailFill', 'PassOverAnchor', 'CancelOrdersBelow']);
    const cut = newStore();
    await createMemoryLog(cut).append('commands', facts.slice(0, 3).map((command, i) => ({ id: recordId(`cut:${i}`), data: encodeCommand(command) })));
    await catchUp({ ...options, store: cut });
    assert.deepEqual((await takenFacts(cut)).map(({ kind }) => kind), facts.map(({ kind }) => kind));
  });
});
