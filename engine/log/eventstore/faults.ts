/** What an error of the EventStoreDB client means: its errors are told apart by their `type`, raw gRPC errors by their `code`. */
import { BrokenSequence } from '../log.js';

/** The server said nothing in time. */
export class NoAnswer extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
    this.name = 'NoAnswer';
  }
}

interface ClientError {
  /** The client's name for what the server answered. */
  readonly type?: string;
  /** The status of gRPC, also of errors that the client passes on as they are: at the first call on a server that is down, for instance. */
  readonly code?: number;
  readonly message?: string;
}

const UNAVAILABLE = 14;

/** The server answered that it has not done anything. */
const REFUSALS = ['not-leader', 'access-denied', 'stream-deleted', 'maximum-append-size-exceeded', 'missing-required-metadata-property'];

/** The same call gets the same answer, until somebody changes the server. */
const FINAL = ['access-denied', 'stream-deleted', 'maximum-append-size-exceeded', 'missing-required-metadata-property', 'invalid-argument'];

/** Whether the server may have got the call. A call without a connection never left this process. */
export function maybeReached(error: unknown): boolean {
  const { type, code, message = '' } = error as ClientError;
  if (REFUSALS.includes(type ?? '')) return false;
  const neverSent = code === UNAVAILABLE && /No connection established|Name resolution failed/.test(message);
  return !neverSent && !/^Failed to discover/.test(message);
}

/** Whether the same call may succeed later. A server that is starting answers with errors of an unknown type. */
export function canPass(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof BrokenSequence) return false;
  return !FINAL.includes((error as ClientError).type ?? '');
}

export function isAccessDenied(error: unknown): boolean {
  return (error as ClientError).type === 'access-denied';
}

export function isMissingStream(error: unknown): boolean {
  return (error as ClientError).type === 'stream-not-found';
}
