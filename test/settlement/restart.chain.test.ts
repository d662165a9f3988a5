/** Settlement where the process or the chain ends at the worst moment: after every step the next start goes on, and nothing settles twice. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { LogUnavailable } from '../../engine/log/log.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { answering, startRpcProxy, type RpcProxy } from '../support/proxies.js';
import { BUY, SELL, USDC, walletOf } from '../support/settlement-contracts.js';
import {
  assertEachSettledOnce, fundTraders, settlementWorld, startIndexer, startSettlement,
  type ProcessOptions, type SettlementProcess, type SettlementWorld,
} from '../harness/settlement-world.js';

describe('settlement after a restart', function () {
  this.timeout(120_000);
  const [alice, bob] = [walletOf('alice'), walletOf('bob')];
  let database: TestDatabase;
  let world: SettlementWorld;
  let proxy: RpcProxy;
  let running: SettlementProcess;
  let begin: { position: number; fill: number };
  let nonce = 0n;

  before(async () => {
    database = await testDatabase();
    world = await settlementWorld({ databaseUrl: database.url });
    proxy = await startRpcProxy(world.contracts.chain.url);
    await fundTraders(world, [alice, bob], 10_000n * USDC);
  });
  after(async () => {
    await proxy.close();
    await world.stop();
    await database.drop();
  });

  afterEach(async () => {
    proxy.fate = () => 'pass';
    await running.stop();
  });

  /** Three fills are sent together, however long it takes to match them. */
  async function start(options: ProcessOptions = {}, at: SettlementWorld = world): Promise<void> {
    running = await startSettlement(at, {
      url: proxy.url, ...options,
      settlement: { rules: { maxFills: 3, gatherMs: 3_600_000 }, timings: { retryMs: 10, maxRetryMs: 40 }, ...options.settlement },
    });
  }

  /** Bob sells, Alice buys share by share. */
  async function match(count: number): Promise<void> {
    const { position, nextFill } = running.replica.view;
    begin = { position, fill: nextFill };
    const order = (wallet: typeof alice, side: bigint, size: bigint) =>
      world.contracts.order(wallet, { marketId: world.marketId, side, nonce: ++nonce, size });
    await running.place(await order(bob, SELL, BigInt(count) * USDC));
    for (let i = 0; i < count; i++) await running.place(await order(alice, BUY, USDC));
    equal(running.replica.view.nextFill, begin.fill + count);
  }

  const shares = async () => (await world.contracts.balances(alice.address, world.marketId)).yes as bigint;
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => begin.fill + i);

  /** What was submitted, without repeats, once everything is settled. */
  async function finish(): Promise<(readonly number[])[]> {
    await running.settled();
    const { submitted } = await assertEachSettledOnce(running, begin.position);
    return [...new Map(submitted.map(({ txHash, fills }) => [txHash, fills])).values()];
  }

  const submittedOnce = (count: number) => running.until('the submission is recorded', async () => (
    (await running.events(begin.position)).filter(({ type }) => type === 'SettlementSubmitted').length >= count));

  /** A log in which the lane cannot record anything. */
  const unwritable = (asked: () => void) => ({
    append() {
      asked();
      return Promise.reject(new LogUnavailable(true));
    },
  });

  it('recorded by the lane, not by the history: the next start records it and sends it', async () => {
    let asked = 0;
    await start({ lane: { log: unwritable(() => { asked++; }) } });
    const before = await shares();
    await match(3);
    await running.until('the history is asked', () => asked > 1);
    await running.stop();
    equal(await shares(), before, 'nothing is sent before the history has it');
    await start();
    deepEqual(await finish(), [numbers(3)]);
    equal(await shares(), before + 3n * USDC);
  });

  for (const [what, fate] of [['the node did not get it', 'drop'], ['the node\'s answer was lost', 'lose']] as const) {
    it(`recorded, broadcast, but ${what}: the same transaction is sent again`, async () => {
      await start();
      const before = await shares();
      proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? fate : 'pass';
      await match(3);
      await running.until('it is broadcast', () => proxy.calls.includes('eth_sendRawTransaction'));
      await submittedOnce(1);
      await running.stop();
      proxy.fate = () => 'pass';
      await start();
      deepEqual(await finish(), [numbers(3)]);
      equal(await shares(), before + 3n * USDC);
    });
  }

  it('broadcast and not mined: it is followed on', async () => {
    const { chain } = world.contracts;
    await start();
    await chain.rpc('evm_setAutomine', [false]);
    await match(3);
    await running.until('the node has it', async () => ((await chain.rpc('txpool_status')) as { pending: string }).pending === '0x1');
    await running.stop();
    await start();
    const { sentFills } = await running.queue();
    ok(sentFills === 3 || sentFills === 0);
    await chain.rpc('evm_setAutomine', [true]);
    await chain.rpc('evm_mine');
    deepEqual(await finish(), [numbers(3)]);
  });

  /** As after a version that had no intake. */
  const forgetIntake = () => runSql(database.url, 'drop schema settlement cascade');

  const memories = [['', 'kept'], [', even when the outbox is lost', 'lost'], [', also at the first start with an intake', 'without intake']] as const;
  for (const [what, memory] of memories) {
    it(`mined and over, but the history does not have it: nothing is sent again${what}`, async () => {
      const before = await shares();
      const ended = await startIndexer(world);
      await start({ indexer: false });
      await running.caughtUp();
      await ended.stop();
      await match(3);
      await running.until('it is mined', async () => await shares() === before + 3n * USDC);
      await running.stop();
      if (memory === 'without intake') await forgetIntake();
      // The indexer comes late, in a process of its own: the lane has looked at the chain many times before.
      proxy.calls.length = 0;
      await start({ indexer: false }, memory !== 'lost' ? world : { ...world, databaseUrl: (await testDatabase()).url });
      await running.until('the lane has looked', () => proxy.calls.filter((method) => method === 'eth_getTransactionCount').length > 20);
      const indexing = await startIndexer(world);
      deepEqual(await finish(), [numbers(3)]);
      await indexing.stop();
      ok(!proxy.calls.includes('eth_sendRawTransaction'));
    });
  }

  it('requests in hand at the first start with an intake are followed, and what waited beside them is sent', async () => {
    let asked = 0;
    await start({ lane: { log: unwritable(() => { asked++; }) }, settlement: { rules: { gatherMs: 1, maxFills: 2 } } });
    await match(3);
    await running.until('the history is asked', async () => asked > 1 && (await running.queue()).sentFills > 0);
    await running.stop();
    await forgetIntake();
    await start();
    const submitted = await finish();
    deepEqual(submitted.flat().sort((a, b) => a - b), numbers(3));
  });

  it('a transaction with higher fees is recorded like the first one', async () => {
    const { chain } = world.contracts;
    await start({ lane: { policy: { bumpAfterMs: 0, bumpAfterBlocks: 2 } } });
    await chain.rpc('evm_setAutomine', [false]);
    proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? answering({ result: `0x${'00'.repeat(32)}` }) : 'pass';
    await match(3);
    await running.until('a second attempt', async () => {
      await chain.rpc('evm_mine');
      return (await running.events(begin.position)).filter(({ type }) => type === 'SettlementSubmitted').length >= 2;
    });
    proxy.fate = () => 'pass';
    await chain.rpc('evm_setAutomine', [true]);
    await chain.rpc('evm_mine');
    const submitted = await finish();
    ok(submitted.length >= 2);
    deepEqual(submitted, submitted.map(() => numbers(3)));
  });

  const manyFills: ProcessOptions = { settlement: { rules: { gatherMs: 20 } } };

  it('fills wait while the chain is away, and settle in order when it is back', async () => {
    await start(manyFills);
    proxy.fate = () => 'drop';
    await match(120);
    await running.until('it says what it waits for', async () => {
      const { waitingFills, sentFills, settlementProblem } = await running.queue();
      return waitingFills + sentFills === 120 && settlementProblem !== null;
    });
    proxy.fate = () => 'pass';
    const submitted = await finish();
    deepEqual(submitted.flat(), numbers(120));
    const settled = (await running.events(begin.position)).flatMap((event) => event.type === 'FillSettled' ? [event.fill] : []);
    deepEqual(settled, numbers(120));
  });

  it('a stop while the chain is away leaves nothing behind that the next start does not find', async () => {
    await start(manyFills);
    proxy.fate = () => 'drop';
    await match(60);
    await running.until('a batch is asked for', async () => {
      const { sentFills, settlementProblem } = await running.queue();
      return sentFills > 0 || settlementProblem !== null;
    });
    await running.stop();
    proxy.fate = () => 'pass';
    await start(manyFills);
    deepEqual((await finish()).flat(), numbers(60));
  });
});
