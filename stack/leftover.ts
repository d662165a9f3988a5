/** Ends a Postgres or a chain: its own owner's, or one that a killed owner has left running and that must not go on beside the next one. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pause } from '../engine/waiting.js';

/** Whether the process runs, and its command line has this path: the number may be that of another process by now. */
export function runsOn(pid: number, path: string): boolean {
  try {
    const command = process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      : execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes(path);
  } catch {
    return false;
  }
}

/** Whether any process has this id. */
export function isInUse(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export interface ProcessEnding {
  readonly ended: () => boolean;
  /** One after the other, each when the process has not ended so long after the one before. */
  readonly signals: readonly NodeJS.Signals[];
  readonly timeoutMs: number;
}

/** Resolves when the process has ended. Throws when no signal ends it. */
export async function endProcess(pid: number, { ended, signals, timeoutMs }: ProcessEnding): Promise<void> {
  for (const signal of signals) {
    if (ended()) return;
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    for (let waitedMs = 0; waitedMs < timeoutMs && !ended(); waitedMs += 20) await pause(20);
  }
  if (!ended()) throw new Error(`process ${pid} cannot be stopped: end it by hand`);
}
