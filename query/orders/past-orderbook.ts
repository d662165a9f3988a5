/** `GET /orderbook/{marketId}?at=…`: a book as it was after an outcome, or at a time. */
import { RequestError } from '../../engine/records/errors.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import type { Log } from '../../engine/log/log.js';
import type { Database } from '../database.js';
import type { Moment } from '../parameters.js';
import { answer, answering, bytes, type Answer, type Statement } from '../statement.js';
import type { Turns } from '../turns.js';
import { ONE_BOOK, BOTH_BOOKS } from './orderbook.js';

export interface PastBooks {
  readonly db: Pick<Database, 'rows' | 'waitForPosition'>;
  readonly log: Log;
  readonly turns: Turns;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

export interface PastBook {
  readonly marketId: string;
  readonly outcome?: MarketOutcome | undefined;
  readonly at: Moment;
}

const oneBook = past('past_orderbook_of_outcome', ONE_BOOK, '$3');
const bothBooks = past('past_orderbook', BOTH_BOOKS, '$2');

/**
 * What `orderbook` answered when the read models included exactly the outcomes up to this position; of a time, up to the last outcome that is
 * not after it. Throws RequestError: `not_recorded_yet` for a position or a time to come, `unknown_market` for a market that was not open yet,
 * `not_caught_up`, `overloaded`.
 */
export function pastOrderbook({ db, log, turns, now }: PastBooks, { marketId, outcome, at }: PastBook, signal: AbortSignal): Promise<Answer> {
  return turns(async () => {
    const length = await log.length('outcomes');
    const position = 'position' in at ? at.position : await lastUpTo(log, length, at.timeMs);
    if ('position' in at && position >= length) throw new RequestError('not_recorded_yet', `the newest position is ${length - 1}`);
    if ('timeMs' in at && at.timeMs > now()) throw new RequestError('not_recorded_yet', 'the time is in the future');
    await db.waitForPosition(position, { signal });
    const { body } = outcome === undefined
      ? await answer(db, bothBooks, [bytes(marketId), position], 'unknown_market', () => `at position ${position}`)
      : await answer(db, oneBook, [bytes(marketId), outcome, position], 'unknown_market', () => `at position ${position}`);
    return { body, position };
  });
}

/** The position of the last outcome whose time is not after this one; -1 without one. The times of outcomes never fall. */
async function lastUpTo(log: Log, length: number, timeMs: number): Promise<number> {
  let [first, end] = [0, length];
  while (first < end) {
    const middle = Math.floor((first + end) / 2);
    if (await timeOf(log, middle) > timeMs) end = middle; else first = middle + 1;
  }
  return first - 1;
}

async function timeOf(log: Log, position: number): Promise<number> {
  const [record] = await log.read('outcomes', position, 1);
  const [, at] = /^\{"at":(\d+),/.exec(Buffer.from(record?.data.subarray(0, 40) ?? []).toString()) ?? [];
  if (at === undefined) throw new Error(`the outcome at ${position} has no time`);
  return Number(at);
}

/**
 * The statement of a live book, over the levels and the time of a position instead of the live ones. Goes from one place of the market to the
 * next by the index, and at each to its last size: the cost is that of the places that ever had an order, however long the history is.
 */
function past(name: string, book: string, position: string): Statement {
  const { text } = answering(name, ['orders', 'markets'], `(
    select ${book} from markets where market_id = $1::bytea and opened_position <= ${position}::bigint)`);
  return { name, text: `
    with passed as (
      with recursive places as (
        (select book, place from level_history where book = (select first_position from books where market_id = $1::bytea) order by place limit 1)
        union all
        select places.book, next.place from places cross join lateral (
          select place from level_history history where history.book = places.book and history.place > places.place order by place limit 1) next
      )
      select $1::bytea as market_id, place / 2000000 as outcome, place / 1000000 % 2 as side, place % 1000000 as price, size, at_ms
      from places cross join lateral (
        select size, at_ms from level_history history
        where history.book = places.book and history.place = places.place and history.position <= ${position}::bigint
        order by history.position desc limit 1) newest
    ), levels as (
      select * from passed where size > 0
    ), books as (
      select market_id, max(at_ms) as updated_at_ms from passed group by market_id
    ) ${text}` };
}
