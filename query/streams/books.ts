/** The channels `book:{marketId}`: the levels of a market's books, from which snapshots and changes are made. */
import type { Event, FillMatched } from '../../engine/records/events.js';
import { BUY, NO, SELL, YES, type MarketOutcome, type Side } from '../../engine/records/fields.js';
import { Message } from './message.js';
import { textOf, type Telling, type Thread } from './thread.js';

/** A market's books at a position. */
export interface BookOpening {
  readonly kind: 'book';
  /** The last position at which an order touched the books; -1 without one. */
  readonly last: number;
  /** Its engine time in milliseconds; 0 without one. */
  readonly at: number;
  /** The sizes of the levels, by (outcome * 2 + side) * 1000000 + price. */
  readonly levels: ReadonlyMap<number, bigint>;
}

interface Book extends Thread {
  at: number;
  readonly levels: Map<number, bigint>;
  /** Made when it is first asked for after a change. */
  snapshot: Message | undefined;
}

export interface Books {
  add(name: string, marketId: string, opening: BookOpening): void;
  remove(marketId: string): BookOpening;
  take(event: Event): void;
  /** Tells what the outcome has changed. Throws Error when a level falls below 0. */
  end(telling: Telling): void;
  /** The books as after their last change. */
  snapshot(marketId: string): Message;
}

export function createBooks(): Books {
  const books = new Map<string, Book>();
  const changes = new Map<Book, Set<number>>();

  const bookOf = (marketId: string): Book => {
    const book = books.get(marketId);
    if (book === undefined) throw new Error(`nobody reads the book of ${marketId}`);
    return book;
  };
  const change = ({ marketId, outcome, side, price }: Place, by: bigint): void => {
    const book = books.get(marketId);
    if (book === undefined) return;
    const place = (outcome * 2 + side) * 1_000_000 + price;
    const size = (book.levels.get(place) ?? 0n) + by;
    if (size < 0n) throw new Error(`the level at ${price} of ${book.name} falls below 0: this contradicts the outcomes before`);
    if (size === 0n) book.levels.delete(place); else book.levels.set(place, size);
    const places = changes.get(book);
    if (places === undefined) changes.set(book, new Set([place])); else places.add(place);
  };

  return {
    add(name, marketId, { last, at, levels }) { books.set(marketId, { name, last, at, levels: new Map(levels), snapshot: undefined }); },
    remove(marketId) {
      const { last, at, levels } = bookOf(marketId);
      books.delete(marketId);
      return { kind: 'book', last, at, levels };
    },
    take(event) {
      switch (event.type) {
        case 'OrderRested': change(event, BigInt(event.size)); break;
        case 'OrderReduced': change(event, -BigInt(event.reduced)); break;
        case 'FillMatched': change(makerPlace(event), -BigInt(event.size)); break;
        case 'OrderCancelled': if (event.rested !== '0') change(event, -BigInt(event.rested)); break;
        default:
      }
    },
    end(telling) {
      for (const [book, places] of changes) {
        const levels = [...places].map((place) => levelText(place, book.levels.get(place) ?? 0n));
        telling.messages.push(new Message(book.name, telling.position, textOf(book, telling, 'change', { levels: `[${levels.join(',')}]` })));
        book.last = telling.position;
        book.at = telling.at;
        book.snapshot = undefined;
      }
      changes.clear();
    },
    snapshot(marketId) {
      const book = bookOf(marketId);
      return book.snapshot ??= new Message(book.name, book.last, textOf(book, { position: book.last, at: book.at }, 'snapshot', {
        yes: sidesText(book.levels, YES), no: sidesText(book.levels, NO),
      }));
    },
  };
}

interface Place {
  readonly marketId: string;
  readonly outcome: MarketOutcome;
  readonly side: Side;
  readonly price: number;
}

function makerPlace({ marketId, outcome, price, takerSide }: FillMatched): Place {
  return { marketId, outcome, side: takerSide === BUY ? SELL : BUY, price };
}

function levelText(place: number, size: bigint): string {
  const book = Math.floor(place / 1_000_000);
  return `{"outcome":${book >> 1},"side":${book & 1},"price":${place % 1_000_000},"size":${size}}`;
}

function sidesText(levels: ReadonlyMap<number, bigint>, outcome: MarketOutcome): string {
  const side = (wanted: Side) => {
    const own = [...levels].filter(([place]) => Math.floor(place / 1_000_000) === outcome * 2 + wanted);
    own.sort(([a], [b]) => wanted === BUY ? b - a : a - b);
    return `[${own.map(([place, size]) => `{"price":${place % 1_000_000},"size":${size}}`).join(',')}]`;
  };
  return `{"bids":${side(BUY)},"asks":${side(SELL)}}`;
}
