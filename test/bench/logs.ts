/**
 * The stores of the log side by side: in memory, Postgres, EventStoreDB (the test server in a process of its own, durable), against one file
 * with the same bytes. And what the adapter of EventStoreDB costs on top of its client.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binaryEvent, EventStoreDBClient, NO_STREAM } from '@eventstore/db-client';
import { createGroupCommit } from '../../engine/log/group-commit.js';
import { MAX_APPEND_RECORDS, type Log, type NewRecord } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { openLog } from '../../engine/log/open-log.js';
import { startEventStoreProcess } from '../support/eventstore-process.js';
import type { BenchLine } from './line.js';
import { perSecond, readingRate, takingTurns } from './rates.js';

const RECORD_BYTES = 600;
const READ_RECORDS = 20_000;
const PAGE_RECORDS = 5_000;
const WRITERS = 64;
const DATA = Buffer.alloc(RECORD_BYTES, '{"kind":"PlaceOrder","v":1}');

const records = (count: number): NewRecord[] => Array.from({ length: count }, () => ({ id: randomUUID(), data: DATA }));

/** `url` names a Postgres database of its own, with fsync on. */
export async function logsBench(url: string): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-logs-'));
  const file = await open(join(directory, 'floor'), 'w+');
  const server = await startEventStoreProcess();
  const logs = { memory: createMemoryLog(), Postgres: await openLog(url), EventStoreDB: await openLog(server.url) };
  try {
    for (const log of Object.values(logs)) for (let i = 0; i < READ_RECORDS; i += MAX_APPEND_RECORDS) await log.append('outcomes', records(MAX_APPEND_RECORDS));
    return [
      ...against('append 1 at a time', 'write and fdatasync of the same bytes', await takingTurns({
        ...ofEach(logs, (log) => () => perSecond(() => log.append('commands', records(1)))),
        floor: () => perSecond(() => writeTo(file, 1)),
      })),
      ...against(`${WRITERS} writers, group commit`, `write and fdatasync of ${WRITERS} records at a time`, await takingTurns({
        ...ofEach(logs, (log) => {
          const commit = createGroupCommit({ log, stream: 'commands', maxQueued: WRITERS });
          return () => perSecond(() => commit.append({ id: randomUUID(), data: DATA }), WRITERS);
        }),
        floor: async () => await perSecond(() => writeTo(file, WRITERS)) * WRITERS,
      })),
      ...against('read in pages of 5,000', 'the same bytes from a file, cut into records', await takingTurns({
        ...ofEach(logs, (log) => () => readingRate(async (from) => (await log.read('outcomes', from, PAGE_RECORDS)).length)),
        floor: () => readingRate((from) => readFrom(file, from)),
      })),
      ...await beyondTheClient(logs.EventStoreDB, server.port),
    ];
  } finally {
    await Promise.all(Object.values(logs).map((log) => log.close()));
    await server.close();
    await file.close();
    await rm(directory, { recursive: true, force: true });
  }
}

type Stores<T> = Readonly<Record<'memory' | 'Postgres' | 'EventStoreDB', T>>;

function ofEach(logs: Stores<Log>, contestant: (log: Log) => () => Promise<number>): Stores<() => Promise<number>> {
  return { memory: contestant(logs.memory), Postgres: contestant(logs.Postgres), EventStoreDB: contestant(logs.EventStoreDB) };
}

function against(what: string, name: string, { floor, ...rates }: Stores<number> & { readonly floor: number }): BenchLine[] {
  return Object.entries(rates).map(([store, figure]) => (
    { name: `log in ${store}, ${what}`, figure, unit: 'records/s', peer: { name, figure: floor }, target: {} }));
}

async function writeTo(file: FileHandle, count: number): Promise<void> {
  await file.appendFile(Buffer.concat(records(count).map(({ data }) => data)));
  await file.datasync();
}

/** How many records of the file's first READ_RECORDS there are from a position on, at most a page. */
async function readFrom(file: FileHandle, from: number): Promise<number> {
  const wanted = Math.min(PAGE_RECORDS, READ_RECORDS - from) * RECORD_BYTES;
  const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, from * RECORD_BYTES);
  const page = Array.from({ length: Math.floor(bytesRead / RECORD_BYTES) }, (_, i) => buffer.subarray(i * RECORD_BYTES, (i + 1) * RECORD_BYTES));
  return page.length;
}

/** The adapter beside the client that it wraps, on the same server, with the same events. */
async function beyondTheClient(log: Log, port: number): Promise<BenchLine[]> {
  const client = new EventStoreDBClient({ endpoint: { address: '127.0.0.1', port } }, { insecure: true });
  const credentials = { username: 'nobody', password: '' };
  let expectedRevision: bigint | typeof NO_STREAM = NO_STREAM;
  const append = async (count: number): Promise<void> => {
    const events = records(count).map(({ id, data }) => binaryEvent({ id, type: 'record', data }));
    expectedRevision = (await client.appendToStream('bare', events, { expectedRevision, credentials })).nextExpectedRevision;
  };
  const read = async (from: number): Promise<number> => {
    let count = 0;
    for await (const { event } of client.readStream('exchange-outcomes', { fromRevision: BigInt(from), maxCount: PAGE_RECORDS })) if (event !== undefined) count += 1;
    return count;
  };
  const lines: BenchLine[] = [];
  for (const batch of [1, 100]) {
    const { ours, peer } = await takingTurns({
      ours: async () => await perSecond(() => log.append('commands', records(batch))) * batch,
      peer: async () => await perSecond(() => append(batch)) * batch,
    });
    lines.push({
      name: `log in EventStoreDB, append ${batch} at a time`, figure: ours, unit: 'records/s',
      peer: { name: 'its client\'s appendToStream', figure: peer }, target: { ratioAtLeast: 0.6 },
    });
  }
  const { ours, peer } = await takingTurns({
    ours: () => readingRate(async (from) => (await log.read('outcomes', from, PAGE_RECORDS)).length),
    peer: () => readingRate(read),
  });
  lines.push({
    name: 'log in EventStoreDB, read in pages of 5,000', figure: ours, unit: 'records/s',
    peer: { name: 'its client\'s readStream', figure: peer }, target: { ratioAtLeast: 0.6 },
  });
  await client.dispose();
  return lines;
}
