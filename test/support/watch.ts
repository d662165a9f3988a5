/** Waiting for a condition that is looked at again whenever something has happened, instead of again and again. */
import { createBell } from '../../engine/waiting.js';

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
