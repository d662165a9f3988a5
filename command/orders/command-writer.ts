/**
 * From a command to its outcome: into the log by group commit, then the engine's answer. A failure says which of the two is true:
 * the command was not taken and never will be, or nobody knows yet.
 */
import { encodeCommand, recordId, type CommandOutcome } from '../../engine/records/codec.js';
import type { CancelOrder, PlaceOrder, SyncPosition } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { LogUnavailable } from '../../engine/log/log.js';
import { QueueFull, type GroupCommit } from '../../engine/log/group-commit.js';
import type { Submit, Submitted } from './answer.js';

export interface CommandWriterOptions {
  readonly commits: Pick<GroupCommit, 'append'>;
  /** The outcome of the command at a position, as soon as the engine has computed it. */
  readonly outcomeOf: (position: number) => Promise<CommandOutcome>;
  /** Another one for each process and start: part of the records' ids. */
  readonly writerId: string;
  /** After this time the client hears `outcome_unknown`; the command goes on. */
  readonly answerWithinMs: number;
}

/** The commands that clients cause. */
export type Written = PlaceOrder | CancelOrder | SyncPosition;

/**
 * Each submission is a record of its own, also of an order that was sent before: whether that repeats it or tries again after a
 * rejection is the engine's to decide. A store that drops repeated ids would otherwise swallow the second try.
 */
export function createCommandWriter({ commits, outcomeOf, writerId, answerWithinMs }: CommandWriterOptions): Submit<Written> {
  let submissions = 0;

  async function carryOut(command: Written, signal: AbortSignal | undefined): Promise<Submitted> {
    const id = recordId(`${command.kind}:${subjectOf(command)}:${writerId}:${submissions++}`);
    const record = { id, data: encodeCommand(command) };
    let position: number;
    try {
      position = await commits.append(record, signal);
    } catch (error) {
      throw appendError(error, signal);
    }
    try {
      return { position, outcome: await outcomeOf(position) };
    } catch {
      throw outcomeUnknown('the engine stopped before it came to it');
    }
  }

  return (command, signal) => new Promise((resolve, reject) => {
    const bound = setTimeout(() => { reject(outcomeUnknown(`no answer within ${answerWithinMs} ms`)); }, answerWithinMs);
    carryOut(command, signal).then((submitted) => {
      clearTimeout(bound);
      resolve(submitted);
    }, (error: Error) => {
      clearTimeout(bound);
      reject(error);
    });
  });
}

function subjectOf(command: Written): string {
  return command.kind === 'SyncPosition' ? `${command.marketId}:${command.user}` : command.orderHash;
}

/** An append's failure as the client hears it. What is no fault of the log's comes back as it is. */
function appendError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof QueueFull) return new RequestError('overloaded');
  if (error instanceof LogUnavailable) {
    if (error.outcomeUnknown) return outcomeUnknown('the log did not answer');
    return new RequestError('unavailable', 'the log cannot be reached; the request was not taken');
  }
  if (signal?.aborted === true && error === signal.reason) return new RequestError('overloaded', 'withdrawn, since the client had gone');
  return error;
}

function outcomeUnknown(detail: string): RequestError {
  return new RequestError('outcome_unknown', detail);
}
