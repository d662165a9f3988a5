/** Reads the log ahead of the writer: follows and decodes outcomes while Postgres works on the previous batch. */
import { setImmediate } from 'node:timers/promises';
import { decodeOutcome } from '../engine/records/codec.js';
import { BrokenSequence, type Log, type LogRecord } from '../engine/log/log.js';
import { pause } from '../engine/waiting.js';
import type { FoldedOutcome } from './projection.js';

/** The most outcomes and events per batch. A single outcome is never split, however many events it has. */
export interface BatchLimits {
  readonly outcomes: number;
  readonly events: number;
}

export interface Inbox {
  /**
   * The next outcomes: at least one, and as many as have arrived within the limits; none once the signal has aborted.
   * When reading has failed, gives the outcomes before the failure first, and then throws the error.
   */
  take(): Promise<FoldedOutcome[]>;
  close(): Promise<void>;
}

/** This program cannot read an outcome. The projections stop, because no outcome may be skipped. */
export class UnreadableOutcome extends Error {
  constructor(readonly position: number, cause: unknown) {
    super(`outcome ${position} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'UnreadableOutcome';
  }
}

/** The number of outcomes decoded per turn of the event loop. */
const SLICE = 256;
/** A page with this many outcomes is large enough: a larger batch would not be much cheaper per outcome. */
const PLENTY = 500;

export interface InboxOptions {
  readonly log: Log;
  readonly from: number;
  readonly limits: BatchLimits;
  /** The pause after a small page, so that the next page has more outcomes. */
  readonly restMs: number;
  readonly signal: AbortSignal;
}

/** Starts reading. `close`, or the signal, ends the reading. */
export function openInbox({ log, from, limits, restMs, signal }: InboxOptions): Inbox {
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) stop.abort();
  let waiting: FoldedOutcome[] = [];
  let waitingEvents = 0;
  let ended = false;
  let failure: unknown;
  let wake: () => void = () => undefined;
  const changed = () => new Promise<void>((resolve) => { wake = resolve; });
  const isFull = () => waiting.length >= limits.outcomes || waitingEvents >= limits.events;

  const read = async () => {
    let next = from;
    for await (const records of log.follow('outcomes', from, stop.signal)) {
      for (let start = 0; start < records.length; start += SLICE) {
        while (isFull() && !stop.signal.aborted) await changed();
        for (const record of records.slice(start, start + SLICE)) {
          const outcome = decode(record, next++);
          waiting.push(outcome);
          waitingEvents += outcome.events.length;
        }
        wake();
        await setImmediate();
      }
      if (records.length < PLENTY && restMs > 0) await pause(restMs, stop.signal);
      if (stop.signal.aborted) return;
    }
  };
  stop.signal.addEventListener('abort', () => wake(), { once: true });
  const reading = read().catch((error: unknown) => { if (!stop.signal.aborted) failure = error; }).finally(() => {
    ended = true;
    wake();
  });

  const take = async (): Promise<FoldedOutcome[]> => {
    while (waiting.length === 0 && !ended && !stop.signal.aborted) await changed();
    if (stop.signal.aborted) return [];
    if (waiting.length === 0) throw failure ?? new Error('the log ended the outcomes, which must go on until the signal aborts');
    const batch = withinLimits(waiting, limits);
    waiting = waiting.slice(batch.length);
    waitingEvents = waiting.reduce((sum, { events }) => sum + events.length, 0);
    wake();
    return batch;
  };
  return {
    take,
    close: async () => {
      signal.removeEventListener('abort', onAbort);
      stop.abort();
      await reading;
    },
  };
}

/** The outcome in a record, which must have position `due`. Throws BrokenSequence, UnreadableOutcome. */
export function decode({ position, data }: LogRecord, due: number): FoldedOutcome {
  if (position !== due) throw new BrokenSequence('outcomes', due, position);
  try {
    const { at, events } = decodeOutcome(data);
    return { position, at, events };
  } catch (cause) {
    throw new UnreadableOutcome(position, cause);
  }
}

/** As many outcomes from the start as the limits allow, at least one. */
export function withinLimits(outcomes: readonly FoldedOutcome[], limits: BatchLimits): FoldedOutcome[] {
  let events = 0;
  for (const [length, outcome] of outcomes.entries()) {
    events += outcome.events.length;
    if (length === limits.outcomes || (length > 0 && events > limits.events)) return outcomes.slice(0, length);
  }
  return outcomes.slice();
}
