/** What the view says of quick markets: it is what a look at every market and every boundary would find, also after a restart. */
import { deepEqual, ok } from 'node:assert/strict';
import { decodeCommand } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine } from '../../engine/run/stepping.js';
import { viewOf } from '../../engine/run/view.js';
import { crowd } from '../support/random-commands.js';
import { createLateCommands } from '../support/random-requests.js';
import { history, restart } from '../support/watched-histories.js';

describe('engine: the view of quick markets', () => {
  it('has those that the chain has not resolved, and the times at which they lack a price', () => {
    const commands = history(21, crowd, 3_000, createLateCommands);
    const asked = new Map(commands.map((data) => decodeCommand(data)).flatMap((command) => (
      command.kind === 'OpenMarket' && command.quick !== undefined ? [[command.marketId, command.quick] as const] : [])));
    let engine = createEngine();
    const seen = { unresolved: 0, resolved: 0, boundaries: 0 };
    for (const [i, data] of commands.entries()) {
      engine.step(data);
      if (i % 100 !== 0) continue;
      compare(engine, asked, seen);
      engine = restart(engine);
      compare(engine, asked, seen);
    }
    for (const [what, count] of Object.entries(seen)) ok(count > 0, `the history has none: ${what}`);
  });
});

/** `asked` has what each quick market is about, by its id. */
function compare(
  { state, ...engine }: Engine, asked: ReadonlyMap<string, { readonly asset: string; readonly startTime: number }>,
  seen: Record<'unresolved' | 'resolved' | 'boundaries', number>,
): void {
  const view = viewOf({ state, ...engine });
  const quick = state.markets.filter(({ marketId }) => asked.has(marketId));
  const unresolved = quick.filter(({ winner, halved }) => winner === undefined && !halved);
  const chains = new Set(state.markets.map(({ chainId }) => chainId));
  const found = [...chains].flatMap((chainId) => [...view.quickMarkets(chainId)]);
  deepEqual(new Set(found.map(({ marketId }) => marketId)), new Set(unresolved.map(({ marketId }) => marketId)));
  for (const chainId of chains) {
    const expected = unresolved.filter((market) => market.chainId === chainId);
    deepEqual([...view.quickMarkets(chainId)].map(({ marketId }) => marketId), expected.map(({ marketId }) => marketId));
  }
  const wanted = [...state.boundaries.values()].filter(({ asset, time, decided, markets }) => !decided && unresolved.some((market) => {
    const { index, marketId, expiration } = market;
    return markets.includes(index) && asked.get(marketId)?.asset === asset && [asked.get(marketId)?.startTime, expiration].includes(time);
  })).sort((a, b) => a.time - b.time || (a.asset < b.asset ? -1 : 1));
  deepEqual(view.openBoundaries(), wanted.map(({ asset, time, best, missed }) => ({ asset, time, best, missed })));
  seen.unresolved += unresolved.length;
  seen.resolved += quick.length - unresolved.length;
  seen.boundaries += wanted.length;
}
