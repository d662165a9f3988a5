/** Long random histories on the chain, held against the rules' model and against what must always be true. */
import assert from 'node:assert/strict';
import { ZeroHash, id } from 'ethers';
import type { Fill } from '../../contracts-abi/settlement.js';
import { costOf } from '../../engine/records/amounts.js';
import { key, settleInModel, type Model, type ModelOrder, type ModelTrader } from '../reference/settlement-model.js';
import { createDice } from '../support/random-commands.js';
import {
  onSettlementContracts, type Sent, type SettlementContracts, BUY, SELL, USDC, results, walletOf, type Target,
} from '../support/settlement-contracts.js';

const DELAY = 120;
const LARGE = 10n ** 15n;
const BOTH = [1n, 2n];
const WALLETS = ['a', 'b', 'c', 'd'].map(walletOf);

/** How often each step is chosen. */
const WEIGHTS = {
  order: 8, batch: 9, split: 2, merge: 2, payment: 1, approval: 1, allowance: 1, cancel: 2, cancelAll: 1, time: 1, redemption: 1, resolution: 0,
} as const;
type Step = keyof typeof WEIGHTS;

/** A random history of traders, orders and batches, lived on the chain and in the model of the rules at once. */
class SettlementHistory {
  readonly model: Model = { traders: new Map(), orders: [], resolved: new Map(), used: new Set() };
  /** How often fills came to what. */
  readonly outcomes = new Map<string, number>();
  readonly minted = 50n * USDC * BigInt(WALLETS.length);
  private lastSeq = 0n;
  private readonly random: (below: number) => number;

  private constructor(
    private readonly contracts: SettlementContracts, private time: number, seed: number,
    readonly markets: readonly string[], readonly positions: readonly { readonly name: string; readonly id: bigint }[],
  ) {
    this.random = createDice(seed).below;
  }

  /** Four traders with 30 USDC and 10 complete sets of either market. */
  static async begin(contracts: SettlementContracts, seed: number): Promise<SettlementHistory> {
    const markets = [contracts.marketId, await contracts.prepare(id('second'))];
    const positions = await Promise.all(markets.flatMap((marketId) => [0, 1].map(async (outcome) => (
      { name: key(marketId, outcome), id: await contracts.positionId(marketId, outcome) }))));
    for (const { address } of WALLETS) {
      await contracts.fund(address, 30n * USDC, LARGE);
      for (const marketId of markets) await contracts.stock(address, marketId, 10n * USDC);
    }
    const history = new SettlementHistory(contracts, await contracts.now(), seed, markets, positions);
    for (const { address } of WALLETS) {
      const shares = new Map(positions.map(({ name }) => [name, 10n * USDC]));
      history.model.traders.set(address, { usdc: 30n * USDC, allowance: LARGE, approved: true, shares, floor: 0n, pendingFloor: 0n, floorAt: 0 });
    }
    return history;
  }

  choose(): Step {
    return this.pick(Object.entries(WEIGHTS).flatMap(([step, weight]) => Array<Step>(weight).fill(step as Step)));
  }

  /** Takes the step and gives its transaction, if it has one. The model follows what the chain accepted. */
  async act(step: Step): Promise<Sent | undefined> {
    const { usdc, tokens, settlement } = this.contracts;
    const { address } = this.pick(WALLETS);
    const marketId = this.pick(this.markets);
    const value = this.amount();
    const set = [usdc.address, ZeroHash, marketId, BOTH];
    switch (step) {
      case 'order': return await this.order(marketId);
      case 'batch': return await this.batch();
      case 'split': return await this.send(address, tokens, 'splitPosition', [...set, value], (trader) => { this.moveSet(trader, marketId, value); });
      case 'merge': return await this.send(address, tokens, 'mergePositions', [...set, value], (trader) => { this.moveSet(trader, marketId, -value); });
      case 'payment': return await this.pay(address, this.pick(WALLETS).address, value * 3n);
      case 'approval': {
        const approved = this.random(3) > 0;
        return await this.send(address, tokens, 'setApprovalForAll', [settlement.address, approved], (trader) => { trader.approved = approved; });
      }
      case 'allowance': {
        const allowance = this.pick([LARGE, LARGE, value, 0n]);
        return await this.send(address, usdc, 'approve', [settlement.address, allowance], (trader) => { trader.allowance = allowance; });
      }
      case 'cancel': return await this.cancel();
      case 'cancelAll': return await this.cancelAll(address, BigInt(this.random(5)));
      case 'time': return await this.tick(this.random(150) + 1);
      case 'redemption': return await this.send(address, tokens, 'redeemPositions', set, (trader) => { this.redeem(trader, marketId); });
      case 'resolution': return await this.resolve(this.random(2));
    }
  }

  private async order(marketId: string): Promise<undefined> {
    const { address: trader } = this.pick(WALLETS);
    const signed = this.random(12) > 0;
    const signer = this.pick(WALLETS.filter(({ address }) => (address === trader) === signed));
    const order = await this.contracts.order(signer, {
      trader, marketId, side: BigInt(this.random(2)), outcome: BigInt(this.random(2)), price: BigInt(400_000 + this.random(200_000)),
      size: this.amount(), nonce: BigInt(1 + this.random(20)), expiration: BigInt(this.time + 30 + this.random(4_000)),
    });
    this.model.orders.push({ ...order, signed, filled: 0n, cancelAt: 0 });
  }

  private async batch(): Promise<Sent> {
    const fills = Array.from({ length: 1 + this.random(6) }, () => this.fill());
    await this.tick();
    const sent = await this.contracts.settle({ orders: this.model.orders, fills });
    const expected = settleInModel(this.model, fills, this.time);
    assert.deepEqual(results(sent), expected);
    for (const line of expected) {
      const outcome = line.replace(/^\d+ /, '');
      this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    }
    return sent;
  }

  /** Mostly of orders that cross, for what is left of both, at a price between theirs; now and then of a number that was used. */
  private fill(): Fill {
    const { orders } = this.model;
    const crosses = ({ order: buy }: ModelOrder, { order: sell }: ModelOrder) => buy.side === BUY && sell.side === SELL
      && buy.marketId === sell.marketId && buy.outcome === sell.outcome && buy.trader !== sell.trader && sell.price <= buy.price;
    const isOpen = ({ filled, order }: ModelOrder) => filled < order.size && order.expiration > this.time;
    const crossing = orders.flatMap((buy, buyIndex) => orders.flatMap((sell, sellIndex) =>
      crosses(buy, sell) && isOpen(buy) && isOpen(sell) ? [[buyIndex, sellIndex] as const] : []));
    const wild = crossing.length === 0 || this.random(8) === 0;
    const [buyIndex, sellIndex] = wild ? [this.random(orders.length), this.random(orders.length + 1)] as const : this.pick(crossing);
    const [buy, sell] = [orders[buyIndex]!, orders[sellIndex] ?? orders[buyIndex]!];
    const room = Number(buy.order.price > sell.order.price ? buy.order.price - sell.order.price : 0n);
    const left = [buy, sell].map(({ filled, order }) => Number(order.size - filled));
    const size = this.random(10) === 0 ? this.amount() : BigInt(1 + this.random(Math.min(...left) + 1));
    const seq = this.random(12) === 0 ? BigInt(this.random(Number(this.lastSeq) + 1)) : this.lastSeq += 1n;
    return { seq, buyIndex: BigInt(buyIndex), sellIndex: BigInt(sellIndex), price: sell.order.price + BigInt(this.random(room + 1)), size };
  }

  private async pay(from: string, to: string, value: bigint): Promise<Sent> {
    return await this.send(from, this.contracts.usdc, 'transfer', [to, value], (trader) => {
      trader.usdc -= value;
      this.model.traders.get(to)!.usdc += value;
    });
  }

  private async cancel(): Promise<Sent> {
    const { order, hash } = this.pick(this.model.orders);
    return await this.send(order.trader, this.contracts.settlement, 'cancelOrders', [[order]], () => {
      for (const same of this.model.orders) if (same.hash === hash && same.cancelAt === 0) same.cancelAt = this.time + DELAY;
    });
  }

  private async cancelAll(address: string, belowNonce: bigint): Promise<Sent> {
    return await this.send(address, this.contracts.settlement, 'scheduleCancelAll', [belowNonce], (trader) => {
      Object.assign(trader, { floor: trader.pendingFloor, pendingFloor: belowNonce, floorAt: this.time + DELAY });
    });
  }

  private redeem(trader: ModelTrader, marketId: string): void {
    trader.usdc += trader.shares.get(key(marketId, this.model.resolved.get(marketId)!))!;
    for (const outcome of [0, 1]) trader.shares.set(key(marketId, outcome), 0n);
  }

  /** The second market's. */
  private async resolve(outcome: number): Promise<Sent> {
    await this.tick();
    this.model.resolved.set(this.markets[1]!, outcome);
    return await this.contracts.resolve(outcome, id('second'));
  }

  private async send(from: string, to: Target, method: string, args: readonly unknown[], onDone: (trader: ModelTrader) => void): Promise<Sent> {
    await this.tick();
    const sent = await this.contracts.send(from, to, method, args);
    if (sent.ok) onDone(this.model.traders.get(from)!);
    return sent;
  }

  private async tick(seconds = 1 + this.random(20)): Promise<undefined> {
    this.time += seconds;
    await this.contracts.nextBlockAt(this.time);
  }

  private moveSet(trader: ModelTrader, marketId: string, change: bigint): void {
    for (const outcome of [0, 1]) trader.shares.set(key(marketId, outcome), trader.shares.get(key(marketId, outcome))! + change);
    trader.usdc -= change;
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.random(from.length)]!;
  }

  private amount(): bigint {
    return BigInt(1 + this.random(6_000_000));
  }
}

const STEPS = 110;
const SEEDS = [1, 20_261];

describe('contracts: invariants', function () {
  this.timeout(120_000);
  let contracts: SettlementContracts;
  onSettlementContracts((begun) => { contracts = begun; });

  for (const seed of SEEDS) {
    it(`hold over ${STEPS} random steps, seed ${seed}`, async () => {
      const history = await SettlementHistory.begin(contracts, seed);
      for (let step = 0; step < STEPS; step += 1) {
        const name = step < 8 ? 'order' : step === Math.floor(STEPS * 0.7) ? 'resolution' : history.choose();
        const sent = await history.act(name);
        await check(contracts, history, sent, `seed ${seed}, step ${step}: ${name}`);
      }
      const { outcomes } = history;
      assert.ok(outcomes.get('settled')! >= 20 && outcomes.size >= 8, `a poor history: ${JSON.stringify([...outcomes])}`);
    });
  }
});

/** Everything that must hold after every step. */
async function check(contracts: SettlementContracts, history: SettlementHistory, sent: Sent | undefined, at: string): Promise<void> {
  const { usdc, tokens, settlement } = contracts;
  const { model, positions, markets } = history;
  const addresses = [...model.traders.keys()];
  const answers = await contracts.readAll(contracts.deployed.multicall, [
    ...addresses.map((address) => [tokens, 'balanceOfBatch', [positions.map(() => address), positions.map(({ id }) => id)]] as const),
    ...[...addresses, tokens.address, settlement.address].map((address) => [usdc, 'balanceOf', [address]] as const),
  ]);
  const supply = new Map<string, bigint>();
  for (const [index, address] of addresses.entries()) {
    const held = answers[index] as readonly bigint[];
    const named = positions.map(({ name }, position) => [name, held[position]!] as const);
    assert.deepEqual(Object.fromEntries(named), Object.fromEntries(model.traders.get(address)!.shares), `${at}: shares of ${address}`);
    for (const [name, shares] of named) supply.set(name, (supply.get(name) ?? 0n) + shares);
  }
  const money = answers.slice(addresses.length) as bigint[];
  const [inSettlement, inTokens] = [money.pop(), money.pop()];
  assert.deepEqual(money, addresses.map((address) => model.traders.get(address)!.usdc), `${at}: collateral`);
  let sets = 0n;
  for (const marketId of markets) {
    const winner = model.resolved.get(marketId);
    if (winner === undefined) assert.equal(supply.get(key(marketId, 0)), supply.get(key(marketId, 1)), `${at}: incomplete sets`);
    sets += supply.get(key(marketId, winner ?? 0))!;
  }
  assert.equal(inTokens, sets, `${at}: collateral held and complete sets outstanding`);
  assert.equal(money.reduce((sum, balance) => sum + balance, sets), history.minted, `${at}: money made or lost`);
  assert.equal(inSettlement, 0n, `${at}: collateral left in the settlement`);
  if (sent !== undefined) await checkFills(contracts, history, sent, at);
}

/** No fill is beyond a limit or a size, and what the buyer pays is what the seller gets. */
async function checkFills(contracts: SettlementContracts, { model }: SettlementHistory, { events }: Sent, at: string): Promise<void> {
  const { settlement, deployed, readAll } = contracts;
  const settled = events.filter(({ event }) => event === 'FillSettled').map(({ args }) => args);
  const paid = events.filter(({ event }) => event === 'Transfer').map(({ args }) => args);
  const orderOf = (hash: unknown) => model.orders.find((order) => order.hash === hash)!;
  for (const [index, { buyOrder, sellOrder, price, size, cost }] of settled.entries()) {
    const [buy, sell] = [orderOf(buyOrder).order, orderOf(sellOrder).order];
    assert.ok(sell.price <= (price as bigint) && (price as bigint) <= buy.price, `${at}: a fill beyond a limit`);
    assert.equal(cost, costOf(size as bigint, Number(price)), `${at}: cost`);
    assert.deepEqual(paid[index], { from: buy.trader, to: sell.trader, value: cost }, `${at}: paid`);
  }
  const touched = [...new Set(settled.flatMap(({ buyOrder, sellOrder }) => [buyOrder, sellOrder]))];
  const filled = await readAll(deployed.multicall, touched.map((hash) => [settlement, 'filled', [hash]] as const)) as bigint[];
  assert.deepEqual(filled, touched.map((hash) => orderOf(hash).filled), `${at}: filled`);
  for (const [index, hash] of touched.entries()) assert.ok(filled[index]! <= orderOf(hash).order.size, `${at}: filled beyond the size`);
}
