/** A machine whose clocks and free disk space a test sets, and the real machine's processes, for tests of what is left when one is killed. */
import { execFileSync } from 'node:child_process';
import { createBell } from '../../engine/waiting.js';
import type { Machine } from '../../service/status/conditions.js';
import { until } from './until.js';

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

export interface Listed {
  readonly pid: number;
  readonly parent: number;
  /** The process group: that of an embedded program is its own id, and its guard is in the same group. */
  readonly group: number;
  /** The command line. */
  readonly command: string;
}

/** All processes that run now. */
export function listProcesses(): readonly Listed[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,pgid=,args='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).trim().split('\n');
  return lines.map((line) => {
    const [pid, parent, group, ...command] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), group: Number(group), command: command.join(' ') };
  });
}

/** What the process has started, directly and indirectly, with the guards of the programs among them. */
export function startedBy(pid: number, all = listProcesses()): readonly Listed[] {
  const found = new Map<number, Listed>();
  for (const parents = [pid]; parents.length > 0;) {
    const parent = parents.pop();
    for (const each of all.filter((candidate) => candidate.parent === parent || (candidate.group === parent && parent !== pid))) {
      if (each.pid === pid || found.has(each.pid)) continue;
      found.set(each.pid, each);
      parents.push(each.pid);
    }
  }
  return [...found.values()];
}

/** Kills the guard of an embedded program, so that the program outlives its owner. */
export function killGuardOf(pid: number): void {
  const guards = listProcesses().filter((each) => each.group === pid && each.pid !== pid && each.command.includes('guard()'));
  if (guards.length !== 1) throw new Error(`process ${pid} has ${guards.length} guards`);
  process.kill(guards[0]!.pid, 'SIGKILL');
}

/** Whether a process with the number runs. A zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}

/** Resolves when none of the processes runs any more. */
export async function haveEnded(pids: readonly number[]): Promise<void> {
  await until(`processes ${pids.join()} have ended`, () => !pids.some(isRunning));
}
