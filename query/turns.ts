/** Turns at work that would otherwise crowd out the rest of the process. */
import { setImmediate } from 'node:timers/promises';
import { RequestError } from '../engine/records/errors.js';

/** Does the work when it is its turn, and resolves or rejects as the work does. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * At most `places` works at a time; the others wait, first come, first served. After each the process gets to all else
 * that waits. Throws RequestError `overloaded` when so many wait already.
 */
export function createTurns(places: number, mostWaiting = Infinity): Turns {
  const waiting: (() => void)[] = [];
  let free = places;
  return async (work) => {
    if (free > 0) free -= 1;
    else if (waiting.length >= mostWaiting) throw new RequestError('overloaded', `${mostWaiting} such requests wait already`);
    else await new Promise<void>((resolve) => { waiting.push(resolve); });
    try {
      return await work();
    } finally {
      await setImmediate();
      const next = waiting.shift();
      if (next === undefined) free += 1; else next();
    }
  };
}
