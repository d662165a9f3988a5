/**
 * Virtual time: one scheduler owns the clock, every timer of the program and all randomness. While it is installed, `setTimeout`,
 * `setInterval`, `setImmediate`, those of node:timers/promises, `performance.now`, `Date.now` and `Math.random` are its own, so the real
 * code runs on it unchanged. One run at a time per process, since these are globals.
 */
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { createRandom } from '../../support/random-commands.js';

/** The wall clock at virtual time 0: a whole second. */
export const START_MS = 1_800_000_000_000;

export interface VirtualTime {
  /** Milliseconds since the start. */
  now(): number;
  /** Calls once after so many milliseconds. */
  after(ms: number, call: () => void): void;
  /** Resolves after so many milliseconds. */
  sleep(ms: number): Promise<void>;
  /** A number from 0 up to 1, of the run's seed. */
  random(): number;
  /** A whole number below n. */
  below(n: number): number;
  /** True once in n. */
  once(n: number): boolean;
  /**
   * Runs one timer after the other, the earliest first. After each, everything that it let go on runs to its end, then `stepped` is called.
   * Ends when `until` is true, or at the virtual time `endMs`.
   */
  run(options: { readonly until: () => boolean; readonly endMs: number; readonly stepped: () => void }): Promise<void>;
  /** How many timers have run. */
  readonly turns: number;
  /** Gives the globals back. */
  restore(): void;
}

interface Timer {
  readonly atMs: number;
  readonly number: number;
  call: (() => void) | undefined;
  /** Of an interval. */
  readonly everyMs?: number;
}

const real = {
  setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval, clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate, clearImmediate: globalThis.clearImmediate, random: Math.random, dateNow: Date.now,
  sleep: timersPromises.setTimeout, immediate: timersPromises.setImmediate,
};
const realPerformanceNow = performance.now;
/** Some virtual time has passed since the process began, as in every process. */
const MONOTONIC_START_MS = 1_000;

export function installVirtualTime(seed: number): VirtualTime {
  const queue = createTimerQueue();
  const next = createRandom(seed);
  const random = (): number => next() / 0x1_0000_0000;
  let nowMs = 0;
  let turns = 0;

  function start(ms: number, call: () => void, everyMs?: number): VirtualTimer {
    const delay = Number.isFinite(ms) ? Math.max(0, ms) : 0;
    return new VirtualTimer(queue.add(nowMs + delay, call, everyMs));
  }

  Object.assign(globalThis, {
    setTimeout: (call: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) => start(Math.max(1, ms), () => { call(...args); }),
    setInterval(call: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) {
      return start(Math.max(1, ms), () => { call(...args); }, Math.max(1, ms));
    },
    setImmediate: (call: (...args: unknown[]) => void, ...args: unknown[]) => start(0, () => { call(...args); }),
    clearTimeout: stop, clearInterval: stop, clearImmediate: stop,
  });
  performance.now = () => MONOTONIC_START_MS + nowMs;
  Date.now = () => Math.floor(START_MS + nowMs);
  Math.random = random;
  Object.assign(timersPromises, {
    setTimeout(ms = 1, value?: unknown, options: { signal?: AbortSignal } = {}) {
      return promised(value, options.signal, (call) => start(Math.max(1, ms), call));
    },
    setImmediate: (value?: unknown, options: { signal?: AbortSignal } = {}) => promised(value, options.signal, (call) => start(0, call)),
  });
  syncBuiltinESMExports();

  return {
    now: () => nowMs,
    after(ms, call) { start(ms, call); },
    sleep: (ms) => new Promise((resolve) => { start(ms, resolve); }),
    random,
    below: (n) => next() % n,
    once: (n) => next() % n === 0,
    get turns() { return turns; },
    async run({ until, endMs, stepped }) {
      await settled();
      for (;;) {
        if (until()) return;
        const timer = queue.take(endMs);
        if (timer === undefined) {
          nowMs = Math.max(nowMs, endMs);
          return;
        }
        nowMs = timer.atMs;
        turns += 1;
        const { call, everyMs } = timer;
        if (everyMs !== undefined && call !== undefined) queue.again(timer, nowMs + everyMs);
        call?.();
        await settled();
        stepped();
      }
    },
    restore() {
      const { random: mathRandom, dateNow, sleep, immediate, ...globals } = real;
      Object.assign(globalThis, globals);
      Math.random = mathRandom;
      Date.now = dateNow;
      performance.now = realPerformanceNow;
      Object.assign(timersPromises, { setTimeout: sleep, setImmediate: immediate });
      syncBuiltinESMExports();
    },
  };
}

/** Resolves when every promise job and every `process.nextTick` has run: both come before the next real immediate. */
function settled(): Promise<void> {
  return new Promise((resolve) => { real.setImmediate(resolve); });
}

class VirtualTimer {
  constructor(readonly timer: Timer) {}
  ref(): this { return this; }
  unref(): this { return this; }
  hasRef(): boolean { return true; }
}

function stop(handle: unknown): void {
  if (handle instanceof VirtualTimer) handle.timer.call = undefined;
}

function promised(value: unknown, signal: AbortSignal | undefined, begin: (call: () => void) => VirtualTimer): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(new Error('aborted', { cause: signal.reason }));
      return;
    }
    const abort = (): void => {
      stop(timer);
      reject(new Error('aborted', { cause: signal?.reason }));
    };
    const timer = begin(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** A heap: the earliest timer first, and of several at one time the one that was started first, as in Node. */
function createTimerQueue() {
  const heap: Timer[] = [];
  let started = 0;
  const isBefore = (a: Timer, b: Timer): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);

  function push(timer: Timer): Timer {
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(timer, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = timer;
    return timer;
  }

  function pop(): void {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      let child = heap[below];
      const right = heap[below + 1];
      if (child === undefined) break;
      if (right !== undefined && isBefore(right, child)) {
        below += 1;
        child = right;
      }
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
  }

  return {
    add(atMs: number, call: () => void, everyMs?: number): Timer {
      return push({ atMs, number: started++, call, ...everyMs === undefined ? {} : { everyMs } });
    },
    /** Starts an interval's next turn; it stays the same timer, so that it can be stopped. */
    again(timer: Timer, atMs: number): void { push(Object.assign(timer, { atMs, number: started++ })); },
    /** Removes the first timer that is due by `endMs` and was not stopped. */
    take(endMs: number): Timer | undefined {
      for (;;) {
        const [first] = heap;
        if (first === undefined || first.atMs > endMs) return undefined;
        pop();
        if (first.call !== undefined) return first;
      }
    },
  };
}
