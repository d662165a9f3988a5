/** Long random histories on the chain, held against the rules' model and against what must always be true. */
import assert from 'node:assert/strict';
import { ZeroHash, id } from 'ethers';
import { costOf } from '../engine/amounts.js';
import type { Fill } from '../contracts-abi/settlement.js';
import { SELL, USDC, results, settlementContracts, walletOf, type Sent, type SettlementContracts } from './settlement-contracts.js';
import { key, settleInModel, type Model, type ModelOrder, type ModelTrader } from './settlement-model.js';

const STEPS = 110;
const SEEDS = [1, 20_261];
const DELAY = 120;
const LARGE = 10n ** 15n;
const BOTH = [1n, 2n];
const wallets = ['a', 'b', 'c', 'd'].map(walletOf);

type Random = (below: number) => number;

describe('contracts: invariants', function () {
  this.timeout(60_000);
  let contracts: SettlementContracts;
  let snapshot: string;
  before(async () => { contracts = await settlementContracts(); });
  after(() => contracts.stop());
  beforeEach(async () => { snapshot = await contracts.snapshot(); });
  afterEach(() => contracts.revertTo(snapshot));

  for (const seed of SEEDS) {
    it(`hold over ${STEPS} random steps, seed ${seed}`, async () => {
      const history = await begin(contracts, randomOf(seed));
      for (let step = 0; step < STEPS; step += 1) {
        const [name, act] = history.choose();
        const sent = await act();
        await history.check(`seed ${seed}, step ${step}: ${name}`, sent);
      }
      const outcomes = [...history.seen];
      assert.ok(outcomes.includes('settled') && outcomes.length > 6, `a poor history: ${outcomes.join(', ')}`);
    });
  }
});

/** A small generator with a seed (mulberry32). */
function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Traders with means and two markets, on the chain and in the model. */
async function begin(contracts: SettlementContracts, random: Random) {
  const { send, usdc, tokens, settlement, prepare, fund, stock, now } = contracts;
  const questions = new Map([[contracts.marketId, contracts.questionId], [await prepare(id('second')), id('second')]]);
  const markets = [...questions.keys()];
  const model: Model = { traders: new Map(), orders: [], resolved: new Map(), used: new Set() };
  for (const { address } of wallets) {
    await fund(address, 30n * USDC, LARGE);
    for (const marketId of markets) await stock(address, marketId, 10n * USDC);
    const shares = new Map(markets.flatMap((marketId) => [0, 1].map((outcome) => [key(marketId, outcome), 10n * USDC] as const)));
    model.traders.set(address, { usdc: 30n * USDC, allowance: LARGE, approved: true, shares, floor: 0n, pendingFloor: 0n, floorAt: 0 });
  }
  const positions = await Promise.all(markets.flatMap((marketId) => [0, 1].map(async (outcome) => (
    { name: key(marketId, outcome), id: await contracts.positionId(marketId, outcome) }))));
  let time = await now();
  let lastSeq = 0n;
  const minted = 50n * USDC * BigInt(wallets.length);
  const seen = new Set<string>();

  const pick = <T>(from: readonly T[]): T => from[random(from.length)]!;
  const amount = () => BigInt(1 + random(6_000_000));
  const tick = async (seconds = 1 + random(20)) => {
    time += seconds;
    await contracts.nextBlockAt(time);
  };
  /** Sends at the next tick. The model follows only what the chain accepted. */
  const act = async (from: string, to: typeof usdc, method: string, args: readonly unknown[], onDone: (trader: ModelTrader) => void) => {
    await tick();
    const sent = await send(from, to, method, args);
    if (sent.ok) onDone(model.traders.get(from)!);
    return sent;
  };
  const moveSet = (trader: ModelTrader, marketId: string, change: bigint) => {
    for (const outcome of [0, 1]) trader.shares.set(key(marketId, outcome), trader.shares.get(key(marketId, outcome))! + change);
    trader.usdc -= change;
  };

  const newOrder = async (): Promise<undefined> => {
    const wallet = pick(wallets);
    const fields = {
      marketId: pick(markets), side: BigInt(random(2)), outcome: BigInt(random(2)), price: BigInt(400_000 + random(200_000)), size: amount(),
      nonce: BigInt(1 + random(20)), expiration: BigInt(time + 30 + random(3_000)),
    };
    const signed = random(12) > 0;
    const { signature, ...order } = await contracts.order(signed ? wallet : pick(wallets.filter((other) => other !== wallet)), { ...fields, trader: wallet.address });
    model.orders.push({ ...order, signature, signed, filled: 0n, cancelAt: 0 } as ModelOrder);
    return undefined;
  };
  const newFill = (): Fill => {
    const buys = model.orders.flatMap(({ order }, index) => order.side === SELL ? [] : [index]);
    const buyIndex = buys.length > 0 ? pick(buys) : 0;
    const buy = model.orders[buyIndex]!.order;
    const fitting = model.orders.flatMap(({ order: sell }, index) =>
      sell.side === SELL && sell.marketId === buy.marketId && sell.outcome === buy.outcome && sell.trader !== buy.trader && sell.price <= buy.price ? [index] : []);
    const sellIndex = fitting.length > 0 && random(10) > 0 ? pick(fitting) : random(model.orders.length + 1);
    const sellPrice = model.orders[sellIndex]?.order.price ?? 500_000n;
    const room = buy.price > sellPrice ? Number(buy.price - sellPrice) : 0;
    const seq = random(8) === 0 ? BigInt(random(Number(lastSeq) + 1)) : lastSeq += 1n;
    return { seq, buyIndex: BigInt(buyIndex), sellIndex: BigInt(sellIndex), price: sellPrice + BigInt(random(room + 1)), size: amount() / 2n + 1n };
  };
  const batch = async () => {
    if (model.orders.length === 0) return undefined;
    const fills = Array.from({ length: 1 + random(6) }, newFill);
    await tick();
    const sent = await contracts.settle({ orders: model.orders, fills });
    const expected = settleInModel(model, fills, time);
    assert.deepEqual(results(sent), expected);
    for (const line of expected) seen.add(line.replace(/^\d+ /, ''));
    return sent;
  };

  const steps: readonly (readonly [weight: number, name: string, act: () => Promise<Sent | undefined>])[] = [
    [8, 'order', newOrder],
    [9, 'batch', batch],
    [2, 'split', () => {
      const [marketId, value] = [pick(markets), amount()];
      return act(pick(wallets).address, tokens, 'splitPosition', [usdc.address, ZeroHash, marketId, BOTH, value], (trader) => { moveSet(trader, marketId, value); });
    }],
    [2, 'merge', () => {
      const [marketId, value] = [pick(markets), amount()];
      return act(pick(wallets).address, tokens, 'mergePositions', [usdc.address, ZeroHash, marketId, BOTH, value], (trader) => { moveSet(trader, marketId, -value); });
    }],
    [1, 'payment', () => {
      const [to, value] = [pick(wallets).address, amount() * 3n];
      return act(pick(wallets).address, usdc, 'transfer', [to, value], (trader) => {
        trader.usdc -= value;
        model.traders.get(to)!.usdc += value;
      });
    }],
    [1, 'approval', () => {
      const approved = random(3) > 0;
      return act(pick(wallets).address, tokens, 'setApprovalForAll', [settlement.address, approved], (trader) => { trader.approved = approved; });
    }],
    [1, 'allowance', () => {
      const allowance = pick([LARGE, LARGE, amount(), 0n]);
      return act(pick(wallets).address, usdc, 'approve', [settlement.address, allowance], (trader) => { trader.allowance = allowance; });
    }],
    [2, 'cancel', () => {
      const order = model.orders.length > 0 ? pick(model.orders) : undefined;
      if (order === undefined) return Promise.resolve(undefined);
      return act(order.order.trader, settlement, 'cancelOrders', [[order.order]], () => {
        for (const same of model.orders) if (same.hash === order.hash && same.cancelAt === 0) same.cancelAt = time + DELAY;
      });
    }],
    [1, 'cancel of all', () => {
      const belowNonce = BigInt(random(12));
      return act(pick(wallets).address, settlement, 'scheduleCancelAll', [belowNonce], (trader) => {
        Object.assign(trader, { floor: trader.pendingFloor, pendingFloor: belowNonce, floorAt: time + DELAY });
      });
    }],
    [1, 'time', () => tick(random(150) + 1).then(() => undefined)],
    [1, 'redemption', () => {
      const marketId = pick(markets);
      return act(pick(wallets).address, tokens, 'redeemPositions', [usdc.address, ZeroHash, marketId, BOTH], (trader) => {
        trader.usdc += trader.shares.get(key(marketId, model.resolved.get(marketId)!))!;
        for (const outcome of [0, 1]) trader.shares.set(key(marketId, outcome), 0n);
      });
    }],
  ];
  const weighted = steps.flatMap(([weight, name, step]) => Array(weight).fill([name, step] as const) as (readonly [string, typeof newOrder | typeof batch])[]);
  let chosen = 0;

  return {
    seen,
    /** One market is resolved on the way. */
    choose(): readonly [string, () => Promise<Sent | undefined>] {
      chosen += 1;
      if (chosen < 8) return ['order', newOrder];
      if (chosen !== Math.floor(STEPS * 0.7)) return pick(weighted);
      return ['resolution', async () => {
        await tick();
        model.resolved.set(markets[1]!, random(2));
        return await contracts.resolve(model.resolved.get(markets[1]!)!, questions.get(markets[1]!));
      }];
    },
    check: (at: string, sent: Sent | undefined) => checkAll({ contracts, model, markets, positions, minted, at, sent }),
  };
}

/** Everything that must hold after every step. */
async function checkAll({ contracts, model, markets, positions, minted, at, sent }: {
  contracts: SettlementContracts; model: Model; markets: readonly string[]; positions: readonly { name: string; id: bigint }[]; minted: bigint; at: string;
  sent: Sent | undefined;
}): Promise<void> {
  const { usdc, tokens, settlement } = contracts;
  const addresses = [...model.traders.keys()];
  const settled = sent?.events.filter(({ event }) => event === 'FillSettled').map(({ args }) => args) ?? [];
  const touched = settled.flatMap(({ buyOrder, sellOrder }) => [buyOrder, sellOrder]) as string[];
  const answers = await contracts.readAll(contracts.deployed.multicall, [
    ...addresses.map((address) => [tokens, 'balanceOfBatch', [positions.map(() => address), positions.map((position) => position.id)]] as const),
    ...[...addresses, tokens.address, settlement.address].map((address) => [usdc, 'balanceOf', [address]] as const),
    ...touched.map((hash) => [settlement, 'filled', [hash]] as const),
  ]);
  const supply = new Map<string, bigint>();
  for (const [index, address] of addresses.entries()) {
    const held = answers[index] as readonly bigint[];
    const named = positions.map(({ name }, position) => [name, held[position]!] as const);
    assert.deepEqual(Object.fromEntries(named), Object.fromEntries(model.traders.get(address)!.shares), `${at}: shares of ${address}`);
    for (const [name, shares] of named) supply.set(name, (supply.get(name) ?? 0n) + shares);
  }
  const money = answers.slice(addresses.length, 2 * addresses.length + 2) as bigint[];
  const [inSettlement, inTokens] = [money.pop(), money.pop()];
  assert.deepEqual(money, addresses.map((address) => model.traders.get(address)!.usdc), `${at}: collateral`);
  let sets = 0n;
  for (const marketId of markets) {
    const winner = model.resolved.get(marketId);
    if (winner === undefined) assert.equal(supply.get(key(marketId, 0)), supply.get(key(marketId, 1)), `${at}: incomplete sets`);
    sets += supply.get(key(marketId, winner ?? 0))!;
  }
  assert.equal(inTokens, sets, `${at}: collateral held and complete sets outstanding`);
  assert.equal(money.reduce((sum, balance) => sum + balance, sets), minted, `${at}: money made or lost`);
  assert.equal(inSettlement, 0n, `${at}: collateral left in the settlement`);
  for (const { buyOrder, sellOrder, price, size, cost } of settled) {
    const [buy, sell] = [buyOrder, sellOrder].map((hash) => model.orders.find((order) => order.hash === hash)!.order);
    assert.ok(sell!.price <= (price as bigint) && (price as bigint) <= buy!.price, `${at}: a fill beyond a limit`);
    assert.equal(cost, costOf(size as bigint, Number(price)), `${at}: cost`);
  }
  for (const [index, hash] of touched.entries()) {
    const filled = answers[2 * addresses.length + 2 + index] as bigint;
    const { order, cancelAt } = model.orders.find((each) => each.hash === hash)!;
    assert.ok(filled > 0n && filled <= order.size, `${at}: filled ${filled} of ${order.size}, cancelled at ${cancelAt}`);
  }
}
