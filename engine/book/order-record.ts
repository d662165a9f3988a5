/**
 * An order's record: 16 words, one cache line. With a thousand books under load, an order takes one memory access; with one array per
 * value it would take ten.
 */
import { CHUNK_SLOTS } from './columns.js';
import { HASH_WORDS } from './order-hash.js';

export const RECORD_BITS = 4;

/** Words of a record. 0 to 7 are the hash. */
export const FLAGS = HASH_WORDS;
export const BOOK = 9;
export const NUMBER_HI = 10;
export const NUMBER_LO = 11;
export const REMAINING_HI = 12;
export const REMAINING_LO = 13;
/** Neighbours in the same level, as slot + 1; 0 means no neighbour. NEXT of a free slot links the free list. */
export const NEXT = 14;
export const PREVIOUS = 15;

/** Bits of FLAGS. A free slot has none. */
export const PRICE_MASK = 0xf_ffff;
export const SIDE = 1 << 20;
export const OUTCOME = 1 << 21;
export const RESTING = 1 << 22;
export const IN_USE = 1 << 23;

const WORD = 2 ** 32;

/** Where a slot's record starts in its chunk. */
export function recordAt(slot: number): number {
  return (slot & (CHUNK_SLOTS - 1)) << RECORD_BITS;
}

/** The order's number: the log position of its PlaceOrder, its time priority. */
export function numberIn(words: Int32Array, base: number): number {
  return (words[base + NUMBER_HI]! >>> 0) * WORD + (words[base + NUMBER_LO]! >>> 0);
}

/** The order's price as a key that is higher for a better price: the price of a bid, the negative price of an ask. */
export function priorityIn(words: Int32Array, base: number): number {
  const flags = words[base + FLAGS]!;
  const price = flags & PRICE_MASK;
  return (flags & SIDE) === 0 ? price : -price;
}

/** remaining += (hi, lo). Throws RangeError beyond 2^64-1, and then changes nothing. */
export function addRemainingIn(words: Int32Array, base: number, hi: number, lo: number): void {
  const sumLo = (words[base + REMAINING_LO]! >>> 0) + lo;
  const sumHi = (words[base + REMAINING_HI]! >>> 0) + hi + (sumLo >= WORD ? 1 : 0);
  if (sumHi >= WORD) throw new RangeError('the remaining size would pass 2^64-1');
  words[base + REMAINING_HI] = sumHi;
  words[base + REMAINING_LO] = sumLo;
}

/** remaining -= (hi, lo); returns whether anything remains. Throws RangeError below 0, and then changes nothing. */
export function subtractRemainingIn(words: Int32Array, base: number, hi: number, lo: number): boolean {
  const restLo = (words[base + REMAINING_LO]! >>> 0) - lo;
  const restHi = (words[base + REMAINING_HI]! >>> 0) - hi - (restLo < 0 ? 1 : 0);
  if (restHi < 0) throw new RangeError('more was taken than remains');
  words[base + REMAINING_HI] = restHi;
  words[base + REMAINING_LO] = restLo;
  return (restHi | restLo) !== 0;
}
