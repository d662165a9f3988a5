/** What a handle of the log knows of a stream, so that it notices when its store lacks records that it had. */
import { BrokenSequence, LogUnavailable, RecordsLost, type LogRecord, type NewRecord, type Stream } from './log.js';

/** The end of a handle whose store has broken its promises. */
export interface HandleFailure {
  /** Aborts with the error. */
  readonly signal: AbortSignal;
  /** Ends the handle, and returns the first error that has done so. */
  found(error: RecordsLost | BrokenSequence): Error;
}

/** `failed` is called once. */
export function createHandleFailure(failed: (error: Error) => void = () => undefined): HandleFailure {
  const ending = new AbortController();
  return {
    signal: ending.signal,
    found(error) {
      if (!ending.signal.aborted) {
        ending.abort(error);
        failed(error);
      }
      return ending.signal.reason as Error;
    },
  };
}

export interface KnownRecord {
  readonly position: number;
  readonly id: string;
}

/** A store's answer to a question about a stream's length. */
export interface LengthAnswer {
  readonly length: number;
  /** What was known when the store was asked: what came in meanwhile may be newer than the answer. */
  readonly before: number;
  /** The store may lag behind the one that takes the appends: it may still get the records. */
  readonly isStandby?: boolean;
}

export interface Known {
  /** The greatest length that the store has given. */
  length(): number;
  /** The newest record that was written or read; undefined before the first one. */
  newest(): KnownRecord | undefined;
  /** Takes a length that came without being asked for, and may be old. Returns whether it is greater than the known one. */
  grown(length: number): boolean;
  /** Takes the answer to a question, and returns the length. Throws RecordsLost when it is below what was known; LogUnavailable at a standby. */
  answered(answer: LengthAnswer): number;
  /** Takes records that were written or read. Returns the error when one of them is not the known one. */
  has(first: number, records: readonly NewRecord[]): Error | undefined;
}

export function createKnown({ stream, length: initialLength, failure }: { stream: Stream; length: number; failure: HandleFailure }): Known {
  let length = initialLength;
  let newest: KnownRecord | undefined;

  const grown = (given: number): boolean => {
    if (given <= length) return false;
    length = given;
    return true;
  };
  return {
    length: () => length,
    newest: () => newest,
    grown,
    answered({ length: answered, before, isStandby = false }) {
      if (answered < before && isStandby) {
        throw new LogUnavailable(false, { cause: new Error(`it is a standby that has ${answered} of ${before} ${stream}`) });
      }
      if (answered < before) throw failure.found(shorter(stream, { known: before, length: answered }));
      grown(answered);
      return answered;
    },
    has(first, records) {
      const last = records.at(-1);
      if (last === undefined) return undefined;
      if (newest !== undefined) {
        const same = records[newest.position - first];
        if (same !== undefined && same.id !== newest.id) return failure.found(replaced(stream, newest.position));
      }
      const position = first + records.length - 1;
      if (newest === undefined || position > newest.position) newest = { position, id: last.id };
      grown(position + 1);
      return undefined;
    },
  };
}

export interface PageQuestion {
  readonly stream: Stream;
  /** The position of the first record that is wanted; above 0. */
  readonly from: number;
  /** The id that the record before it had; undefined when it is not known. */
  readonly previous: string | undefined;
  readonly failure: HandleFailure;
  /** Reads a page of the store, whose first record serves for the comparison only. */
  readonly read: (from: number) => Promise<readonly LogRecord[]>;
  /** The stream's length. Throws RecordsLost when it is below what was known. */
  readonly length: () => Promise<number>;
}

/**
 * Reads a page together with the record before it, and compares that one with what it was. So a follower never goes on behind records that
 * were replaced, also when there are more of them by now. The first record of the page is the one before `from`; the page is empty when
 * that one is not there and was not known.
 */
export async function readOverlapping({ stream, from, previous, failure, read, length }: PageQuestion): Promise<readonly LogRecord[]> {
  const page = await read(from - 1);
  const [before] = page;
  if (before?.id === previous || previous === undefined) return page;
  if (before !== undefined) throw failure.found(replaced(stream, from - 1));
  throw new BrokenSequence(stream, from - 1, await length());
}

/** The store has fewer records than it had. */
export function shorter(stream: Stream, { known, length }: { readonly known: number; readonly length: number }): RecordsLost {
  return new RecordsLost(`its store has ${length} ${stream} and had ${known}, so ${rangeOf(length, known)}`);
}

/** The store has fewer commands than outcomes. */
export function fewerCommands({ commands, outcomes }: Readonly<Record<Stream, number>>): RecordsLost {
  const gone = rangeOf(commands, outcomes);
  return new RecordsLost(`its store has ${commands} commands and ${outcomes} outcomes, so of the commands ${gone}`);
}

/** Another record is at a position than was there. */
export function replaced(stream: Stream, position: number): RecordsLost {
  return new RecordsLost(`its store has another record at position ${position} of the ${stream} than it had`);
}

/** The positions from `first` to before `end`, as the beginning of a sentence. */
export function rangeOf(first: number, end: number): string {
  return first === end - 1 ? `position ${first} is gone` : `positions ${first} to ${end - 1} are gone`;
}
