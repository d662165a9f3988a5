/** Settlement on a real chain with everything real: signed orders in, batches out, results in the history; and what goes wrong on the chain. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { QUEUE_RULES } from '../../command/settlement/rules.js';
import type { FillMatched } from '../../engine/records/events.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { BUY, SELL, USDC, walletOf, type SignedOrder } from '../support/settlement-contracts.js';
import {
  assertEachSettledOnce, fundTraders, ofType, settlementWorld, startSettlement, type SettlementProcess, type SettlementWorld, type ProcessOptions,
} from '../harness/settlement-world.js';

describe('settlement on a chain', function () {
  this.timeout(120_000);
  let database: TestDatabase;
  let world: SettlementWorld;
  let running: SettlementProcess;
  /** Where the test's events begin, and its fills' numbers. */
  let begin: { position: number; fill: number };
  let nonce = 0n;
  let [alice, bob, carol] = [walletOf('alice'), walletOf('bob'), walletOf('carol')];

  before(async () => {
    database = await testDatabase();
    world = await settlementWorld({ databaseUrl: database.url });
    await fundTraders(world, [alice], 1_000n * USDC);
  });
  after(async () => {
    await world.stop();
    await database.drop();
  });

  beforeEach(async function () {
    const own = (name: string) => walletOf(`${name}: ${this.currentTest!.title}`);
    [alice, bob, carol] = [own('alice'), own('bob'), own('carol')];
    await fundTraders(world, [alice, bob], 1_000n * USDC);
    running = await startSettlement(world, { indexer: false });
    const { position, nextFill } = running.replica.view;
    begin = { position, fill: nextFill };
    await running.stop();
  });
  afterEach(() => running.stop());

  const start = async (options: ProcessOptions = {}): Promise<void> => { running = await startSettlement(world, options); };
  const order = (wallet: typeof alice, side: bigint, fields: Partial<SignedOrder['order']> = {}): Promise<SignedOrder> =>
    world.contracts.order(wallet, { marketId: world.marketId, side, nonce: ++nonce, ...fields });

  /** A resting sell of Bob's for `count` shares, bought by Alice share by share. */
  async function matches(count: number): Promise<FillMatched[]> {
    await running.place(await order(bob, SELL, { size: BigInt(count) * USDC }));
    const fills: FillMatched[] = [];
    for (let i = 0; i < count; i++) {
      const { outcome } = await running.place(await order(alice, BUY));
      fills.push(...ofType(outcome.events, 'FillMatched'));
    }
    equal(fills.length, count);
    return fills;
  }

  /** Fills are sent when there are so many, however long that takes. */
  const together = (maxFills: number): ProcessOptions => ({ settlement: { rules: { maxFills, gatherMs: 3_600_000 } } });
  const waits = (count: number) => running.until(`${count} fills wait`, async () => (await running.queue()).waitingFills === count);

  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => begin.fill + from + i);
  const balances = async (wallet: typeof alice) => world.contracts.balances(wallet.address, world.marketId);
  const YES = (amount: bigint, spent: bigint) => ({ usdc: (1_000n * USDC) - spent, yes: 1_000n * USDC + amount, no: 1_000n * USDC });

  const nothingIsLeft = async () => isDeepStrictEqual(await running.queue(), {
    chainId: 31_337, waitingFills: 0, sentFills: 0, settlementProblem: null, oldestWaitingS: null,
  });

  const assertSettledOnce = () => assertEachSettledOnce(running, begin.position);

  it('sends a fill at once when none was sent before it', async () => {
    await start({ settlement: { rules: { gatherMs: 3_600_000, quietMs: 250 } } });
    await matches(1);
    await running.settled();
    await assertSettledOnce();
  });

  it('settles matched fills in order, 50 a transaction and the rest after 250 ms', async () => {
    await start(together(50));
    await matches(50);
    await running.settled();
    await matches(7);
    await waits(7);
    await running.stop();
    await start();
    await running.settled();
    const { submitted } = await assertSettledOnce();
    deepEqual(submitted.map(({ chainId, fills }) => ({ chainId, fills })), [
      { chainId: 31_337, fills: numbers(0, 50) }, { chainId: 31_337, fills: numbers(50, 57) },
    ]);
    deepEqual([await balances(alice), await balances(bob)], [YES(57n * USDC, 57n * 600_000n), YES(-57n * USDC, -57n * 600_000n)]);
    await running.until('nothing is left to do', nothingIsLeft);
  });

  it('fills of one order may go over several transactions', async () => {
    await start({ settlement: { rules: { maxFills: 3, gatherMs: 10 } } });
    await matches(10);
    await running.settled();
    const { submitted } = await assertSettledOnce();
    ok(submitted.length >= 4 && submitted.every(({ fills }) => fills.length <= 3));
    deepEqual(await balances(bob), YES(-10n * USDC, -10n * 600_000n));
  });

  it('a permit that came with an order is used in the transaction of its first fill', async () => {
    await start();
    await world.contracts.send(carol.address, world.contracts.usdc, 'mint', [carol.address, 10n * USDC]);
    const permit = { ...await world.contracts.permit(carol, { value: 10n * USDC }), nonce: 0n };
    await running.place(await order(carol, BUY, { size: 2n * USDC }), permit);
    for (let i = 0; i < 2; i++) {
      await running.place(await order(bob, SELL));
      await running.settled();
    }
    await assertSettledOnce();
    deepEqual(await balances(carol), { usdc: 10n * USDC - 1_200_000n, yes: 2n * USDC, no: 0n });
  });

  it('a fill that fails takes none of its batch along', async () => {
    await start(together(3));
    await running.place(await order(bob, SELL, { size: 3n * USDC }));
    await running.place(await order(alice, BUY));
    await running.place(await order(carol, BUY));
    await running.place(await order(alice, BUY));
    await running.settled();
    const events = await running.events(begin.position);
    deepEqual(ofType(events, 'FillSettled').map(({ fill }) => fill - begin.fill), [0, 2]);
    deepEqual(ofType(events, 'FillFailed').map(({ fill, reason, culprit }) => ({ fill: fill - begin.fill, reason, culprit })), [
      { fill: 1, reason: 'buyer_insufficient_balance', culprit: 'buyer' },
    ]);
    deepEqual(ofType(events, 'SettlementSubmitted').map(({ fills }) => fills), [numbers(0, 3)]);
  });

  it('transactions that revert as a whole are tried again in smaller batches until it is over, with an alert', async () => {
    await start({ settlement: { rules: { gatherMs: 1, pauseMs: 5, maxPauseMs: 40, maxSlowPauseMs: 40 } } });
    const { settlement, send, read, operator: admin } = world.contracts;
    const role = await read(settlement, 'OPERATOR_ROLE');
    await send(admin, settlement, 'revokeRole', [role, world.operator.address]);
    await matches(20);
    await running.until('so many have reverted that they go slowly', async () => (
      ofType(await running.events(begin.position), 'SettlementSubmitted').length > QUEUE_RULES.slowAfter));
    await send(admin, settlement, 'grantRole', [role, world.operator.address]);
    await running.settled();
    await assertSettledOnce();
    ok(running.reports.some((report) => /^alert: chain 31337, settlement request .* reverted as a whole/.test(report)));
    deepEqual(await balances(alice), YES(20n * USDC, 20n * 600_000n));
    await running.until('nothing is left to do', nothingIsLeft);
  });

  it('fills wait untouched while the collateral is paused, with an alert, and settle when it is not', async () => {
    await start({ settlement: { rules: { gatherMs: 1, pauseMs: 5, maxPauseMs: 40, maxSlowPauseMs: 40 } } });
    const { usdc, send, operator: admin } = world.contracts;
    await send(admin, usdc, 'pause');
    await matches(20);
    await running.until('it is told', () => running.reports.some((report) => (
      /^alert: chain 31337, settlement request .* left all its \d+ fills untouched/.test(report))));
    await send(admin, usdc, 'unpause');
    await running.settled();
    await assertSettledOnce();
    deepEqual(await balances(alice), YES(20n * USDC, 20n * 600_000n));
    await running.until('nothing is left to do', nothingIsLeft);
  });

  it('what a transaction had too little gas for is sent again', async () => {
    let requests = 0;
    await start({ ...together(10), altered: (request) => requests++ === 0 ? { ...request, gasLimit: 600_000n } : request });
    await matches(10);
    await running.settled();
    const { submitted } = await assertSettledOnce();
    deepEqual(submitted[0]?.fills, numbers(0, 10));
    ok(submitted.length > 1);
    ok(running.reports.some((report) => /^warn: .* did not reach \d of its 10 fills/.test(report)), running.reports.join('\n'));
  });

  it('settles on a chain whose blocks have less gas than a full batch; what the lane refuses all the same goes in halves', async () => {
    const blocksOf = async (gas: number) => {
      await world.contracts.chain.rpc('evm_setBlockGasLimit', [`0x${gas.toString(16)}`]);
      await world.contracts.chain.rpc('evm_mine');
    };
    let requests = 0;
    try {
      await start(together(50));
      await matches(20);
      await waits(20);
      await running.stop();
      await blocksOf(2_000_000);
      await start({ altered: (request) => requests++ === 0 ? { ...request, gasLimit: 2_000_001n } : request });
      await running.settled();
      const { submitted } = await assertSettledOnce();
      ok(submitted.length >= 4 && submitted.every(({ fills }) => fills.length <= 6), JSON.stringify(submitted));
      equal(running.reports.length, 1);
      match(running.reports[0]!, /^warn: chain 31337: .* [56] fills cannot be sent; its fills go in smaller batches: .* block gas limit 2000000$/);
    } finally {
      await blocksOf(30_000_000);
    }
  });

  it('a batch that is sent twice settles once', async () => {
    const data: string[] = [];
    await start({ altered: (request) => { data.push(request.data); return request; } });
    await matches(5);
    await running.settled();
    const before = [await balances(alice), await balances(bob)];
    for (const call of data) {
      await world.contracts.chain.rpc('eth_sendTransaction', [{ from: world.contracts.operator, to: world.chain.contracts.settlement, data: call, gasPrice: '0x0' }]);
    }
    await running.caughtUp();
    await assertSettledOnce();
    deepEqual([await balances(alice), await balances(bob)], before);
  });

  it('a false anchor stops what settles, until the settings pass it over: then also the fills that its own transaction settled are settled', async () => {
    const txHash = await falselyAnchored();
    const told = new RegExp(`^chain 31337 contradicts the history: transaction ${txHash} of ${world.operator.address.toLowerCase()} `);
    match((await running.indexing()).stopped!, told);
    deepEqual(ofType(await running.events(begin.position), 'FillSettled'), []);
    equal([...running.replica.view.unsettledFills({ chainId: 31_337, from: 0 })].length, 3);
    await running.stop();
    await rejects(start(), { name: 'CannotStart', message: told });
    running = await startSettlement({ ...world, chain: { ...world.chain, passOverAnchors: [txHash] } }, together(2));
    await running.settled();
    await matches(2);
    await running.settled();
    const { submitted } = await assertSettledOnce();
    deepEqual(submitted.map(({ fills }) => fills), [numbers(0, 3), numbers(3, 5)]);
    equal(submitted[0]!.txHash, txHash);
    deepEqual(ofType(await running.events(begin.position), 'AnchorPassedOver').map((event) => event.txHash), [txHash]);
    deepEqual(await balances(alice), YES(5n * USDC, 5n * 600_000n));
  });

  /** Has three fills settled by a transaction that anchors another history: what somebody with the operator's key can send. Returns its hash. */
  async function falselyAnchored(): Promise<string> {
    const digestAt = 2 + 2 * (4 + 5 * 32);
    await start({
      ...together(3),
      altered: (request) => ({ ...request, data: `${request.data.slice(0, digestAt)}${'de'.repeat(32)}${request.data.slice(digestAt + 64)}` }),
    });
    await matches(3);
    await running.until('it has stopped', async () => (await running.indexing()).stopped !== null);
    const [submitted] = ofType(await running.events(begin.position), 'SettlementSubmitted');
    return submitted!.txHash;
  }
});
