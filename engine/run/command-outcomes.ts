/** Outcomes as they are computed, for the code that waits for one: the writers that answer clients, and the projections' wake-up. */
import { decodeOutcome, type CommandOutcome } from '../records/codec.js';
import type { Step } from './engine.js';
import { LogUnavailable, type Log } from '../log/log.js';

/** How many of the latest outcomes are kept in memory; a power of two. */
const KEPT = 4_096;

export interface CommandOutcomes {
  /** Outcomes before this position are in the log; outcomes from this position on are published. */
  begin(position: number): void;
  publish(step: Step): void;
  /**
   * The outcome of the command at a position: now, or as soon as the engine has computed it. Rejects when the engine has stopped, and with
   * LogUnavailable when the outcome is computed but is neither in memory nor recorded yet.
   */
  outcomeOf(position: number): Promise<CommandOutcome>;
  /** The engine has stopped: rejects every waiting promise with `reason`. */
  close(reason: Error): void;
}

export function createCommandOutcomes(log: Log): CommandOutcomes {
  const recent = new Array<Step | undefined>(KEPT);
  const waiting = new Map<number, { resolve: (outcome: CommandOutcome) => void; reject: (reason: Error) => void }[]>();
  let closed: Error | undefined;
  let next = 0;
  return {
    begin(position) {
      next = position;
    },
    publish(step) {
      recent[step.position % KEPT] = step;
      next = step.position + 1;
      const waiters = waiting.get(step.position);
      if (waiters === undefined) return;
      waiting.delete(step.position);
      for (const { resolve } of waiters) resolve(step.outcome);
    },
    outcomeOf(position) {
      const step = recent[position % KEPT];
      if (step?.position === position) return Promise.resolve(step.outcome);
      if (position < next) return recordedOutcome(log, position);
      if (closed !== undefined) return Promise.reject(closed);
      return new Promise((resolve, reject) => {
        const waiters = waiting.get(position);
        if (waiters === undefined) waiting.set(position, [{ resolve, reject }]);
        else waiters.push({ resolve, reject });
      });
    },
    close(reason) {
      closed = reason;
      for (const waiters of waiting.values()) for (const { reject } of waiters) reject(reason);
      waiting.clear();
    },
  };
}

async function recordedOutcome(log: Log, position: number): Promise<CommandOutcome> {
  const [record] = await log.read('outcomes', position, 1);
  if (record === undefined) {
    throw new LogUnavailable(false, { cause: new Error(`outcome ${position} is computed but not recorded yet: no engine records outcomes`) });
  }
  const { at, events } = decodeOutcome(record.data);
  return { at, events };
}
