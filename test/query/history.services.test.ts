/** The answers over read models that projections made of a random history, against the same figures added up from its events. */
import assert from 'node:assert/strict';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Event, FillMatched } from '../../engine/records/events.js';
import { openReadModels, type Database } from '../../query/database.js';
import { marketStats, platformStats } from '../../query/markets.js';
import { findOrder, orderWithHistory } from '../../query/orders/order.js';
import { orderbook } from '../../query/orders/orderbook.js';
import type { Answer } from '../../query/statement.js';
import { tradesOfMarket } from '../../query/trades.js';
import { testDatabase } from '../support/postgres.js';
import { logOf, projectTo, randomOutcomes } from '../support/projected.js';

const LENGTH = 3_000;
const DAY_MS = 86_400_000;

type HistoryEntry = { type: string; position: number; fill?: number };
type Match = FillMatched & { at: number; position: number; failed: boolean };

describe('query: a random history', () => {
  let db: Database;
  let outcomes: CommandOutcome[];
  let matches: Match[];
  let markets: string[];
  before(async () => {
    const { url } = await testDatabase();
    outcomes = randomOutcomes(11, LENGTH);
    await projectTo(LENGTH, { url, log: await logOf(outcomes) });
    db = await openReadModels({ url });
    matches = matchesOf(outcomes);
    markets = eventsOf('MarketOpened').map(({ marketId }) => marketId);
    assert.ok(matches.some(({ failed }) => failed) && matches.length > 100 && markets.length > 1, 'the history has too little in it');
  });
  after(() => db.close());

  const eventsOf = <T extends Event['type']>(type: T) =>
    outcomes.flatMap(({ events }) => events).filter((event): event is Extract<Event, { type: T }> => event.type === type);

  it('has the books that the events leave', async () => {
    const levels = levelsOf(outcomes.flatMap(({ events }) => events));
    for (const marketId of markets) {
      for (const outcome of [0, 1] as const) {
        const book = exactly(await orderbook(db, { marketId, outcome })) as Record<'bids' | 'asks', { price: string; size: string }[]>;
        const shown = [book.bids, book.asks].flatMap((side, n) =>
          side.map(({ price, size }): [string, bigint] => [`${marketId} ${outcome} ${n} ${price}`, BigInt(size)]));
        const expected = [...levels].filter(([level, size]) => size > 0n && level.startsWith(`${marketId} ${outcome} `));
        assert.deepEqual(new Map(shown), new Map(expected));
      }
    }
  });

  it('has the volumes, the sliding day and the last price of the fills that did not fail', async () => {
    for (const marketId of markets) {
      const mine = matches.filter((match) => match.marketId === marketId);
      const good = mine.filter(({ failed }) => !failed);
      const edges = mine.filter((_, n) => n % 17 === 0).flatMap(({ at }) => [at - 1, at, at + 1, at - at % 60_000]);
      for (const from of [...edges, 0]) {
        const { volume24h, totalVolume, lastPrice } = exactly(await marketStats(db, { marketId, nowMs: from + DAY_MS }));
        assert.deepEqual({ volume24h, totalVolume, lastPrice }, {
          volume24h: String(costOf(good.filter(({ at }) => at > from))), totalVolume: String(costOf(good)),
          lastPrice: String(good.at(-1)?.price ?? 0),
        });
      }
      const { body } = await tradesOfMarket(db, { marketId });
      const { trades } = JSON.parse(body) as { trades: { price: number; timestamp: number }[] };
      assert.deepEqual(trades.map(({ price, timestamp }) => [price, timestamp]),
        good.slice(-100).reverse().map(({ price, at }) => [price, Math.floor(at / 1_000)]));
    }
    const { total_volume, total_trades } = exactly(await platformStats(db, {}));
    const good = matches.filter(({ failed }) => !failed);
    assert.deepEqual([total_volume, total_trades], [String(costOf(good)), String(good.length)]);
  });

  it('tells of an order each fill, at the position that made it', async () => {
    for (const { orderHash, orderNumber } of eventsOf('OrderAccepted').filter((_, n) => n % 7 === 0)) {
      const { body, position } = await orderWithHistory(db, { orderHash });
      assert.equal(position, LENGTH - 1);
      const { history, status } = JSON.parse(body) as { history: HistoryEntry[]; status: string };
      assert.deepEqual(history.filter(({ type }) => type === 'fill').map(({ fill, position: at }) => [fill, at]),
        matches.filter(({ makerNumber, takerNumber }) => makerNumber === orderNumber || takerNumber === orderNumber)
          .map(({ fill, position: at }) => [fill, at]));
      assert.deepEqual([history[0]?.type, history[0]?.position], ['accepted', orderNumber]);
      assert.ok(history.every(({ position: at }, n) => at >= (history[n - 1]?.position ?? 0)), 'the history goes back');
      assert.equal((await findOrder(db, orderHash))?.status, status);
    }
  });
});

function matchesOf(outcomes: readonly CommandOutcome[]): Match[] {
  const matches = new Map<number, Match>();
  outcomes.forEach(({ at, events }, position) => {
    for (const event of events) {
      if (event.type === 'FillMatched') matches.set(event.fill, { ...event, at, position, failed: false });
      const match = event.type === 'FillFailed' ? matches.get(event.fill) : undefined;
      if (match !== undefined) match.failed = true;
    }
  });
  return [...matches.values()];
}

function levelsOf(events: readonly Event[]): Map<string, bigint> {
  const levels = new Map<string, bigint>();
  const add = (marketId: string, outcome: number, side: number, price: number, size: bigint) => {
    const level = `${marketId} ${outcome} ${side} ${price}`;
    levels.set(level, (levels.get(level) ?? 0n) + size);
  };
  for (const event of events) {
    if (event.type === 'OrderRested') add(event.marketId, event.outcome, event.side, event.price, BigInt(event.size));
    if (event.type === 'OrderCancelled') add(event.marketId, event.outcome, event.side, event.price, -BigInt(event.rested));
    if (event.type === 'OrderReduced') add(event.marketId, event.outcome, event.side, event.price, -BigInt(event.reduced));
    if (event.type === 'FillMatched') add(event.marketId, event.outcome, 1 - event.takerSide, event.price, -BigInt(event.size));
  }
  return levels;
}

function costOf(matches: readonly Match[]): bigint {
  return matches.reduce((sum, { cost }) => sum + BigInt(cost), 0n);
}

/** The answer with its integers as strings, so that none is rounded. */
function exactly({ body }: Answer): Record<string, unknown> {
  return JSON.parse(body.replaceAll(/:(-?\d+)/g, ':"$1"')) as Record<string, unknown>;
}
