/** Books of the past: each equals what the live book was after that outcome, over random histories; times, and what there is no book for. */
import assert from 'node:assert/strict';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Log } from '../../engine/log/log.js';
import { projections } from '../../projections/catalogue.js';
import { openSession } from '../../projections/database.js';
import { createReadModels, READ_MODELS } from '../../projections/schema.js';
import { openReadModels, type Database } from '../../query/database.js';
import { orderbook, pastOrderbook } from '../../query/orders/orderbook.js';
import type { Moment } from '../../service/api/request-fields.js';
import { createTurns } from '../../query/turns.js';
import { testDatabase } from '../support/postgres.js';
import { appendOutcomes, logOf, projectTo, randomOutcomes, startWorker } from '../support/projected.js';
import { bytes32 } from '../support/read-models.js';

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
