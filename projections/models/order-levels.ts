/**
 * The levels of the `orders` projection: the size that rests at each price, and has rested there after each outcome,
 * and when a market's book last changed.
 */
import type { FillMatched } from '../../engine/records/events.js';
import { BUY, SELL, type MarketOutcome, type Side } from '../../engine/records/fields.js';
import { levelChanges, type LevelChange, type LevelChanges } from '../../engine/records/level-changes.js';
import { bufferArray, byteaArray, int2Array, int4Array, int8Array, numericArray, rowsFrom } from '../columns.js';
import {
  foldEvents, InconsistentOutcomes, placedAt, remember, type Fold, type FoldedOutcome, type Handlers, type Query,
  type Remembered,
} from '../projection.js';

/**
 * `level_history` has what each level was after each outcome that touched it, also a size of 0: so it has every book as
 * it was at any position. Its rows are blocks of changes (`engine/records/level-changes.ts`) in the order of the log:
 * BLOCK_CHANGES of a book, and the rest of the outcome with the last of them, at whose `position` the block ends. The
 * changes since then are in `books.changes`, so an order costs no row and no index entry. From time to time a block has
 * the whole book after its last change, too: `levels`, as changes of that position. Then `books.changes_to_levels`, the
 * number of changes until the next time, begins anew. `book` is the book's `first_position`, at which the book had its
 * first order.
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
  changes bytea not null,
  levels bytea,
  primary key (book, position)
)`, `
create table books (
  market_id bytea primary key,
  first_position bigint not null,
  updated_at_ms bigint not null,
  changes_to_levels integer not null,
  changes bytea not null
) with (fillfactor = 50)`];

/** Each batch writes a book's changes since the last block anew, and each reader reads them. */
const BLOCK_CHANGES = 16;
/** So many changes are read at most for a past book, or four for each of its levels, which are read, too. */
const CHANGES_TO_LEVELS = 1_024;
const CHANGES_PER_LEVEL = 4;

const LOAD_BOOKS = {
  name: 'load_books',
  text: `
    select place, first_position, changes_to_levels, changes from unnest($1::integer[], $2::bytea[]) as touched (place, market)
      join books on market_id = market`,
};

const LOAD_LEVELS = {
  name: 'load_levels',
  text: `
    select touched.place, (outcome * 2 + side) * 1000000 + price, size from unnest($1::integer[], $2::bytea[]) as touched (place, market)
      join levels on market_id = market`,
};

/**
 * Writes a batch's levels, each in one of three lists, its books, and the blocks of changes that are complete. One
 * statement, because each statement costs a round trip.
 */
const WRITE_LEVELS = {
  name: 'write_levels',
  text: `
    with gone as (
      delete from levels using ${rowsFrom(1, 'market_id bytea, outcome smallint, side smallint, price integer')} empty
      where levels.market_id = empty.market_id and levels.outcome = empty.outcome and levels.side = empty.side
        and levels.price = empty.price
    ), moved as (
      update levels set size = now.size
      from ${rowsFrom(5, 'market_id bytea, outcome smallint, side smallint, price integer, size numeric')} now
      where levels.market_id = now.market_id and levels.outcome = now.outcome and levels.side = now.side and levels.price = now.price
    ), made as (
      insert into levels (market_id, outcome, side, price, size)
      ${rowsFrom(10, 'market_id bytea, outcome smallint, side smallint, price integer, size numeric')}
    ), touched as (
      insert into books (market_id, first_position, updated_at_ms, changes_to_levels, changes)
      ${rowsFrom(15, 'market_id bytea, first_position bigint, updated_at_ms bigint, changes_to_levels integer, changes bytea')}
      on conflict (market_id) do update set updated_at_ms = excluded.updated_at_ms,
        changes_to_levels = excluded.changes_to_levels, changes = excluded.changes
    )
    insert into level_history (book, position, changes, levels)
    ${rowsFrom(20, 'book bigint, position bigint, changes bytea, levels bytea')}`,
};

/** So many levels and books are remembered between batches, some 50 bytes each. */
const REMEMBERED = 500_000;

interface Place {
  readonly marketId: string;
  readonly outcome: MarketOutcome;
  readonly side: Side;
  readonly price: number;
}

/** What one outcome changed at a level. */
interface Step {
  readonly level: Level;
  readonly position: number;
  readonly at: number;
  change: bigint;
}

interface Level extends Place {
  /** As in `LevelChange`. */
  readonly place: number;
  last: Step | undefined;
  /** The size before the batch; 0 when there was no such level. */
  before: bigint;
  /** The size after the steps that were applied. */
  size: bigint;
}

/** A book after the last batch: the levels that are not empty, by place, and its row in `books`. */
interface Book {
  readonly sizes: Map<number, bigint>;
  readonly firstPosition: number;
  changesToLevels: number;
  changes: LevelChanges;
}

/** What a batch changes in a market's book. */
interface BookChanges {
  readonly marketId: string;
  updatedAt: number;
  readonly levels: Map<number, Level>;
  /** In the order of the log. */
  readonly steps: Step[];
  /** A new one until the market's own is loaded. */
  book: Book;
}

export const LEVEL_EVENTS: Handlers<Map<string, BookChanges>> = {
  OrderRested: (books, event, outcome) => { add(books, outcome, event, BigInt(event.size)); },
  OrderReduced: (books, event, outcome) => { add(books, outcome, event, -BigInt(event.reduced)); },
  FillMatched: (books, event, outcome) => { add(books, outcome, makerPlace(event), -BigInt(event.size)); },
  OrderCancelled: (books, event, outcome) => {
    if (event.rested !== '0') add(books, outcome, event, -BigInt(event.rested));
  },
};

/**
 * The fold of the levels: writes a batch's changes of sizes, and deletes levels of size 0. It remembers `remembered` levels and books together,
 * or one book that is larger.
 */
export function startLevels(remembered = REMEMBERED): Fold {
  const books = remember<string, Book>(remembered, ({ sizes }) => Math.min(1 + sizes.size, remembered));
  return async (batch, query) => {
    const changed = [...foldEvents(LEVEL_EVENTS, batch, new Map<string, BookChanges>()).values()];
    if (changed.length === 0) return;
    await loadBooks(changed, books, query);
    const blocks = changed.flatMap(applySteps);
    const gone: Level[] = [];
    const moved: Level[] = [];
    const made: Level[] = [];
    for (const { marketId, book, levels } of changed) {
      for (const level of levels.values()) {
        if (level.size !== level.before) (level.size === 0n ? gone : level.before === 0n ? made : moved).push(level);
        if (level.size === 0n) book.sizes.delete(level.place); else book.sizes.set(level.place, level.size);
      }
      // The cache asks for the size of what it does not have.
      books.delete(marketId);
      books.set(marketId, book);
    }
    const sized = (levels: readonly Level[]) => [...placeColumns(levels), numericArray(levels.map(({ size }) => size))];
    await query(WRITE_LEVELS, [...placeColumns(gone), ...sized(moved), ...sized(made), ...bookColumns(changed), ...blockColumns(blocks)]);
  };
}

/** A row of `level_history`. */
interface Block {
  readonly book: number;
  readonly position: number;
  readonly changes: Buffer;
  readonly levels: Buffer | null;
}

/** Applies the steps to the levels, and adds them to the history. Returns the blocks of it that are complete. */
function applySteps({ marketId, steps, levels, book }: BookChanges): Block[] {
  const blocks: Block[] = [];
  for (const [i, { level, position, at, change }] of steps.entries()) {
    level.size += change;
    if (level.size < 0n) {
      const { outcome, side, price } = level;
      throw new InconsistentOutcomes(`level (market, outcome, side, price) ${[marketId, outcome, side, price].join()} falls below 0`);
    }
    book.changes.add({ position, at, place: level.place, size: level.size });
    const count = book.changes.count();
    if (count < BLOCK_CHANGES || steps[i + 1]?.position === position) continue;
    book.changesToLevels -= count;
    const whole = book.changesToLevels > 0 ? undefined : wholeBook(book, levels);
    if (whole !== undefined) book.changesToLevels = Math.max(CHANGES_TO_LEVELS, CHANGES_PER_LEVEL * whole.length);
    blocks.push({
      book: book.firstPosition, position, changes: book.changes.bytes(),
      levels: whole === undefined ? null : bytesOf(whole.map(([place, size]) => ({ position, at, place, size }))),
    });
    book.changes = levelChanges();
  }
  return blocks;
}

/** The levels after the steps that were applied, by place. */
function wholeBook({ sizes }: Book, changed: ReadonlyMap<number, Level>): [place: number, size: bigint][] {
  const now = new Map(sizes);
  for (const { place, size } of changed.values()) now.set(place, size);
  return [...now].filter(([, size]) => size > 0n).sort(([a], [b]) => a - b);
}

function bytesOf(levels: readonly LevelChange[]): Buffer {
  const changes = levelChanges();
  for (const level of levels) changes.add(level);
  return changes.bytes();
}

/** Gives the changes their books, and the levels their sizes, as they were before the batch. */
async function loadBooks(changed: readonly BookChanges[], known: Remembered<string, Book>, query: Query): Promise<void> {
  const unknown: BookChanges[] = [];
  for (const changes of changed) {
    const book = known.get(changes.marketId);
    if (book === undefined) unknown.push(changes); else changes.book = book;
  }
  if (unknown.length > 0) await readBooks(unknown, query);
  for (const { book, levels } of changed) {
    for (const level of levels.values()) level.size = level.before = book.sizes.get(level.place) ?? 0n;
  }
}

/** From the tables; books that are not there are new. */
async function readBooks(changed: readonly BookChanges[], query: Query): Promise<void> {
  const markets = [int4Array(changed.map((_, i) => i)), byteaArray(changed.map(({ marketId }) => marketId))];
  const [books, levels] = await Promise.all([
    query<[number, string, number, Buffer]>(LOAD_BOOKS, markets), query<[number, number, string]>(LOAD_LEVELS, markets),
  ]);
  for (const [place, firstPosition, changesToLevels, changes] of books) {
    placedAt(changed, place).book = { sizes: new Map(), firstPosition: Number(firstPosition), changesToLevels, changes: levelChanges(changes) };
  }
  for (const [market, place, size] of levels) placedAt(changed, market).book.sizes.set(place, BigInt(size));
}

/** Notes that the outcome adds `change` to the level at a place. */
function add(
  books: Map<string, BookChanges>, { position, at }: FoldedOutcome, { marketId, outcome, side, price }: Place, change: bigint,
): void {
  let changes = books.get(marketId);
  if (changes === undefined) {
    const book = { sizes: new Map(), firstPosition: position, changesToLevels: CHANGES_TO_LEVELS, changes: levelChanges() };
    books.set(marketId, changes = { marketId, updatedAt: at, levels: new Map(), steps: [], book });
  }
  changes.updatedAt = at;
  const place = (outcome * 2 + side) * 1_000_000 + price;
  let level = changes.levels.get(place);
  if (level === undefined) {
    level = { place, marketId, outcome, side, price, last: undefined, before: 0n, size: 0n };
    changes.levels.set(place, level);
  }
  if (level.last?.position === position) level.last.change += change;
  else changes.steps.push(level.last = { level, position, at, change });
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

function bookColumns(books: readonly BookChanges[]): unknown[] {
  return [
    byteaArray(books.map(({ marketId }) => marketId)),
    int8Array(books.map(({ book }) => book.firstPosition)),
    int8Array(books.map(({ updatedAt }) => updatedAt)),
    int4Array(books.map(({ book }) => book.changesToLevels)),
    bufferArray(books.map(({ book }) => book.changes.bytes())),
  ];
}

function blockColumns(blocks: readonly Block[]): unknown[] {
  return [
    int8Array(blocks.map(({ book }) => book)),
    int8Array(blocks.map(({ position }) => position)),
    bufferArray(blocks.map(({ changes }) => changes)),
    bufferArray(blocks.map(({ levels }) => levels)),
  ];
}
