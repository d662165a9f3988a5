/** Whether the history follows a chain, as a process without an indexer finds out. */
import assert from 'node:assert/strict';
import { ChainUnavailable, type Chain, type Rpc } from '../../command/chain/chain.js';
import type { ChainCursor } from '../../engine/run/view.js';
import { watchChain, type ChainWatch } from '../../command/chain/chain-watch.js';
import { turnsUntil } from '../support/until.js';

const hash = (block: number, version = 0) => `0x${(block * 16 + version).toString(16).padStart(64, '0')}`;
const recorded = (block: number): ChainCursor => ({ nextBlock: block + 1, nextLog: 0, block, blockHash: hash(block) });

const address = `0x${'c0'.repeat(20)}`;
const chain: Chain = {
  chainId: 5, name: 'five', testnet: true, confirmations: 2, startBlock: 0, domainName: 'Settlement', exposureCheck: false,
  contracts: {
    settlement: address, conditionalTokens: address, collateral: address, marketFactory: address, oracle: address, oracleResolver: address,
    quickResolver: address, multicall: address,
  },
};

describe('service: the watch over a chain', () => {
  let latest: number;
  let version: number;
  let cursor: ChainCursor | undefined;
  let away: boolean;
  let asked: number;
  let stopped: string | undefined;
  let nowMs: number;
  let stopping: AbortController;
  let watch: ChainWatch;

  beforeEach(() => {
    [latest, version, away, asked, stopped, nowMs, stopping] = [10, 0, false, 0, undefined, 0, new AbortController()];
    cursor = recorded(8);
    const rpc: Rpc = {
      chainId: 5,
      request<T>(method: string, [block]: readonly unknown[]): Promise<T> {
        if (away) return Promise.reject(new ChainUnavailable(5, 'nobody answers'));
        if (method === 'eth_blockNumber') return Promise.resolve(`0x${latest.toString(16)}` as T);
        return Promise.resolve({ number: block, hash: hash(Number(block), version) } as T);
      },
    };
    watch = watchChain({
      access: {
        chain, rpc, signal: stopping.signal, startAttempts: () => ({ failures: 0, stopped }),
        configured: { chain, rpcUrls: [], operatorKey: '', pollMs: 5_000, stalledAfterMs: Infinity },
      },
      view: { cursor: () => cursor }, now: () => nowMs,
      askToAdvance() {
        asked += 1;
        nowMs += 100;
      },
    });
  });
  afterEach(() => { stopping.abort(); });

  it('has caught up when the history has the final block, and then asks nobody', async () => {
    await watch.catchUp();
    await watch.verify();
    assert.deepEqual([asked, watch.problem(), watch.latestBlock()], [0, undefined, 10]);
  });

  it('asks the indexer to record the final block, and waits until the history has it, with all its facts', async () => {
    latest = 12;
    const caughtUp = watch.catchUp();
    let over = false;
    void caughtUp.then(() => { over = true; });
    await turnsUntil('the indexer to be asked', () => asked > 0);
    cursor = { ...recorded(8), nextBlock: 9, nextLog: 3 };
    watch.stepped();
    await new Promise(setImmediate);
    assert.equal(over, false, 'the facts of a block come in');
    cursor = recorded(10);
    watch.stepped();
    await caughtUp;
  });

  it('gives up when nobody records it', async () => {
    latest = 12;
    const pushing = setInterval(() => {
      nowMs += 400;
      watch.stepped();
    }, 1);
    await assert.rejects(watch.catchUp(), /no node of chain 5 answers: block 10 has not been recorded within 10 s: is an indexer running\?/);
    clearInterval(pushing);
  });

  it('does not believe a chain that lacks the recorded block, or has another one there', async () => {
    version = 1;
    await assert.rejects(watch.verify(), /it does not have block 8 as the history recorded it/);
    await assert.rejects(watch.catchUp(), /it does not have block 8/);
    await assert.rejects(watch.catchUp(), ChainUnavailable);
    assert.match(watch.problem()!, /it does not have block 8/);
    version = 0;
    await watch.verify();
    assert.equal(watch.problem(), undefined);
  });

  it('says that the chain is away after three failed looks, and that it was given up at once', async () => {
    away = true;
    for (let i = 0; i < 3; i++) await assert.rejects(watch.verify(), /nobody answers/);
    assert.match(watch.problem()!, /nobody answers/);
    away = false;
    stopped = 'other contracts';
    assert.equal(watch.problem(), 'other contracts');
    await assert.rejects(watch.verify(), /other contracts/);
  });

  it('notices that nobody has recorded a final block for a minute', async () => {
    latest = 20;
    await watch.verify();
    nowMs = 60_001;
    await assert.rejects(watch.verify(), /no process records it: is an indexer running\?/);
    assert.equal(watch.problem(), 'no process records it');
    cursor = recorded(18);
    await watch.verify();
    assert.equal(watch.problem(), undefined);
  });
});
