/** What an error of the EventStoreDB client means: its errors are told apart by their `type`, raw gRPC errors by their `code`. */
import { BrokenSequence } from '../log.js';

/** The server said nothing in time. */
export class NoAnswer extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
    this.name = 'NoAnswer';
  }
}

/** There was no connection, so the append was not sent. */
export class NotSent extends Error {
  constructor(cause: unknown) {
    super('the server could not be reached', { cause });
    this.name = 'NotSent';
  }
}

interface ClientError {
  /** The client's name for what the server answered. Raw errors of gRPC, as at the first call on a server that is down, have none. */
  readonly type?: string;
}

/** The server answered that it has not done anything. */
const REFUSALS = ['not-leader', 'access-denied', 'stream-deleted', 'maximum-append-size-exceeded', 'missing-required-metadata-property'];

/** The same call gets the same answer, until somebody changes the server. */
const FINAL = ['access-denied', 'stream-deleted', 'maximum-append-size-exceeded', 'missing-required-metadata-property', 'invalid-argument'];

/**
 * Whether the server may have carried out the append. The text of an error proves nothing: calls that were sent end with "No connection
 * established", too, when their connection breaks.
 */
export function maybeWritten(error: unknown): boolean {
  return !(error instanceof NotSent) && !REFUSALS.includes((error as ClientError).type ?? '');
}

/** Whether the server answered, if only to refuse. */
export function isAnswer(error: unknown): boolean {
  return ['wrong-expected-version', ...REFUSALS].includes((error as ClientError).type ?? '');
}

/** Whether the same call may succeed later. A server that is starting answers with errors of an unknown type. */
export function canPass(error: unknown): boolean {
  if (error instanceof NotSent) return canPass(error.cause);
  if (error instanceof TypeError || error instanceof RangeError || error instanceof BrokenSequence) return false;
  return !FINAL.includes((error as ClientError).type ?? '');
}

export function isAccessDenied(error: unknown): boolean {
  return (error as ClientError).type === 'access-denied';
}

export function isNotLeader(error: unknown): boolean {
  return (error as ClientError).type === 'not-leader';
}

/** What kept the connection from being made, in one line; the error's text when it is another error. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const reason = /Last error: (?:Error(?: \[\w+\])?: )?([^]*?)\.? Resolution note:/.exec(text)?.[1] ?? text;
  return reason.replace(/\s+/g, ' ').trim();
}

export function isMissingStream(error: unknown): boolean {
  return (error as ClientError).type === 'stream-not-found';
}
