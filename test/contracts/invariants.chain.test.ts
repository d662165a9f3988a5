/** Long random histories on the chain, held against the rules' model and against what must always be true. */
import assert from 'node:assert/strict';
import { costOf } from '../../engine/records/amounts.js';
import { settlementContracts, type Sent, type SettlementContracts } from '../support/settlement-contracts.js';
import { SettlementHistory } from '../support/settlement-history.js';
import { key } from '../reference/settlement-model.js';

const STEPS = 110;
const SEEDS = [1, 20_261];

describe('contracts: invariants', function () {
  this.timeout(120_000);
  let contracts: SettlementContracts;
  let snapshot: string;
  before(async () => { contracts = await settlementContracts(); });
  after(() => contracts.stop());
  beforeEach(async () => { snapshot = await contracts.snapshot(); });
  afterEach(() => contracts.revertTo(snapshot));

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
