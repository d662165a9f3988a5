/** A seeded mix of book operations: 50 % orders that rest, 30 % that cross, 20 % cancels of orders that rest at that time. */
import { HASH_WORDS, readHash } from '../../engine/book/order-record.js';
import { YES, type Side } from '../../engine/records/fields.js';
import { createRandom } from '../support/random-commands.js';
import { Matching, type Place } from './book-matching.js';

/** Both kinds have all the fields, so that code that meets both meets one kind of object. A cancel reads only `book` and the hash. */
export interface BookOperation extends Place {
  readonly cancel: boolean;
  /** The hash as a string, for the peer; `keys` has it as words. */
  readonly orderHash: string;
}

const MID = 500_000;
/** Orders rest up to this many ticks from the middle, more of them the nearer. */
const DEPTH = 400;

/** `resting` orders to begin with, then the mix. The same seed gives the same operations. */
export function bookOperations(seed: number, given: { books: number; resting: number; operations: number }): BookOperation[] {
  const random = seeded(seed);
  const market = new Market(given.books);
  const operations: BookOperation[] = [];
  const keys = new Int32Array((given.resting + given.operations) * HASH_WORDS);
  for (let i = 0; i < given.resting + given.operations; i++) {
    const dice = i < given.resting ? 0 : random();
    const cancel = dice >= 0.8 && market.resting.length > 0;
    const order = cancel
      ? market.resting[Math.floor(random() * market.resting.length)]!
      : newOrder(random, { books: given.books, crosses: dice >= 0.5 });
    const { orderHash, book, side, price, sizeHi, sizeLo } = order;
    // Every operation brings words of its own, as a decoder would hand them over.
    const from = i * HASH_WORDS;
    readHash(orderHash, keys.subarray(from));
    const operation = { cancel, orderHash, keys, from, book, number: i, side, outcome: YES, price, sizeHi, sizeLo };
    operations.push(operation);
    if (cancel) market.cancel(operation);
    else market.place(operation);
  }
  return operations;
}

/** Numbers of 0 to 1, the same on every machine. */
export function seeded(seed: number): () => number {
  const random = createRandom(seed);
  return () => random() / 2 ** 32;
}

/** A hash as the engine meets it: a flat string, as JSON.parse makes them, not one that is still in pieces. */
export function randomHash(random: () => number): string {
  const text = Buffer.from('0x'.padEnd(66, '0'), 'latin1');
  for (let i = 0; i < 8; i++) text.write(Math.floor(random() * 2 ** 32).toString(16).padStart(8, '0'), 2 + i * 8, 'latin1');
  return text.toString('latin1');
}

function newOrder(random: () => number, given: { books: number; crosses: boolean }) {
  const orderHash = randomHash(random);
  const side: Side = random() < 0.5 ? 0 : 1;
  const distance = 1 + Math.floor(random() ** 3 * DEPTH);
  // A crossing order is priced through the middle; an order that rests stays on its own side of it.
  const below = (side === 0) !== given.crosses;
  return {
    orderHash, book: Math.floor(random() * given.books), side, price: below ? MID - distance : MID + distance,
    sizeHi: 0, sizeLo: 1_000_000 * (1 + Math.floor(random() * 100)),
  };
}

/** The books as the operations so far leave them, and which orders rest. */
class Market {
  readonly resting: BookOperation[] = [];
  private readonly places = new Map<string, number>();
  private readonly matching: Matching;

  constructor(books: number) {
    this.matching = new Matching(books);
  }

  place(order: BookOperation): void {
    const { matching } = this;
    matching.walk(order);
    const makers = Array.from(matching.makers.subarray(0, matching.fills), (maker) => matching.pool.hashOf(maker));
    matching.apply(order);
    for (const maker of makers) {
      if (matching.pool.find(maker) < 0) this.forget(maker);
    }
    if (matching.pool.find(order.orderHash) < 0) return;
    this.places.set(order.orderHash, this.resting.length);
    this.resting.push(order);
  }

  cancel(order: BookOperation): void {
    this.matching.cancel(order);
    this.forget(order.orderHash);
  }

  private forget(orderHash: string): void {
    const place = this.places.get(orderHash)!;
    const last = this.resting.pop()!;
    this.places.delete(orderHash);
    if (last.orderHash === orderHash) return;
    this.resting[place] = last;
    this.places.set(last.orderHash, place);
  }
}
