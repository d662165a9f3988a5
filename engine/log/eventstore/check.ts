/**
 * What makes a stream unusable although the server answers: records that it hides or has lost, and events of others;
 * and whether the user may append. A server goes on with a stream whose beginning it hides: appends are accepted behind
 * the hidden part, and nobody could replay them.
 */
import {
  BACKWARDS, END, FORWARDS, START, WrongExpectedVersionError, binaryEvent, type EventStoreDBClient, type ReadRevision,
  type ResolvedEvent,
} from '@eventstore/db-client';
import { randomUUID } from 'node:crypto';
import { UnusableLog } from '../log.js';
import type { EventStoreConnection } from './connection.js';
import { explained, isMissingRight, isMissingStream, isNotLeader, type StreamPlace } from './faults.js';

/**
 * A revision that no stream reaches: an append that expects it is refused with the stream's last revision, and writes
 * nothing.
 */
const BEYOND_ALL = BigInt(Number.MAX_SAFE_INTEGER);
/** `$tb` of a deleted stream, as JavaScript reads 2^63 - 1. */
const DELETED = 2 ** 63;
/** A call that gRPC cancels ends its request first: see client.ts. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;
/** The type of the log's events. */
export const RECORD_TYPE = 'record';

const REMEDY = 'write metadata with $tb = 0 and without $maxCount and $maxAge to the stream before a scavenge removes the records for good, then start again';

interface Question {
  readonly over: EventStoreConnection;
  readonly place: StreamPlace;
  readonly timeoutMs: number;
}

/**
 * Throws UnusableLog when the stream does not begin with its record 0, when its metadata hides records or will do so,
 * when it has none and had `knownLength`, and when it was deleted for good; LogRefused when the user may not read it.
 * Metadata that the user may not read is left out.
 */
export async function checkHistory(question: Question, knownLength: number): Promise<void> {
  const { place: { stream, name } } = question;
  const [first, last, hiding] = await Promise.all([
    revisionAt(question, FORWARDS, START), revisionAt(question, BACKWARDS, END), hidingOptions(question),
  ]);
  if (hiding !== undefined) throw new UnusableLog(stream, `the stream ${name} ${hiding}: ${REMEDY}`);
  if (first !== undefined && first > 0) {
    throw new UnusableLog(stream, `the stream ${name} begins with position ${first} instead of 0: it was deleted, or its metadata has $tb, `
      + `$maxCount or $maxAge: ${REMEDY}; if it was scavenged, restore the server from a backup`);
  }
  if (last === undefined && knownLength > 0) {
    throw new UnusableLog(stream, `the stream ${name} has no records any more, and had ${knownLength}: it was deleted, or its metadata `
      + `has $tb, $maxCount or $maxAge: ${REMEDY}; if the server lost them, restore it from a backup`);
  }
}

/**
 * Throws LogRefused when the server does not take an append of `bytes` bytes from the user, UnusableLog when the stream
 * has records that cannot be found. Writes nothing.
 */
export async function checkAppend(
  question: Question & { readonly reading: EventStoreConnection }, bytes: number,
): Promise<void> {
  const { over, place, reading, timeoutMs } = question;
  const length = await byTheLeader(() => over.answered(
    timeoutMs, (client) => lengthByRefusal(client, place.name, bytes),
  )).catch((error: unknown) => {
    throw explained(error, place, 'append');
  });
  if (length === 0) return;
  // The stream may have begun since it was read.
  const found = await revisionAt({ over: reading, place, timeoutMs }, FORWARDS, START);
  if (found === undefined) throw new UnusableLog(place.stream, `the stream ${place.name} was deleted and still has its ${length} records: ${REMEDY}`);
}

/** The stream's length, hidden records included, as the server tells it where it refuses an append. */
async function lengthByRefusal(client: EventStoreDBClient, name: string, bytes: number): Promise<number> {
  const event = binaryEvent({ id: randomUUID(), type: RECORD_TYPE, data: Buffer.alloc(bytes) });
  try {
    await client.appendToStream(
      name, event, { expectedRevision: BEYOND_ALL, requiresLeader: true, deadline: NEVER_MS },
    );
  } catch (error) {
    if (!(error instanceof WrongExpectedVersionError)) throw error;
    return typeof error.actualVersion === 'bigint' && error.actualVersion >= 0n ? Number(error.actualVersion) + 1 : 0;
  }
  throw new TypeError(`the server took an append at revision ${BEYOND_ALL}`);
}

/** The revision of the stream's first or last event that can be read; undefined when there is none. */
async function revisionAt(
  { over, place, timeoutMs }: Question, direction: Direction, from: ReadRevision,
): Promise<number | undefined> {
  const ask = () => over.answered(timeoutMs, (client) => oneEvent(client, place.name, direction, from));
  const event = await byTheLeader(ask).catch((error: unknown) => { throw explained(error, place, 'read'); });
  if (event === undefined) return undefined;
  if (!isRecord(event)) throw foreignEvent(place, event);
  return Number(event.revision);
}

/** What the stream's metadata says that hides records; undefined when nothing does, or the user may not read it. */
async function hidingOptions({ over, place: { name }, timeoutMs }: Question): Promise<string | undefined> {
  const event = await byTheLeader(() => over.answered(timeoutMs, (client) => oneEvent(client, `$$${name}`, BACKWARDS, END))).catch((error: unknown) => {
    if (isMissingRight(error)) return undefined;
    throw error;
  });
  const { $tb = 0, $maxCount, $maxAge } = (event?.isJson === true ? event.data : {}) as Readonly<Partial<Record<'$tb' | '$maxCount' | '$maxAge', number>>>;
  if ($tb >= DELETED) return 'was deleted: its metadata hides all its records';
  const options = [
    ...$tb > 0 ? [`$tb = ${$tb}`] : [], ...$maxCount === undefined ? [] : [`$maxCount = ${$maxCount}`], ...$maxAge === undefined ? [] : [`$maxAge = ${$maxAge}`],
  ];
  return options.length === 0 ? undefined : `has ${options.join(' and ')} in its metadata, which hides records`;
}

/** Asks once more where the client has learnt by the first answer who leads. */
async function byTheLeader<T>(ask: () => Promise<T>): Promise<T> {
  return await ask().catch((error: unknown) => {
    if (!isNotLeader(error)) throw error;
    return ask();
  });
}

type Event = NonNullable<ResolvedEvent['event']>;
type Direction = typeof FORWARDS | typeof BACKWARDS;

async function oneEvent(
  client: EventStoreDBClient, name: string, direction: Direction, fromRevision: ReadRevision,
): Promise<Event | undefined> {
  const reading = client.readStream(name, { direction, fromRevision, maxCount: 1, requiresLeader: true });
  reading.on('error', () => undefined);
  let found: Event | undefined;
  try {
    for await (const { event } of reading) found = event;
  } catch (error) {
    if (!isMissingStream(error)) throw error;
  }
  return found;
}

/** Whether the event is one of the log's. */
export function isRecord(event: Event): event is Event & { readonly data: Uint8Array } {
  return event.type === RECORD_TYPE && event.data instanceof Uint8Array;
}

export function foreignEvent({ stream, name }: StreamPlace, { revision, type }: Pick<Event, 'revision' | 'type'>): UnusableLog {
  return new UnusableLog(stream, `the stream ${name} has an event at position ${revision} that is not a record of the exchange (its type is ${type}): `
    + 'somebody else has written to the stream; restore the server from a backup, or begin a new history under another streamPrefix');
}
