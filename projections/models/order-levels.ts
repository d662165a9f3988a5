/**
 * The levels of the `orders` projection: the size that rests at each price, and has rested there after each outcome,
 * and when a market's book last changed.
 */
import type { FillMatched } from '../../engine/records/events.js';
import { BUY, SELL, type MarketOutcome, type Side } from '../../engine/records/fields.js';
import { byteaArray, int2Array, int4Array, int8Array, numericArray } from '../columns.js';
import {
  foldEvents, InconsistentOutcomes, placedAt, remember, type Fold, type FoldedOutcome, type Handlers, type Query,
  type Remembered,
} from '../projection.js';

/**
 * `level_history` has what each level was after each outcome that touched it, also a size of 0: so it has every book as
 * it was at any position. Its `place` is (outcome * 2 + side) * 1000000 + price, and its `book` the book's
 * `first_position`, at which the book had its first order: numbers instead of the market's id, since every order writes
 * a row or two.
 */
export const LEVEL_TABLES = [`
create table levels (
  market_id bytea not null,
  outcome smallint not null,
  side smallint not null,
  price integer not null,
  size numeric(30) not null,
  primary key (market_id, outcome, side, price)
)`, `
create table level_history (
  book bigint not null,
  position bigint not null,
  place integer not null,
  size numeric(30) not null,
  at_ms bigint not null,
  primary key (book, place, position)
)`, `
create table books (
  market_id bytea primary key,
  first_position bigint not null,
  updated_at_ms bigint not null
)`];

const LOAD_LEVELS = {
  name: 'load_levels',
  text: `
    select place, size from unnest($1::integer[], $2::bytea[], $3::smallint[], $4::smallint[], $5::integer[])
      as touched (place, market, of_outcome, of_side, at_price)
      join levels on market_id = market and outcome = of_outcome and side = of_side and price = at_price`,
};

/**
 * Writes a batch's levels, each in one of three lists, its books, and the history of its levels. One statement, because
 * each statement costs a round trip.
 */
const WRITE_LEVELS = {
  name: 'write_levels',
  text: `
    with gone as (
      delete from levels using unnest($1::bytea[], $2::smallint[], $3::smallint[], $4::integer[]) as empty (market_id, outcome, side, price)
      where levels.market_id = empty.market_id and levels.outcome = empty.outcome and levels.side = empty.side
        and levels.price = empty.price
    ), moved as (
      update levels set size = now.size
      from unnest($5::bytea[], $6::smallint[], $7::smallint[], $8::integer[], $9::numeric[]) as now (market_id, outcome, side, price, size)
      where levels.market_id = now.market_id and levels.outcome = now.outcome and levels.side = now.side and levels.price = now.price
    ), made as (
      insert into levels (market_id, outcome, side, price, size)
      select * from unnest($10::bytea[], $11::smallint[], $12::smallint[], $13::integer[], $14::numeric[])
    ), touched as (
      insert into books (market_id, first_position, updated_at_ms) select * from unnest($15::bytea[], $16::bigint[], $17::bigint[])
      on conflict (market_id) do update set updated_at_ms = excluded.updated_at_ms
      returning market_id, first_position
    )
    insert into level_history (book, place, position, size, at_ms)
    select first_position, place, position, size, at_ms
    from unnest($18::bytea[], $19::integer[], $20::bigint[], $21::numeric[], $22::bigint[]) as past (market_id, place, position, size, at_ms)
      join touched using (market_id)`,
};

/** The number of levels remembered between batches, including empty ones, which then need no query either. */
const REMEMBERED = 100_000;

interface Place {
  readonly marketId: string;
  readonly outcome: MarketOutcome;
  readonly side: Side;
  readonly price: number;
}

/** What one outcome changed at a level. */
interface Step {
  readonly position: number;
  readonly at: number;
  change: bigint;
}

interface Level extends Place {
  readonly name: string;
  /** As in `level_history`. */
  readonly key: number;
  /** In the order of their positions. */
  readonly steps: Step[];
  /** The size before the batch; 0 when there was no such level. */
  before: bigint;
  /** The size after the batch. */
  size: bigint;
}

interface Book {
  /** Of the batch; where the book is new, of the book. */
  readonly firstPosition: number;
  updatedAt: number;
  readonly levels: Map<number, Level>;
}

export const LEVEL_EVENTS: Handlers<Map<string, Book>> = {
  OrderRested: (books, event, outcome) => { add(books, outcome, event, BigInt(event.size)); },
  OrderReduced: (books, event, outcome) => { add(books, outcome, event, -BigInt(event.reduced)); },
  FillMatched: (books, event, outcome) => { add(books, outcome, makerPlace(event), -BigInt(event.size)); },
  OrderCancelled: (books, event, outcome) => {
    if (event.rested !== '0') add(books, outcome, event, -BigInt(event.rested));
  },
};

/** The fold of the levels: writes a batch's changes of sizes, and deletes levels of size 0. */
export function startLevels(): Fold {
  const sizes = remember<string, bigint>(REMEMBERED);
  return async (batch, query) => {
    const books = foldEvents(LEVEL_EVENTS, batch, new Map());
    if (books.size === 0) return;
    const touched = [...books.values()].flatMap(({ levels }) => [...levels.values()]);
    await loadSizes(touched, sizes, query);
    const gone: Level[] = [];
    const moved: Level[] = [];
    const made: Level[] = [];
    const past: Past[] = [];
    for (const level of touched) {
      level.size = level.before;
      for (const { position, at, change } of level.steps) past.push({
        level, position, at, size: level.size += change,
      });
      if (level.size < 0n) {
        const { marketId, outcome, side, price } = level;
        throw new InconsistentOutcomes(`level (market, outcome, side, price) ${[marketId, outcome, side, price].join()} falls below 0`);
      }
      sizes.set(level.name, level.size);
      if (level.size !== level.before) (level.size === 0n ? gone : level.before === 0n ? made : moved).push(level);
    }
    const sized = (levels: readonly Level[]) => [...placeColumns(levels), numericArray(levels.map(({ size }) => size))];
    await query(WRITE_LEVELS, [
      ...placeColumns(gone), ...sized(moved), ...sized(made),
      byteaArray([...books.keys()]), int8Array([...books.values()].map(({ firstPosition }) => firstPosition)),
      int8Array([...books.values()].map(({ updatedAt }) => updatedAt)),
      byteaArray(past.map(({ level }) => level.marketId)), int4Array(past.map(({ level }) => level.key)),
      int8Array(past.map(({ position }) => position)), numericArray(past.map(({ size }) => size)),
      int8Array(past.map(({ at }) => at)),
    ]);
  };
}

/** A level after an outcome that touched it. */
interface Past {
  readonly level: Level;
  readonly position: number;
  readonly at: number;
  readonly size: bigint;
}

/** Sets the levels' sizes before the batch. */
async function loadSizes(levels: readonly Level[], known: Remembered<string, bigint>, query: Query): Promise<void> {
  const unknown: Level[] = [];
  for (const level of levels) {
    const size = known.get(level.name);
    if (size === undefined) unknown.push(level);
    else level.before = size;
  }
  if (unknown.length === 0) return;
  for (const [place, size] of await query<[number, string]>(
    LOAD_LEVELS, [int4Array(unknown.map((_, i) => i)), ...placeColumns(unknown)],
  )) {
    placedAt(unknown, place).before = BigInt(size);
  }
}

/** Adds `change` to the level at a place, and notes that the outcome changed the market's book. */
function add(
  books: Map<string, Book>, { position, at }: FoldedOutcome, { marketId, outcome, side, price }: Place, change: bigint,
): void {
  let book = books.get(marketId);
  if (book === undefined) books.set(marketId, book = { firstPosition: position, updatedAt: at, levels: new Map() });
  book.updatedAt = at;
  const key = (outcome * 2 + side) * 1_000_000 + price;
  let level = book.levels.get(key);
  if (level === undefined) {
    book.levels.set(key, level = { name: `${key}${marketId}`, key, marketId, outcome, side, price, steps: [], before: 0n, size: 0n });
  }
  const last = level.steps.at(-1);
  if (last?.position === position) last.change += change;
  else level.steps.push({ position, at, change });
}

function makerPlace({ marketId, outcome, price, takerSide }: FillMatched): Place {
  return { marketId, outcome, side: takerSide === BUY ? SELL : BUY, price };
}

function placeColumns(places: readonly Place[]): unknown[] {
  return [
    byteaArray(places.map(({ marketId }) => marketId)),
    int2Array(places.map(({ outcome }) => outcome)),
    int2Array(places.map(({ side }) => side)),
    int4Array(places.map(({ price }) => price)),
  ];
}
