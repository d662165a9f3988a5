/** What the view has given does not change when the engine goes on: who keeps an answer over an await has what was so, not the engine's objects. */
import { deepEqual, ok } from 'node:assert/strict';
import { decodeCommand } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { viewOf, type EngineView } from '../../engine/run/view.js';
import { crowd, traderAddress } from '../support/random-commands.js';
import { createControlCommands } from '../support/random-requests.js';
import { history } from '../support/watched-histories.js';

const CHAINS = [1, 2, 137];
const TRADERS = Array.from({ length: crowd.traders }, (_, n) => traderAddress(n));

/** All that is told of more than one value, as a caller may keep it. */
function answersOf(view: EngineView, orderHashes: readonly string[]) {
  const markets = [...view.markets()];
  return {
    digest: view.digest, markets, market: markets.map(({ marketId }) => view.market(marketId)),
    orders: orderHashes.map((hash) => view.order(hash)), openOrders: [...view.openOrders()],
    boundaries: view.openBoundaries(), chains: [...view.chains()], cursors: CHAINS.map((chainId) => view.cursor(chainId)),
    quick: CHAINS.flatMap((chainId) => [...view.quickMarkets(chainId)]), proposals: CHAINS.flatMap((chainId) => [...view.openProposals(chainId)]),
    relays: CHAINS.flatMap((chainId) => [...view.openRelays(chainId)]).map((relay) => [relay, view.relay(relay.requestId)]),
    fills: CHAINS.flatMap((chainId) => [...view.unsettledFills({ chainId, from: 0 })]),
    unproposed: CHAINS.flatMap((chainId) => [...view.unproposedMarkets(chainId)]),
    commitments: CHAINS.flatMap((chainId) => TRADERS.flatMap((trader) => [...view.commitments({ trader, chainId })])),
  };
}

type Answers = ReturnType<typeof answersOf>;

describe('engine: answers of the view that are kept', () => {
  it('are as they were at their moment, whatever the engine has decided since', () => {
    const commands = history(23, crowd, 3_000, createControlCommands);
    const orders = commands.map((data) => decodeCommand(data)).flatMap((command) => command.kind === 'PlaceOrder' ? [command.orderHash] : []).slice(0, 200);
    const engine = createEngine();
    const view = viewOf(engine);
    const kept: { readonly given: Answers; readonly then: Answers }[] = [];
    for (const [i, data] of commands.entries()) {
      engine.step(data);
      if (i % 250 !== 249) continue;
      const given = answersOf(view, orders);
      kept.push({ given, then: structuredClone(given) });
    }
    for (const { given, then } of kept) deepEqual(given, then);
    const empty = Object.keys(kept[0]!.given).filter((name) => kept.every(({ given }) => given[name as keyof Answers].length === 0));
    deepEqual(empty, [], 'the history has none of these');
    ok(kept.some(({ given }) => given.quick.some(({ quick }) => quick.missed.size > 0)), 'no price was missed');
  });
});
