/** A machine whose clocks and free disk space a test sets. */
import type { Machine } from '../../service/status/conditions.js';
import { createBell } from '../../engine/waiting.js';

/** A look costs little, and tests wait for it. */
const LOOK_EVERY_MS = 50;

export interface TestMachine extends Machine {
  /** Added to the true time by the wall clock, in milliseconds. */
  wallAheadMs: number;
  /** Added to the monotonic clock's true time, in milliseconds. */
  monotonicAheadMs: number;
  /** Added by all three clocks, in milliseconds: time that has passed here and not for the databases, so CLOCK_MAX_JUMP_S must allow it. */
  passedMs: number;
  freeBytes: number;
  /** Resolves when the process has looked at its clocks and its disk `count` more times. */
  looks(count: number): Promise<void>;
}

const LOOK_WITHIN_MS = 60_000;

export function testMachine(): TestMachine {
  const looked = createBell();
  const never = new AbortController().signal;
  const machine: TestMachine = {
    wallAheadMs: 0, monotonicAheadMs: 0, passedMs: 0, freeBytes: 1_000_000_000_000, lookEveryMs: LOOK_EVERY_MS,
    clocks: {
      wall: () => Date.now() + machine.passedMs + machine.wallAheadMs,
      monotonic: () => performance.now() + machine.passedMs + machine.monotonicAheadMs,
      boot: () => performance.now() + machine.passedMs,
    },
    spaceOf() {
      looked.ring();
      return Promise.resolve({ device: 1, freeBytes: machine.freeBytes });
    },
    async looks(count) {
      for (let i = 0; i < count; i++) {
        if (await looked.wait(never, LOOK_WITHIN_MS) !== 'rung') throw new Error('the process does not look at its disk');
      }
    },
  };
  return machine;
}
