/** What traders have promised, folded event by event, against the engine's own orders and fills added up. */
import assert from 'node:assert/strict';
import { reservationOf, createReservations, type Reservation } from '../../command/chain/reservations.js';
import { UNIT } from '../../engine/records/amounts.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine } from '../../engine/run/stepping.js';
import { viewOf } from '../../engine/run/view.js';
import { openOrdersOf } from '../../engine/run/open-orders.js';
import { unsettledFills } from '../../engine/run/unsettled-fills.js';
import { extent, SEED } from '../support/extent.js';
import { crowd, pile, type Profile } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';

type Sums = Map<string, { claim: Reservation; amount: bigint }>;

/** Every promise of a chain's traders by adding up all open orders and all unsettled fills. */
function addedUp({ state }: Engine, chainId: number): Sums {
  const sums: Sums = new Map();
  const add = (claim: Reservation): void => {
    const key = claim.kind === 'collateral' ? claim.trader : `${claim.trader}/${claim.marketId}/${claim.outcome}`;
    sums.set(key, { claim, amount: (sums.get(key)?.amount ?? 0n) + claim.amount });
  };
  for (const { address } of state.traders) {
    for (const order of openOrdersOf(state, address)) {
      if (order.chainId === chainId) add(reservationOf({ ...order, trader: address, size: order.remaining }));
    }
  }
  for (const { marketId, outcome, size, cost, buyer, seller } of unsettledFills(state, { chainId, from: 0 })) {
    add({ trader: buyer, kind: 'collateral', amount: cost * UNIT });
    add({ trader: seller, kind: 'shares', marketId, outcome, amount: size });
  }
  return sums;
}

function compare(seed: number, profile: Profile, commands: number): void {
  const engine = createEngine();
  const { state } = engine;
  const view = viewOf(engine);
  const generator = createChainCommands(seed, profile);
  const chains = new Map<number, ReturnType<typeof createReservations>>();
  let compared = 0;
  for (let i = 0; i < commands; i++) {
    const { outcome } = engine.step(encodeCommand(generator.next()));
    generator.learn(outcome);
    for (const { chainId } of state.markets) {
      if (chains.has(chainId)) continue;
      chains.set(chainId, createReservations({
        isHere: (marketId) => view.market(marketId)?.chainId === chainId, traderOf: (orderHash) => view.traderOf(orderHash),
      }));
    }
    for (const reservations of chains.values()) reservations.fold(outcome.events);
    if (i % 250 !== 0) continue;
    for (const [chainId, reservations] of chains) {
      const sums = addedUp(engine, chainId);
      for (const { claim, amount } of sums.values()) {
        assert.equal(reservations.promised(claim), amount, `command ${i}, chain ${chainId}: ${claim.trader}'s ${claim.kind}`);
        compared++;
      }
      for (const { address } of state.traders) {
        if (!sums.has(address)) assert.equal(reservations.promised({ trader: address, kind: 'collateral', amount: 0n }), 0n);
      }
    }
  }
  assert.ok(compared > 100, `only ${compared} sums were compared`);
}

describe(`reservations (SEED=${SEED})`, () => {
  for (const seed of extent({ push: [1], long: [SEED, SEED + 1, SEED + 2] })) it(`are the sums of a crowd's orders and fills, seed ${seed}`, () => { compare(seed, crowd, 10_000); });
  it('are the sums of piled up orders and fills', () => { compare(extent({ push: 4, long: SEED }), pile, extent({ push: 5_000, long: 9_000 })); });
});
