/**
 * What an error of the EventStoreDB client means: its errors are told apart by their `type`, raw gRPC errors by their
 * `code`.
 */
import { messageOf } from '../../report.js';
import { BrokenSequence, LogRefused, MAX_APPEND_BYTES, UnusableLog, type Stream } from '../log.js';

/** The server said nothing in time. */
export class NoAnswer extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${Math.round(timeoutMs)} ms`);
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
  /**
   * The client's name for what the server answered. Raw errors of gRPC, as at the first call on a server that is down,
   * have none.
   */
  readonly type?: string;
  /** gRPC's. */
  readonly code?: number;
}

const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** The server answered that it has not done anything. */
const REFUSALS = ['not-leader', 'access-denied', 'stream-deleted', 'maximum-append-size-exceeded', 'missing-required-metadata-property'];

/** The same call gets the same answer, until somebody changes the server. */
const FINAL = ['access-denied', 'stream-deleted', 'maximum-append-size-exceeded', 'missing-required-metadata-property'];
/** What a server says of an event beyond MaxAppendEventSize, from 25.1 on. */
const EVENT_TOO_LARGE = /maximum append event size/i;

/**
 * Whether the server may have carried out the append. The text of an error proves nothing: calls that were sent end
 * with "No connection established", too, when their connection breaks.
 */
export function maybeWritten(error: unknown): boolean {
  return !(error instanceof NotSent) && !(error instanceof LogRefused) && !isRefusal(error);
}

/** Whether the server answered, if only to refuse. */
export function isAnswer(error: unknown): boolean {
  return (error as ClientError).type === 'wrong-expected-version' || isRefusal(error);
}

/** The client has no name for some of the refusals of newer servers: they are an invalid argument to gRPC. */
function isRefusal(error: unknown): boolean {
  const { type = '', code } = error as ClientError;
  return REFUSALS.includes(type) || code === INVALID_ARGUMENT;
}

function isFinal(error: unknown): boolean {
  const { type = '', code } = error as ClientError;
  return FINAL.includes(type) || code === INVALID_ARGUMENT;
}

/** Whether the same call may succeed later. A server that is starting answers with errors of an unknown type. */
export function canPass(error: unknown): boolean {
  if (error instanceof NotSent) return canPass(error.cause);
  if ([TypeError, RangeError, BrokenSequence, LogRefused].some((kind) => error instanceof kind)) return false;
  return !isFinal(error);
}

/** The connection broke or could not be made, or the server is starting or stopping. */
export function isUnavailable(error: unknown): boolean {
  return (error as ClientError).code === UNAVAILABLE;
}

/** The server does not know the user, or the password is wrong. */
export function isWrongUser(error: unknown): boolean {
  return (error as ClientError).code === UNAUTHENTICATED;
}

/** The user, or an anonymous client, may not do this. */
export function isMissingRight(error: unknown): boolean {
  return (error as ClientError).code === PERMISSION_DENIED;
}

export interface StreamPlace {
  readonly stream: Stream;
  /** The stream's name on the server. */
  readonly name: string;
}

/**
 * The error of a call about a stream, explained where somebody must act: UnusableLog for a stream that was deleted for
 * good, LogRefused for a missing right, a wrong user or a limit. Other errors as they are.
 */
export function explained(error: unknown, { stream, name }: StreamPlace, call: 'read' | 'append'): unknown {
  const refused = (message: string): LogRefused => new LogRefused(message, { cause: error });
  if (isWrongUser(error)) return refused('the server does not let this user in: correct user and password');
  if (isMissingRight(error)) {
    return refused(`the user may not ${call === 'read' ? 'read' : 'append to'} the stream ${name}: `
      + `give it the right ${call === 'read' ? '$r' : '$w'} in the stream's $acl, or name a user in the URL that has it`);
  }
  const { type } = error as ClientError;
  if (type === 'stream-deleted') {
    return new UnusableLog(stream, `the stream ${name} was deleted for good (tombstone): restore the server from a `
      + 'backup, or begin a new history under another streamPrefix');
  }
  if (type === 'maximum-append-size-exceeded' || (isFinal(error) && EVENT_TOO_LARGE.test(reasonOf(error)))) {
    return refused(`the server does not take ${MAX_APPEND_BYTES} bytes in one append to the stream ${name}: `
      + 'set MaxAppendSize, and MaxAppendEventSize where the server has it, to 1048576 or more');
  }
  if (!isFinal(error)) return error;
  const calls = call === 'read' ? 'reads of' : 'appends to';
  return refused(`the server refuses ${calls} the stream ${name} (${reasonOf(error)})`);
}

export function isNotLeader(error: unknown): boolean {
  return (error as ClientError).type === 'not-leader';
}

/** What kept the connection from being made, in one line; the error's text when it is another error. */
export function reasonOf(error: unknown): string {
  const text = messageOf(error);
  const reason = /Last error: (?:Error(?: \[\w+\])?: )?([^]*?)\.? Resolution note:/.exec(text)?.[1] ?? text;
  return reason.replace(/\s+/g, ' ').trim();
}

export function isMissingStream(error: unknown): boolean {
  return (error as ClientError).type === 'stream-not-found';
}
