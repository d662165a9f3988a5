/** A thousand fills, three in ten poisoned in five ways: the healthy settle, the poisoned fail for their reason, the innocent are back in place. */
import { deepEqual, equal } from 'node:assert/strict';
import type { Wallet } from 'ethers';
import type { Log } from '../../engine/log/log.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine } from '../../engine/run/stepping.js';
import { restingOrders } from '../../engine/rules/state.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { BUY, SELL, USDC, walletOf, type SignedOrder } from '../support/settlement-contracts.js';
import { fundTraders, ofType, settlementWorld, startSettlement, type SettlementProcess, type SettlementWorld } from '../harness/settlement-world.js';

const EACH = 60;
const PLAIN = 400;
const YES = 0n;
const NO = 1n;
const SHARE = USDC / 10n;
const CANCEL_DELAY_S = 120;
const EXPIRES_IN_S = 100;

/** What is wrong with one side's trader or order, and what the chain says of it. */
interface Poison {
  readonly name: string;
  readonly count: number;
  readonly side: bigint;
  readonly reason: string;
  readonly spoil?: (order: SignedOrder) => SignedOrder;
  readonly expires?: true;
}

const POISONS: readonly Poison[] = [
  { name: 'drained', count: EACH, side: BUY, reason: 'buyer_insufficient_balance' },
  { name: 'revoked', count: EACH, side: BUY, reason: 'buyer_insufficient_allowance' },
  { name: 'empty-handed', count: EACH, side: SELL, reason: 'seller_insufficient_shares' },
  { name: 'cancelling', count: EACH / 2, side: BUY, reason: 'order_cancelled' },
  { name: 'late', count: EACH / 2, side: BUY, reason: 'order_expired', expires: true },
  {
    name: 'forging', count: EACH, side: BUY, reason: 'invalid_signature',
    spoil: (order) => ({ ...order, signature: `${order.signature.slice(0, 10)}${order.signature[10] === '0' ? '1' : '0'}${order.signature.slice(11)}` }),
  },
];

describe('settlement: poisoned fills', function () {
  this.timeout(300_000);
  const healthy = Array.from({ length: 8 }, (_, i) => walletOf(`healthy ${i}`));
  let database: TestDatabase;
  let world: SettlementWorld;
  let running: SettlementProcess;
  let nonce = 0n;

  before(async () => {
    database = await testDatabase();
    world = await settlementWorld({ databaseUrl: database.url });
    await fundTraders(world, [...healthy, ...POISONS.map(({ name }) => walletOf(name))], 100n * USDC);
  });
  after(async () => {
    await running.stop();
    await world.stop();
    await database.drop();
  });

  const next = (): Wallet => healthy[Number(nonce) % healthy.length]!;

  /** Places an order of another trader than the last one; gives its number and how many fills it made. */
  async function place(wallet: Wallet, side: bigint, outcome: bigint, { size = SHARE, poison }: { size?: bigint; poison?: Poison } = {}) {
    const expiration = poison?.expires ? { expiration: BigInt(await world.contracts.now() + EXPIRES_IN_S) } : {};
    const signed = await world.contracts.order(wallet, { marketId: world.marketId, side, outcome, size, nonce: ++nonce, ...expiration });
    const { position, outcome: { events } } = await running.place(poison?.spoil?.(signed) ?? signed);
    equal(events[0]?.type, 'OrderAccepted');
    return { signed, number: position, fills: ofType(events, 'FillMatched').map(({ fill }) => fill) };
  }

  /** What was matched: the poisoned fills' reasons by number, the innocent orders by outcome, the orders that are to be cancelled on the chain. */
  async function matchAll() {
    const poisoned = new Map<number, string>();
    const innocent: { orderHash: string; number: number; outcome: bigint }[] = [];
    const cancelled: SignedOrder[] = [];
    for (const poison of POISONS) {
      const outcome = poison.side === BUY ? YES : NO;
      const innocentSide = poison.side === BUY ? SELL : BUY;
      for (let i = 0; i < poison.count; i++) {
        const maker = await place(next(), innocentSide, outcome, { size: 2n * SHARE });
        const bad = await place(walletOf(poison.name), poison.side, outcome, { poison });
        const good = await place(next(), poison.side, outcome);
        equal(bad.fills.length + good.fills.length, 2);
        poisoned.set(bad.fills[0]!, poison.reason);
        innocent.push({ orderHash: maker.signed.hash, number: maker.number, outcome });
        if (poison.name === 'cancelling') cancelled.push(bad.signed);
      }
    }
    for (let i = 0; i < PLAIN; i++) {
      const outcome = i % 2 === 0 ? YES : NO;
      await place(next(), i % 3 === 0 ? SELL : BUY, outcome);
      equal((await place(next(), i % 3 === 0 ? BUY : SELL, outcome)).fills.length, 1);
    }
    return { poisoned, innocent, cancelled };
  }

  /** The traders do on the chain what makes their fills fail. */
  async function poisonAll(cancelled: readonly SignedOrder[]): Promise<void> {
    const { contracts } = world;
    const address = (name: string) => walletOf(name).address;
    await contracts.send(address('drained'), contracts.usdc, 'transfer', [healthy[0]!.address, 100n * USDC]);
    await contracts.send(address('revoked'), contracts.usdc, 'approve', [contracts.settlement.address, 0n]);
    const token = await contracts.positionId(world.marketId, Number(NO));
    await contracts.send(address('empty-handed'), contracts.tokens, 'safeTransferFrom', [
      address('empty-handed'), healthy[0]!.address, token, 100n * USDC, '0x',
    ]);
    await contracts.send(address('cancelling'), contracts.settlement, 'cancelOrders', [cancelled.map(({ order }) => order)]);
    await contracts.timeIs(await contracts.now() + Math.max(CANCEL_DELAY_S, EXPIRES_IN_S) + 1);
  }

  it('of 1,000 fills, 700 settle and 300 fail, each for its reason; the innocent orders rest at their old places', async () => {
    running = await startSettlement(world, { settlement: { rules: { maxFills: 10_000, gatherMs: 3_600_000 } } });
    const { poisoned, innocent, cancelled } = await matchAll();
    const younger: { number: number; outcome: bigint }[] = [];
    for (const [side, outcome] of [[SELL, YES], [BUY, NO], [SELL, YES]] as const) {
      younger.push({ number: (await place(next(), side, outcome)).number, outcome });
    }
    const fills = running.replica.view.nextFill;
    deepEqual([fills, poisoned.size], [1_000, 300]);
    await poisonAll(cancelled);
    await running.caughtUp();
    const before = await sharesOf();
    await running.stop();

    running = await startSettlement(world);
    await running.settled();
    const events = await running.events();
    const failed = ofType(events, 'FillFailed');
    deepEqual(new Map(failed.map(({ fill, reason }) => [fill, reason])), poisoned);
    deepEqual(new Set(failed.map(({ reason, culprit }) => `${reason} ${culprit}`)), new Set(POISONS.map(({ reason, side }) => (
      `${reason} ${side === BUY ? 'buyer' : 'seller'}`))));
    const settled = ofType(events, 'FillSettled').map(({ fill }) => fill).sort((a, b) => a - b);
    deepEqual(settled, Array.from({ length: fills }, (_, fill) => fill).filter((fill) => !poisoned.has(fill)));

    const { state } = await replayed(running.log);
    for (const { orderHash } of innocent) {
      const { status, remaining } = running.replica.view.order(orderHash)!;
      deepEqual({ status, remaining }, { status: 'open', remaining: String(SHARE) });
    }
    const resting = [...restingOrders(state, state.markets[0]!)]
      .map((slot) => ({ number: state.orders.number(slot), outcome: BigInt(state.orders.outcome(slot)) }));
    const of = (outcome: bigint, orders: readonly { number: number; outcome: bigint }[]) =>
      orders.filter((order) => order.outcome === outcome).map(({ number }) => number);
    deepEqual([of(YES, resting), of(NO, resting)], [of(YES, [...innocent, ...younger]), of(NO, [...innocent, ...younger])]);

    const moved = new Map<string, bigint>();
    for (const { buyer, seller, outcome, size } of ofType(events, 'FillSettled')) {
      for (const [trader, change] of [[buyer, BigInt(size)], [seller, -BigInt(size)]] as const) {
        moved.set(`${trader} ${outcome}`, (moved.get(`${trader} ${outcome}`) ?? 0n) + change);
      }
    }
    deepEqual(await sharesOf(), new Map([...before].map(([key, amount]) => [key, amount + (moved.get(key) ?? 0n)])));
  });

  /** Shares on the chain by trader and outcome. */
  async function sharesOf(): Promise<Map<string, bigint>> {
    const shares = new Map<string, bigint>();
    for (const { address } of [...healthy, ...POISONS.map(({ name }) => walletOf(name))]) {
      const { yes, no } = await world.contracts.balances(address, world.marketId);
      shares.set(`${address.toLowerCase()} 0`, yes as bigint).set(`${address.toLowerCase()} 1`, no as bigint);
    }
    return shares;
  }
});

/** An engine with the history as the log has it. */
async function replayed(log: Log): Promise<Engine> {
  const engine = createEngine();
  for (;;) {
    const page = await log.read('commands', engine.state.position, 1_000);
    if (page.length === 0) return engine;
    for (const { data } of page) engine.step(data);
  }
}
