/** Book levels: what rests at each price, and when a market's book last changed. Changes add up, so nothing has to be loaded. */
import { BUY, SELL, type Outcome, type Side } from '../engine/fields.js';
import { byteaArray, int2Array, int4Array, int8Array, numericArray } from './columns.js';
import { InconsistentHistory, type FoldedOutcome, type Query } from './projection.js';

/** Returns a level that would hold less than nothing, if there is one. */
const UPSERT_LEVELS = {
  name: 'upsert_levels',
  text: `
    with changed as (
      insert into levels (market_id, outcome, side, price, size)
      select * from unnest($1::bytea[], $2::smallint[], $3::smallint[], $4::integer[], $5::numeric[])
      on conflict (market_id, outcome, side, price) do update set size = levels.size + excluded.size
      returning market_id, outcome, side, price, size
    ) select encode(market_id, 'hex'), outcome, side, price from changed where size < 0 limit 1`,
};

const DELETE_EMPTY_LEVELS = {
  name: 'delete_empty_levels',
  text: `
    delete from levels using unnest($1::bytea[], $2::smallint[], $3::smallint[], $4::integer[])
      as shrunk (market_id, outcome, side, price)
    where levels.market_id = shrunk.market_id and levels.outcome = shrunk.outcome and levels.side = shrunk.side
      and levels.price = shrunk.price and levels.size = 0`,
};

const UPSERT_BOOKS = {
  name: 'upsert_books',
  text: `
    insert into books (market_id, updated_at_ms) select * from unnest($1::bytea[], $2::bigint[])
    on conflict (market_id) do update set updated_at_ms = excluded.updated_at_ms`,
};

interface Place {
  readonly marketId: string;
  readonly outcome: Outcome;
  readonly side: Side;
  readonly price: number;
}

interface Level extends Place {
  change: bigint;
}

interface Book {
  updatedAt: number;
  readonly levels: Map<number, Level>;
}

/** Writes what a batch adds to and takes from levels; one that is down to 0 is deleted. */
export async function foldLevels(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const books = collect(batch);
  if (books.size === 0) return;
  const changed: Level[] = [];
  for (const { levels } of books.values()) {
    for (const level of levels.values()) if (level.change !== 0n) changed.push(level);
  }
  if (changed.length > 0) {
    const columns = [...placeColumns(changed), numericArray(changed.map(({ change }) => change))];
    const [overdrawn] = await query<[string, Outcome, Side, number]>(UPSERT_LEVELS, columns);
    if (overdrawn !== undefined) throw new InconsistentHistory(`level (market, outcome, side, price) ${overdrawn.join()} gives more than it has`);
    const shrunk = changed.filter(({ change }) => change < 0n);
    if (shrunk.length > 0) await query(DELETE_EMPTY_LEVELS, placeColumns(shrunk));
  }
  await query(UPSERT_BOOKS, [byteaArray([...books.keys()]), int8Array([...books.values()].map(({ updatedAt }) => updatedAt))]);
}

function collect(batch: readonly FoldedOutcome[]): Map<string, Book> {
  const books = new Map<string, Book>();
  const add = (at: number, place: Place, change: bigint) => {
    let book = books.get(place.marketId);
    if (book === undefined) books.set(place.marketId, book = { updatedAt: at, levels: new Map() });
    book.updatedAt = at;
    const key = (place.outcome * 2 + place.side) * 1_000_000 + place.price;
    const level = book.levels.get(key);
    if (level === undefined) {
      const { marketId, outcome, side, price } = place;
      book.levels.set(key, { marketId, outcome, side, price, change });
    } else {
      level.change += change;
    }
  };
  for (const { at, events } of batch) {
    for (const event of events) {
      switch (event.type) {
        case 'OrderRested':
          add(at, event, BigInt(event.size));
          break;
        case 'FillMatched': {
          const { marketId, outcome, price } = event;
          add(at, { marketId, outcome, side: event.takerSide === BUY ? SELL : BUY, price }, -BigInt(event.size));
          break;
        }
        case 'OrderCancelled':
          if (event.rested !== '0') add(at, event, -BigInt(event.rested));
          break;
        case 'MarketOpened': case 'MarketClosed': case 'OrderAccepted': case 'FillSettled': case 'FillFailed': case 'OrderReinstated':
        case 'OrderRepeated': case 'CancelRepeated': case 'CommandRejected':
          break;
      }
    }
  }
  return books;
}

function placeColumns(places: readonly Place[]): unknown[] {
  return [
    byteaArray(places.map(({ marketId }) => marketId)),
    int2Array(places.map(({ outcome }) => outcome)),
    int2Array(places.map(({ side }) => side)),
    int4Array(places.map(({ price }) => price)),
  ];
}
