/** `GET /orderbook/{marketId}`: the price levels of one outcome's book, or of both, now or as they were after an outcome or at a time. */
import type { Log } from '../../engine/log/log.js';
import { RequestError } from '../../engine/records/errors.js';
import { BUY, NO, SELL, YES, type MarketOutcome, type Side } from '../../engine/records/fields.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { defineEndpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inQuery } from '../../service/api/parameter.js';
import * as parameter from '../../service/api/parameters.js';
import type { Moment } from '../../service/api/request-fields.js';
import * as kind from '../../service/api/request-fields.js';
import type { Database } from '../database.js';
import { read, type SharedReads } from '../reading.js';
import { answer, answering, bytes, hex, jsonArray, jsonObject, type Answer } from '../statement.js';
import { createTurns, type Turns } from '../turns.js';
import { mustBeKept } from '../kept-history.js';
import { unlessLogAway } from '../unless-log-away.js';
import { pastBook, type BookAt } from './past-book.js';

/** SQL of the answer, from the tables `levels` and `books`. $1 is the market's id, $2 the outcome. */
const ONE_BOOK = jsonObject(`
  select ${hex('$1::bytea')} as "marketId", ${levels(BUY, '= $2::smallint')} as bids, ${levels(SELL, '= $2::smallint')} as asks,
    ${lastUpdate()} as "lastUpdate"`);

/** The same for both outcomes; $1 is the market's id. */
const BOTH_BOOKS = jsonObject(`
  select ${hex('$1::bytea')} as "marketId", ${summedLevels(BUY)} as bids, ${summedLevels(SELL)} as asks, ${lastUpdate()} as "lastUpdate",
    ${jsonObject(`select ${levels(BUY, `= ${YES}`)} as bids, ${levels(SELL, `= ${YES}`)} as asks`)}::json as yes,
    ${jsonObject(`select ${levels(BUY, `= ${NO}`)} as bids, ${levels(SELL, `= ${NO}`)} as asks`)}::json as no`);

const oneBook = answering('orderbook_of_outcome', ['orders'], ONE_BOOK);
const bothBooks = answering('orderbook', ['orders'], BOTH_BOOKS);

export interface LiveBook {
  readonly marketId: string;
  readonly outcome?: MarketOutcome | undefined;
}

/**
 * Every level of a book, best first. `lastUpdate` is in Unix seconds, 0 if there was never an order. Without `outcome`, the sizes of
 * both market outcomes are summed per price, and `yes` and `no` have the two books. An unknown market has an empty book.
 */
export function orderbook(db: Database, { marketId, outcome }: LiveBook): Promise<Answer> {
  return outcome === undefined
    ? answer(db, bothBooks, [bytes(marketId)])
    : answer(db, oneBook, [bytes(marketId), outcome]);
}

function levels(side: Side, outcome: string): string {
  return jsonArray(`
    select price, size from levels where market_id = $1 and outcome ${outcome} and side = ${side}
    order by price ${side === BUY ? 'desc' : 'asc'}`);
}

function summedLevels(side: Side): string {
  return jsonArray(`
    select price, sum(size) as size from levels where market_id = $1 and side = ${side}
    group by price order by price ${side === BUY ? 'desc' : 'asc'}`);
}

function lastUpdate(): string {
  return 'coalesce((select updated_at_ms / 1000 from books where market_id = $1), 0)';
}

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

/**
 * What `orderbook` answered when the read models included exactly the outcomes up to this position; of a time, up to the last outcome that is
 * not after it. Throws RequestError: `not_recorded_yet` for a position or a time to come, `unknown_market` for a market that was not open yet,
 * `history_removed`, `not_caught_up`, `overloaded`.
 */
export function pastOrderbook({ db, log, turns, now }: PastBooks, { marketId, outcome, at }: PastBook, signal: AbortSignal): Promise<Answer> {
  return turns(async () => {
    const length = await log.length('outcomes');
    const position = 'position' in at ? at.position : await lastUpTo(log, length, at.timeMs);
    if ('position' in at && position >= length) throw new RequestError('not_recorded_yet', `the newest position is ${length - 1}`);
    if ('timeMs' in at && at.timeMs > now()) throw new RequestError('not_recorded_yet', 'the time is in the future');
    await db.waitForPosition(position, { signal });
    const book = await pastBook(db, marketId, position);
    await mustBeKept(db, position);
    if (!book.isMarket) throw new RequestError('unknown_market', `at position ${position}`);
    return { body: textOf({ marketId, outcome }, book), position };
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

/** The text that `orderbook` answers for these levels. */
function textOf({ marketId, outcome }: LiveBook, { levels, at }: BookAt): string {
  const sides = (...outcomes: readonly MarketOutcome[]) => `"bids":${sideText(levels, outcomes, BUY)},"asks":${sideText(levels, outcomes, SELL)}`;
  const whole = `"marketId":"${marketId}",${outcome === undefined ? sides(YES, NO) : sides(outcome)},"lastUpdate":${Math.floor(at / 1_000)}`;
  return outcome === undefined ? `{${whole},"yes":{${sides(YES)}},"no":{${sides(NO)}}}` : `{${whole}}`;
}

/** One side's sizes, summed over the outcomes, best price first. */
function sideText(levels: BookAt['levels'], outcomes: readonly MarketOutcome[], side: Side): string {
  const sizes = new Map<number, bigint>();
  for (const [place, size] of levels) {
    const [book, price] = [Math.floor(place / 1_000_000), place % 1_000_000];
    if (outcomes.some((outcome) => book === outcome * 2 + side)) sizes.set(price, (sizes.get(price) ?? 0n) + size);
  }
  const best = [...sizes].sort(([a], [b]) => side === BUY ? b - a : a - b);
  return `[${best.map(([price, size]) => `{"price":${price},"size":${size}}`).join(', ')}]`;
}

const priceLevels = (description: string) =>
  Type.Array(field.answer('PriceLevel', { price: field.Price, size: field.amount('Total shares at this price') }), { description });
const sides = { bids: priceLevels('Highest price first.'), asks: priceLevels('Lowest price first.') };
/** Both sides of a book. */
export const Book = field.answer('Book', sides, { description: 'The price levels of one outcome.' });
const bids = [{ price: 580_000, size: 40_000_000 }, { price: 570_000, size: 12_000_000 }];
const asks = [{ price: 600_000, size: 15_000_000 }];
const none = { bids: [], asks: [] };

export const getOrderbook = defineEndpoint({
  ...read, tag: 'Markets',
  id: 'getOrderbook', path: '/api/v1/orderbook/{marketId}', summary: 'Price levels of a market',
  description: 'YES and NO have separate books. A market without orders has empty bids and asks. With `at`, the book is as it was after the outcome at this '
    + 'log position, or after the last outcome that is not later than this time; `X-Log-Position` is the position. Such an answer never changes, but for a time '
    + 'after the newest outcome.',
  parameters: {
    marketId: parameter.marketIdInPath,
    at: inQuery('at', kind.optional(kind.moment), {
      description: 'A log position, or a time in UTC to the millisecond such as 2026-01-31T12:00:00Z. Without this parameter: now.', example: '4217',
    }),
    outcome: inQuery('outcome', kind.optional(kind.outcome), {
      description: 'Whose book. Without this parameter, the sizes of both books are added by price.', example: 'YES',
    }),
  },
  answer: {
    description: 'The levels.',
    schema: field.answer('Orderbook', {
      marketId: field.Bytes32, ...sides, lastUpdate: field.integer('Unix seconds; 0 = the market has never had an order.'),
      yes: Type.Optional({ ...Book, description: 'Only without `outcome`: the YES book.' }),
      no: Type.Optional({ ...Book, description: 'Only without `outcome`: the NO book.' }),
    }),
    examples: {
      'one outcome': { marketId: example.marketId, bids, asks, lastUpdate: example.placedAt },
      'both outcomes': { marketId: example.marketId, bids, asks, lastUpdate: example.placedAt, yes: { bids, asks }, no: none },
      'no orders': { marketId: example.marketId, ...none, lastUpdate: 0, yes: none, no: none },
    },
  },
  errors: ['unavailable', 'unknown_market', 'not_recorded_yet', 'history_removed', 'overloaded'],
}, ({ db, share, log, now }: SharedReads & { readonly log: Log }) => {
  const present = share('orderbook', ['orders'], (book: LiveBook) => orderbook(db, book));
  // Two of the read models' connections at most: a past book with many levels takes long.
  const books = { db, log, turns: createTurns(2, 100), now };
  return ({ at, ...book }, { signal }) => (
    at === undefined ? present(book) : unlessLogAway(() => pastOrderbook(books, { ...book, at }, signal)));
});
