/** Outcomes as they are computed, for the code that waits for one: the writers that answer clients, and the projections' wake-up. */
import { decodeOutcome, type CommandOutcome } from '../records/codec.js';
import type { Step } from './engine.js';
import { replaced } from '../log/tail.js';
import { LogUnavailable, type Log } from '../log/log.js';

/** How many of the latest outcomes are kept in memory; a power of two. */
const KEPT = 4_096;

export interface CommandOutcomes {
  /** Outcomes before this position are in the log; outcomes from this position on are published. */
  begin(position: number): void;
  /** `id`: that of the command's record. */
  publish(step: Step, id: string): void;
  /**
   * The outcome of the command at a position: now, or as soon as the engine has computed it. With `id`, only if the command's record has that
   * id. Rejects with RecordsLost when another one is at the position, when the engine has stopped, and with LogUnavailable when the outcome is
   * computed but is neither in memory nor recorded yet.
   */
  outcomeOf(position: number, id?: string): Promise<CommandOutcome>;
  /** The engine has stopped: rejects every waiting promise with `reason`. After a failure, every later question too, also for what is known. */
  close(reason: Error, options: { readonly hasFailed: boolean }): void;
}

interface Waiter {
  readonly id: string | undefined;
  readonly resolve: (outcome: CommandOutcome) => void;
  readonly reject: (reason: Error) => void;
}

/** `lost` is called when a position has another command than the one that was written there. */
export function createCommandOutcomes(log: Log, lost: (error: Error) => void = () => undefined): CommandOutcomes {
  const recent = new Array<Step | undefined>(KEPT);
  /** The ids of the records of `recent`. */
  const ids = new Array<string | undefined>(KEPT);
  const waiting = new Map<number, Waiter[]>();
  let closed: { readonly reason: Error; readonly hasFailed: boolean } | undefined;
  let next = 0;

  const otherCommand = (position: number): Error => {
    const error = replaced('commands', position);
    lost(error);
    return error;
  };
  const oldOutcome = async (position: number, id: string | undefined): Promise<CommandOutcome> => {
    if (id !== undefined && !await isRecorded(log, position, id)) throw otherCommand(position);
    return recordedOutcome(log, position);
  };
  return {
    begin(position) {
      next = position;
    },
    publish(step, recordId) {
      recent[step.position % KEPT] = step;
      ids[step.position % KEPT] = recordId;
      next = step.position + 1;
      const waiters = waiting.get(step.position);
      if (waiters === undefined) return;
      waiting.delete(step.position);
      for (const { id, resolve, reject } of waiters) {
        if (id === undefined || id === recordId) resolve(step.outcome);
        else reject(otherCommand(step.position));
      }
    },
    outcomeOf(position, id) {
      if (closed?.hasFailed === true) return Promise.reject(closed.reason);
      const step = recent[position % KEPT];
      if (step?.position === position) {
        return id === undefined || id === ids[position % KEPT] ? Promise.resolve(step.outcome) : Promise.reject(otherCommand(position));
      }
      if (position < next) return oldOutcome(position, id);
      if (closed !== undefined) return Promise.reject(closed.reason);
      return new Promise((resolve, reject) => {
        const waiters = waiting.get(position);
        if (waiters === undefined) waiting.set(position, [{ id, resolve, reject }]);
        else waiters.push({ id, resolve, reject });
      });
    },
    close(reason, { hasFailed }) {
      closed ??= { reason, hasFailed };
      for (const waiters of waiting.values()) for (const { reject } of waiters) reject(reason);
      waiting.clear();
    },
  };
}

/** Whether the command at a position, which the engine decided long ago, is the record with this id. */
async function isRecorded(log: Log, position: number, id: string): Promise<boolean> {
  const [record] = await log.read('commands', position, 1);
  return record?.id === id;
}

async function recordedOutcome(log: Log, position: number): Promise<CommandOutcome> {
  const [record] = await log.read('outcomes', position, 1);
  if (record === undefined) {
    throw new LogUnavailable(false, { cause: new Error(`outcome ${position} is computed but not recorded yet: no engine records outcomes`) });
  }
  const { at, events } = decodeOutcome(record.data);
  return { at, events };
}
