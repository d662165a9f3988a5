/** What each level of a book was after each outcome that touched it: by the history, and by the tables of the read model `orders`. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import { readLevelChanges } from '../../engine/records/level-changes.js';
import type { Rows } from './projected.js';

/** What each level is after each outcome that touches it. */
export function levelHistoryOf(outcomes: readonly CommandOutcome[]): Rows[string] {
  const sizes = new Map<string, bigint>();
  const books = new Map<string, string>();
  return outcomes.flatMap(({ at, events }, n) => {
    const touched = new Map<string, object>();
    const add = (of: { marketId: string; outcome: number; side: number; price: number }, change: bigint): void => {
      const place = of.outcome * 2_000_000 + of.side * 1_000_000 + of.price;
      const key = `${of.marketId},${place}`;
      sizes.set(key, (sizes.get(key) ?? 0n) + change);
      const first = books.get(of.marketId) ?? String(n);
      books.set(of.marketId, first);
      touched.set(key, { book: first, position: String(n), place, size: String(sizes.get(key)), at_ms: String(at) });
    };
    for (const event of events) {
      if (event.type === 'OrderRested') add(event, BigInt(event.size));
      else if (event.type === 'FillMatched') add({ ...event, side: 1 - event.takerSide }, -BigInt(event.size));
      else if (event.type === 'OrderReduced') add(event, -BigInt(event.reduced));
      else if (event.type === 'OrderCancelled' && event.rested !== '0') add(event, -BigInt(event.rested));
    }
    return [...touched.values()] as Record<string, unknown>[];
  }).sort(byText);
}

/** The same as the tables have it: blocks, and what no block has yet. */
export function storedHistoryOf({ level_history: blocks = [], books = [] }: Rows): Rows[string] {
  return books.flatMap(({ first_position: book, changes: newest }) => (
    [...blocks.filter((block) => block['book'] === book).map(({ changes }) => changes), newest].flatMap((changes) => (
      readLevelChanges(Buffer.from((changes as string).slice(2), 'hex')).map(({ position, place, size, at }) => (
        { book, position: String(position), place, size: String(size), at_ms: String(at) }))))
  )).sort(byText);
}

const byText = (a: object, b: object) => Object.values(a).join() < Object.values(b).join() ? -1 : 1;
