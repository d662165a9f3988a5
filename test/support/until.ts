/** Waiting for a state in tests, with a limit: what never comes has a name in the failure, and no test goes on for ever. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createBell } from '../../engine/waiting.js';

/** The longest pause between two looks, and which part of the time so far the others are: most states come within a few milliseconds. */
const LOOK_MS = 100;
const LOOK_PART = 0.1;

/**
 * Resolves with what `find` gives as soon as that is something. Rejects when it has given nothing, or false, for `limitS` seconds, also when one
 * look does not come back; the error says that it was `what`, which may depend on how far it has come.
 */
export async function until<T>(
  what: string | (() => string), find: () => T | undefined | false | Promise<T | undefined | false>, limitS = 60,
): Promise<T> {
  const late = new AbortController();
  const look = async (): Promise<T> => {
    const begun = performance.now();
    for (;;) {
      const found = await find();
      if (found !== undefined && found !== false) return found;
      if (late.signal.aborted) throw new Error('too late');
      await sleep(Math.min(1 + LOOK_PART * (performance.now() - begun), LOOK_MS));
    }
  };
  return await within(what, look(), limitS).finally(() => { late.abort(); });
}

/** Resolves with what comes; rejects when that takes longer than `limitS` seconds, with `what` it is. */
export async function within<T>(what: string | (() => string), coming: Promise<T>, limitS = 60): Promise<T> {
  let patience: NodeJS.Timeout | undefined;
  coming.catch(() => undefined);
  try {
    return await Promise.race([
      coming,
      new Promise<never>((_resolve, reject) => {
        patience = setTimeout(() => {
          reject(new Error(`waited ${limitS} s, and it never came: ${typeof what === 'string' ? what : what()}`));
        }, limitS * 1_000);
      }),
    ]);
  } finally {
    clearTimeout(patience);
  }
}

export interface Watch {
  /** Something has happened. */
  ring(): void;
  /** Resolves once the condition holds. */
  until(what: string, condition: () => boolean): Promise<void>;
}

const PATIENCE_MS = 30_000;

export function createWatch(): Watch {
  const bell = createBell();
  const { signal } = new AbortController();
  return {
    ring: bell.ring,
    async until(what, condition) {
      while (!condition()) {
        if (await bell.wait(signal, PATIENCE_MS) === 'timeout' && !condition()) throw new Error(`never came: ${what}`);
      }
    },
  };
}

export async function turnsUntil(what: string, isSo: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!await isSo()) {
    if (performance.now() > end) throw new Error(`never came within ${patienceMs / 1_000} s: ${what}`);
    await new Promise(setImmediate);
  }
}
