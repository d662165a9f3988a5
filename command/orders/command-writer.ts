/**
 * Writes a command to the log by group commit and waits for the engine's answer. A failure says whether the command was
 * certainly not written, or whether that is unknown. What is underway is known too: the same request again waits for it
 * instead of adding a record.
 */
import { BriefMap } from '../../engine/waiting.js';
import { encodeCommand, writerIds } from '../../engine/run/new-record.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type {
  AdvanceClock, CancelAfter, CancelAll, CancelOrder, CancelOrders, PlaceOrder, ReduceOrder, SyncPosition,
} from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { BrokenSequence, LogUnavailable, RecordsLost, type NewRecord } from '../../engine/log/log.js';
import { QueueFull, type GroupCommit } from '../../engine/log/group-commit.js';
import type { Submit, Submitted } from './order-ports.js';

export interface CommandWriterOptions {
  readonly commits: Pick<GroupCommit, 'append' | 'appendAll'>;
  /**
   * Resolves with the outcome of the command at a position, once the engine has decided it; `id` is that of the
   * command's record.
   */
  readonly outcomeOf: (position: number, id: string) => Promise<CommandOutcome>;
  /** A part of the records' ids that differs for each process and each start. */
  readonly writerId: string;
  /** After this time the client gets `outcome_unknown`; the command is not withdrawn. */
  readonly answerWithinMs: number;
}

const LOST = 'the log has lost records, and the exchange stops until they are back';

const CONTRADICTION = 'the log contradicts itself, and this process ends; whether the log has the request is seen when '
  + 'it is in order again: send it again then, it is carried out once';

/** The commands of client requests. */
export type Written = AdvanceClock | PlaceOrder | CancelOrder | CancelOrders | CancelAll | CancelAfter | ReduceOrder | SyncPosition;

export interface CommandWriter {
  readonly submit: Submit<Written>;
  /** Writes commands in one append, and waits for each one's outcome. */
  readonly submitAll: (commands: readonly Written[], signal?: AbortSignal) => readonly Promise<Submitted>[];
}

/**
 * Each submission gets its own record id, even for an order that was sent before. The engine decides whether it repeats
 * an accepted order or is another try after a rejection; with the same record id, the log would drop the second try.
 */
export function createCommandWriter({
  commits, outcomeOf, writerId, answerWithinMs,
}: CommandWriterOptions): CommandWriter {
  const idOf = writerIds(`${writerId}:requests`);
  let submissions = 0;

  const recordOf = (command: Written): NewRecord => ({ id: idOf(submissions++), data: encodeCommand(command) });

  async function carryOut(command: Written, signal: AbortSignal | undefined): Promise<Submitted> {
    const record = recordOf(command);
    return outcomeAt(commits.append(record, signal), record.id, signal);
  }

  async function outcomeAt(appended: Promise<number>, id: string, signal: AbortSignal | undefined): Promise<Submitted> {
    let position: number;
    try {
      position = await appended;
    } catch (error) {
      throw appendError(error, signal);
    }
    try {
      return { position, outcome: await outcomeOf(position, id) };
    } catch (error) {
      // The copy of the log that an operator brings back may have the command.
      throw outcomeUnknown(error instanceof RecordsLost ? `${LOST}, perhaps this request` : 'the engine stopped before it decided the command');
    }
  }

  const inTime = (work: Promise<Submitted>): Promise<Submitted> => new Promise((resolve, reject) => {
    const bound = setTimeout(() => { reject(outcomeUnknown(`no answer within ${answerWithinMs} ms`)); }, answerWithinMs);
    work.then((submitted) => {
      clearTimeout(bound);
      resolve(submitted);
    }, (error: Error) => {
      clearTimeout(bound);
      reject(error);
    });
  });

  return {
    submit: (command, signal) => inTime(carryOut(command, signal)),
    submitAll(commands, signal) {
      const records = commands.map(recordOf);
      const first = commits.appendAll(records, signal);
      return records.map(({ id }, i) => inTime(outcomeAt(first.then((position) => position + i), id, signal)));
    },
  };
}

/** An append's failure as a RequestError. Errors that do not come from the log are returned unchanged. */
function appendError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof QueueFull) return new RequestError('overloaded');
  if (error instanceof LogUnavailable) {
    if (error.outcomeUnknown) return outcomeUnknown('the log did not answer');
    if (isDiskFull(error)) return new RequestError('disk_full', 'the disk of the log\'s database is full');
    return new RequestError('unavailable', 'the log cannot be reached; the request was not accepted');
  }
  if (error instanceof RecordsLost) return new RequestError('unavailable', `${LOST}; the request was not accepted`);
  // Not a refusal: where the store hides records, it may have taken this one behind them, and gives it back with them.
  if (error instanceof BrokenSequence) return new RequestError('internal', CONTRADICTION);
  if (signal?.aborted === true && error === signal.reason) return new RequestError('overloaded', 'the request was withdrawn because the client disconnected');
  return error;
}

/** Whether an error, or one of its causes, is Postgres' SQLSTATE for a full disk. */
function isDiskFull(error: unknown): boolean {
  return error instanceof Error && (('code' in error && error.code === '53100') || isDiskFull(error.cause));
}

function outcomeUnknown(detail: string): RequestError {
  return new RequestError('outcome_unknown', detail);
}

/** A piece of work that has not ended. */
export interface Ahead {
  readonly orderHash: string;
  /** What it is asked: who asks the same gets the same answer. */
  readonly request: string;
  /** Ends like the work itself. */
  readonly ended: Promise<unknown>;
  /** Aborts when the client of the work has gone; the work may then be withdrawn. */
  readonly signal: AbortSignal | undefined;
}

export interface Work<T> {
  /** Pieces of work with one key follow each other. */
  readonly key: string;
  readonly trader: string;
  readonly orderHash: string;
  /** All that the answer depends on, as a text. */
  readonly request: string;
  readonly signal: AbortSignal | undefined;
  readonly run: () => Promise<T>;
}

export interface Underway {
  /** The work with this key; undefined when there is none. */
  find(key: string): Ahead | undefined;
  /** The number of the trader's pieces of work. */
  countOf(trader: string): number;
  /** Starts work whose key `find` does not find, in the same turn of the event loop. */
  start<T>(work: Work<T>): Promise<T>;
}

export function createUnderway(): Underway {
  const byKey = new BriefMap<string, Ahead>();
  const counts = new Map<string, number>();

  function count(trader: string, change: 1 | -1): void {
    const next = (counts.get(trader) ?? 0) + change;
    if (next === 0) counts.delete(trader);
    else counts.set(trader, next);
  }

  return {
    find: (key) => byKey.get(key),
    countOf: (trader) => counts.get(trader) ?? 0,
    start({ key, trader, orderHash, request, signal, run }) {
      count(trader, 1);
      // Forgotten in a later turn than it is set, also when `run` throws at once.
      const ended = (async () => run())().finally(() => {
        byKey.take(key);
        count(trader, -1);
      });
      byKey.set(key, { orderHash, request, ended, signal });
      return ended;
    },
  };
}

/**
 * Resolves when the work ahead has ended and the caller should look again. Rejects with the work's own error when it
 * was asked the same: it answers the caller too. Rejects with RequestError `unavailable` when it was asked something
 * else and may still be carried out.
 */
export async function passed({ orderHash, request, ended, signal }: Ahead, mine: string): Promise<void> {
  try {
    await ended;
  } catch (error) {
    if (signal?.aborted === true) return;
    if (request === mine) throw error;
    if (!(error instanceof RequestError) || error.isUnavailable) {
      throw new RequestError('unavailable', `order ${orderHash} has the same nonce, and it is not known yet whether it is accepted`);
    }
  }
}
