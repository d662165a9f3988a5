/** Books of the past: each equals what the live book was after that outcome, over random histories; times, and what there is no book for. */
import assert from 'node:assert/strict';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Event, OrderRested } from '../../engine/records/events.js';
import type { Log } from '../../engine/log/log.js';
import { projections } from '../../projections/catalogue.js';
import { openSession } from '../../projections/database.js';
import { createReadModels, READ_MODELS } from '../../projections/schema.js';
import { openReadModels, type Database } from '../../query/database.js';
import { orderbook, pastOrderbook } from '../../query/orders/orderbook.js';
import type { Moment } from '../../service/api/request-fields.js';
import { createTurns } from '../../query/turns.js';
import { testDatabase } from '../support/postgres.js';
import { appendOutcomes, logOf, projectTo, randomOutcomes, readTables, startWorker } from '../support/projected.js';
import { address, bytes32 } from '../support/read-models.js';
import { removeOnce } from '../support/removed-history.js';

/** A longer search: PAST_BOOK_SEEDS=20 PAST_BOOK_LENGTH=2000. */
const SEEDS = Number(process.env['PAST_BOOK_SEEDS'] ?? 2);
const LENGTH = Number(process.env['PAST_BOOK_LENGTH'] ?? 160);

/** Both outcomes together, YES and NO. */
const VIEWS = [undefined, 0, 1] as const;
const SIGNAL = new AbortController().signal;

interface Stage {
  readonly db: Database;
  readonly url: string;
  close(): Promise<void>;
}

describe('query: books of the past', () => {
  for (let seed = 1; seed <= SEEDS; seed++) describe(`seed ${seed}`, () => {
    let outcomes: CommandOutcome[];
    let log: Log;
    let past: Stage;
    /** The live answers after each position, per market and view; null where the market was not open yet. */
    const live: (string | null)[][] = [];
    let asked: { readonly marketId: string; readonly outcome: 0 | 1 | undefined }[];
    const read = (book: typeof asked[number], at: Moment) => pastOrderbook(
      { db: past.db, log, turns: createTurns(2), now: () => Infinity }, { ...book, at }, SIGNAL);

    before(async () => {
      outcomes = randomOutcomes(seed, LENGTH);
      asked = openedIn(outcomes).slice(0, 3).flatMap((marketId) => VIEWS.map((outcome) => ({ marketId, outcome })));
      // The live books come from a worker that folds one outcome at a time, the past ones from one that folds all at once.
      const growing = await logOf([]);
      const stepped = await stage();
      const stop = new AbortController();
      const worker = startWorker({ url: stepped.url, log: growing, freshnessMs: 0, signal: stop.signal });
      const opened = new Set<string>();
      for (const [position, outcome] of outcomes.entries()) {
        await appendOutcomes(growing, [outcome]);
        await stepped.db.waitForPosition(position, { timeoutMs: 60_000 });
        for (const marketId of openedIn([outcome])) opened.add(marketId);
        live.push(await Promise.all(asked.map(async (each) => opened.has(each.marketId) ? (await orderbook(stepped.db, each)).body : null)));
      }
      stop.abort();
      await worker.done;
      await stepped.close();
      log = await logOf(outcomes);
      past = await stage();
      await projectTo(outcomes.length, { url: past.url, log });
    });
    after(() => past.close());

    it('equal the live book after every outcome', async () => {
      for (const [position, books] of live.entries()) {
        for (const [i, book] of books.entries()) {
          if (book === null) await assert.rejects(read(asked[i]!, { position }), { code: 'unknown_market', detail: `at position ${position}` });
          else assert.deepEqual(await read(asked[i]!, { position }), { body: book, position }, `position ${position}`);
        }
      }
      const different = new Set(live.map((books) => books[0]));
      assert.ok(different.size > LENGTH / 20, `the book was only ever in ${different.size} states`);
    });

    it('of a time are those after the last outcome that is not later', async () => {
      const lastUpTo = (timeMs: number) => outcomes.findLastIndex(({ at }) => at <= timeMs);
      for (let position = 0; position < outcomes.length; position += 17) {
        for (const timeMs of [-1, 0, 1].map((more) => outcomes[position]!.at + more)) {
          const expected = lastUpTo(timeMs);
          const book = live[expected]?.[0] ?? null;
          if (book === null) await assert.rejects(read(asked[0]!, { timeMs }), { code: 'unknown_market' });
          else assert.deepEqual(await read(asked[0]!, { timeMs }), { body: book, position: expected });
        }
      }
    });

    it('do not exist for a position or a time to come, for an unknown market, and before the first outcome', async () => {
      const [first] = asked;
      for (const position of [LENGTH, Number.MAX_SAFE_INTEGER]) {
        await assert.rejects(read(first!, { position }), { code: 'not_recorded_yet', detail: `the newest position is ${LENGTH - 1}` });
      }
      await assert.rejects(read({ marketId: bytes32(404), outcome: 0 }, { position: LENGTH - 1 }), { code: 'unknown_market' });
      await assert.rejects(read(first!, { timeMs: 0 }), { code: 'unknown_market' });
      const parts = { db: past.db, log, turns: createTurns(1), now: () => outcomes.at(-1)!.at + 5 };
      const ask = (timeMs: number) => pastOrderbook(parts, { ...first!, at: { timeMs } }, SIGNAL);
      await assert.rejects(ask(parts.now() + 1), { code: 'not_recorded_yet', detail: 'the time is in the future' });
      assert.deepEqual(await ask(parts.now()), { body: live.at(-1)![0], position: LENGTH - 1 });
    });
  });

  it('are exact at the ends of the blocks of changes and where whole books begin, however the history was cut into batches', async () => {
    const outcomes = longHistory();
    const log = await logOf(outcomes);
    const stages = await Promise.all([stage(), stage()]);
    const [{ db, url }, other] = stages;
    await projectTo(outcomes.length, { url, log, limits: { outcomes: 1_000, events: 100_000 } });
    await projectTo(outcomes.length, { url: other.url, log, limits: { outcomes: 7, events: 100_000 } });
    const { level_history: blocks, books } = await readTables(url);
    const { level_history: sameBlocks, books: sameBooks } = await readTables(other.url);
    assert.deepEqual([sameBlocks, sameBooks], [blocks, books]);
    const ends = blocks!.map(({ position }) => Number(position));
    assert.ok(blocks!.filter(({ levels }) => levels !== null).length >= 2, 'the history has hardly a whole book');
    assert.ok(ends.length > 100 && outcomes.length - 1 > Math.max(...ends), 'every change is in a block');
    const expected = booksOf(outcomes);
    const asked = new Set(ends.flatMap((end) => [end - 1, end, end + 1]));
    const parts = { db, log, turns: createTurns(1), now: () => 0 };
    for (const position of [...asked, 0, outcomes.length - 1]) {
      const { body } = await pastOrderbook(parts, { marketId: LONG, outcome: 0, at: { position } }, SIGNAL);
      assert.deepEqual(JSON.parse(body), { marketId: LONG, ...expected[position] }, `position ${position}`);
    }
    for (const { close } of stages) await close();
  });

  it('are those that they were where older history is removed, and before that there are none', async () => {
    const outcomes = longHistory();
    const log = await logOf(outcomes);
    const { db, url, close } = await stage();
    await projectTo(outcomes.length, { url, log });
    const blocks = async () => (await readTables(url))['level_history']!.length;
    const [all, { horizon }] = [await blocks(), await removeOnce({ url, log, keepMs: 700 * 600, rows: 50 })];
    assert.ok(await blocks() < all * 0.75, `${await blocks()} of ${all} blocks are left`);
    const parts = { db, log, turns: createTurns(1), now: () => 0 };
    const read = (position: number) => pastOrderbook(parts, { marketId: LONG, outcome: 0, at: { position } }, SIGNAL);
    const expected = booksOf(outcomes);
    for (let position = horizon.position; position < outcomes.length; position += 7) {
      assert.deepEqual(JSON.parse((await read(position)).body), { marketId: LONG, ...expected[position] }, `position ${position}`);
    }
    for (const position of [horizon.position - 1, 0]) {
      await assert.rejects(read(position), { code: 'history_removed', detail: `of position ${position}; the oldest that is kept is ${horizon.position}` });
    }
    await close();
  });

  it('wait for the read models, and say when those do not come', async () => {
    const outcomes = randomOutcomes(3, 40);
    const log = await logOf(outcomes);
    const { db, url, close } = await stage();
    const [marketId = ''] = openedIn(outcomes);
    const read = () => pastOrderbook({ db, log, turns: createTurns(1), now: () => 0 }, { marketId, at: { position: 39 } }, SIGNAL);
    await projectTo(20, { url, log: await logOf(outcomes.slice(0, 20)) });
    await assert.rejects(read(), { code: 'not_caught_up' });
    const waiting = read();
    await projectTo(40, { url, log });
    assert.equal((await waiting).position, 39);
    await close();
  });
});

const LONG = bytes32(7);

/** A market whose orders rest at 40 prices and are cancelled, one by one, and sometimes many by one command. */
function longHistory(): CommandOutcome[] {
  const resting: OrderRested[] = [];
  const cancelled = ({ size, ...order }: OrderRested): Event => ({ ...order, type: 'OrderCancelled', remaining: size, rested: size, reason: 'user' });
  return Array.from({ length: 2_490 }, (_, n) => {
    const at = 1_700_000_000_000 + 700 * n;
    if (n === 0) return { at, events: [opened] };
    if (n % 100 === 99) return { at, events: resting.splice(0, 30).map(cancelled) };
    if (n % 7 === 3) return { at, events: resting.splice(n * 31 % resting.length, 1).map(cancelled) };
    const order = {
      v: 1, orderHash: bytes32(1_000 + n), orderNumber: n, marketId: LONG, side: n % 2 as 0 | 1, outcome: 0, price: 400_000 + n * 7_919 % 40 * 1_000,
    } as const;
    const rested: OrderRested = { ...order, type: 'OrderRested', size: String(n) };
    resting.push(rested);
    return { at, events: [{ ...order, type: 'OrderAccepted', trader: address(1), size: String(n), nonce: String(n), expiration: '1900000000' }, rested] };
  });
}

const opened: Event = {
  type: 'MarketOpened', v: 2, marketId: LONG, question: 'Will it?', description: '', category: 'general', contractAddress: address(2), maker: address(3),
  expiration: 1_900_000_000, chainId: 1, marketKind: 'standard', quick: null,
};

/** The YES book after each outcome, added up. */
function booksOf(outcomes: readonly CommandOutcome[]): object[] {
  const sizes = new Map<string, number>();
  let lastUpdate = 0;
  const side = (wanted: number) => [...sizes].flatMap(([key, size]) => {
    const [of, price = 0] = key.split(' ').map(Number);
    return of === wanted && size > 0 ? [{ price, size }] : [];
  }).sort((a, b) => wanted === 0 ? b.price - a.price : a.price - b.price);
  return outcomes.map(({ at, events }) => {
    for (const event of events) {
      if (event.type !== 'OrderRested' && event.type !== 'OrderCancelled') continue;
      const key = `${event.side} ${event.price}`;
      sizes.set(key, (sizes.get(key) ?? 0) + (event.type === 'OrderRested' ? Number(event.size) : -Number(event.rested)));
      lastUpdate = Math.floor(at / 1_000);
    }
    return { bids: side(0), asks: side(1), lastUpdate };
  });
}

/** A database with empty read models. */
async function stage(): Promise<Stage> {
  const { url, drop } = await testDatabase();
  const session = await openSession(url, READ_MODELS);
  await createReadModels({ session, schema: READ_MODELS, projections });
  await session.close();
  const db = await openReadModels({ url });
  return {
    db, url,
    close: async () => {
      await db.close();
      await drop();
    },
  };
}

function openedIn(outcomes: readonly CommandOutcome[]): string[] {
  return outcomes.flatMap(({ events }) => events.flatMap((event) => event.type === 'MarketOpened' ? [event.marketId] : []));
}
