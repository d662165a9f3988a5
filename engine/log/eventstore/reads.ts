/**
 * Reads and subscriptions over the EventStoreDB client (version 6.2.1), around its defects:
 *
 * - A read that is left early makes `dispose` wait for ever: it is cancelled, and read to its end.
 * - A cancelled read ends without an error, as if it had come to the end of the stream.
 * - A stream emits errors after its reader has left, which would end the process: each has a listener.
 */
import { BACKWARDS, END, START, type ReadStreamOptions, type ResolvedEvent, type StreamingRead } from '@eventstore/db-client';
import type { LogRecord } from '../log.js';
import { foreignEvent, isRecord } from './check.js';
import type { EventStoreConnection } from './connection.js';
import { explained, isMissingStream, NoAnswer, type StreamPlace } from './faults.js';

type ReadOptions = ReadStreamOptions & { readonly maxCount: number };

const PAGE_BYTES = 4 * 1024 * 1024;
/** The most records that a subscription gives at once. */
const BATCH_RECORDS = 1_000;

/** The stream's length: the position after its last record that can be read. */
export async function readLength(over: EventStoreConnection, place: StreamPlace, ms: number): Promise<number> {
  const [last] = await readEvents(over, place, { direction: BACKWARDS, fromRevision: END, maxCount: 1 }, ms);
  return last === undefined ? 0 : last.position + 1;
}

/** The events, read to the end of the answer; limited by the silence between two of them. */
export async function readEvents(
  over: EventStoreConnection, place: StreamPlace, options: ReadOptions, ms: number,
): Promise<LogRecord[]> {
  let stream: StreamingRead<ResolvedEvent> | undefined;
  try {
    return await over.answered(ms, async (client, heard) => {
      stream = client.readStream(place.name, { ...options, requiresLeader: true });
      const records = await collect(stream, place, heard);
      // A read that ends with its client looks like one that has come to the stream's end.
      if (!over.isCurrent(client)) throw new NoAnswer(ms);
      return records;
    }, () => { if (stream !== undefined) leave(stream); });
  } catch (error) {
    throw explained(error, place, 'read');
  }
}

/** One subscription. Always unsubscribed, since leaving its loop alone leaves the server's stream open. */
export async function* subscription(over: EventStoreConnection, { place, from, signal }: {
  place: StreamPlace; from: number; signal: AbortSignal;
}): AsyncGenerator<LogRecord[]> {
  const client = over.client();
  const subscribed = client.subscribeToStream(
    place.name, { fromRevision: from === 0 ? START : BigInt(from - 1), requiresLeader: true },
    { highWaterMark: BATCH_RECORDS });
  subscribed.on('error', (error) => { over.failed(client, error); });
  const stop = (): void => {
    void subscribed.unsubscribe().catch(() => undefined).then(
      () => { subscribed.destroy(); },
    );
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    let batch: LogRecord[] = [];
    for await (const resolved of subscribed) {
      over.heard(client);
      batch.push(recordOf(resolved, place));
      // What came by the same packet is there a turn of the event loop later.
      if (subscribed.readableLength === 0) await new Promise(setImmediate);
      if (subscribed.readableLength > 0 && batch.length < BATCH_RECORDS) continue;
      const full = batch;
      batch = [];
      yield full;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** Reads a whole answer. When a page is full, the rest is cancelled and what is still on its way is dropped. */
async function collect(
  stream: StreamingRead<ResolvedEvent>, place: StreamPlace, heard: () => void,
): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  let bytes = 0;
  let foreign: unknown;
  stream.on('error', () => undefined);
  try {
    for await (const resolved of stream) {
      heard();
      if (bytes >= PAGE_BYTES || foreign !== undefined) continue;
      try {
        const record = recordOf(resolved, place);
        records.push(record);
        bytes += record.data.length;
      } catch (error) {
        foreign = error;
      }
      if (bytes >= PAGE_BYTES || foreign !== undefined) leave(stream);
    }
  } catch (error) {
    if (isMissingStream(error)) return [];
    throw error;
  }
  if (foreign !== undefined) throw foreign;
  return records;
}

function leave(stream: StreamingRead<ResolvedEvent>): void {
  void stream.cancel().catch(() => undefined);
}

/** Throws UnusableLog for an event of others. */
function recordOf({ event }: ResolvedEvent, place: StreamPlace): LogRecord {
  if (event === undefined || !isRecord(event)) throw foreignEvent(place, event ?? { revision: -1n, type: 'a link' });
  const { id, revision, data: { buffer, byteOffset, byteLength } } = event;
  return { position: Number(revision), id, data: Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength) };
}
