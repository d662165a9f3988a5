/**
 * The streams of the EventStoreDB test server: appends at expected revisions, repeated ids, deletion, metadata that hides records, and a file
 * that outlives the process. A line of the file is one append; it is on the disk before the append is answered, and an unfinished last line
 * was never answered.
 *
 * The metadata of a stream is the last event of the stream `$$NAME`. Deleting a stream writes a `$tb` there that hides everything; the next
 * append replaces it by one that hides what was there before. So deleted streams go on at their old revisions, as on a real server.
 */
import { randomUUID } from 'node:crypto';
import { open, readFile, type FileHandle } from 'node:fs/promises';

export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  /** Ticks of 100 ns since the Unix epoch. */
  readonly created: string;
  /** Its place among all events of the server. */
  readonly position: number;
}

export type NewEvent = Pick<StoredEvent, 'id' | 'type' | 'contentType' | 'data'>;

/** A revision, or -1 when the stream must not be there yet. `any` and `exists` check less. */
export type Expected = number | 'any' | 'exists';

/** `revision`: that of the last event of the append. `current`: the stream's last revision, -1 when it is not there. */
export type Verdict = { readonly kind: 'ok'; readonly revision: number } | { readonly kind: 'wrong'; readonly current: number }
  | { readonly kind: 'too large' } | { readonly kind: 'tombstone' };

export interface Streams {
  /** Resolves when the append is on the disk, or refused. */
  append(name: string, expected: Expected, events: readonly NewEvent[]): Promise<Verdict>;
  /** How many events of the stream are on the disk; 0 while there is no such stream. */
  length(name: string): number;
  /** One of them, by its revision. */
  event(name: string, revision: number): StoredEvent;
  /** The first revision that can be read; the length when the metadata hides all. */
  first(name: string): number;
  /** Whether the stream cannot be found: it was deleted, and nothing was appended since; or it was never there. */
  isMissing(name: string): boolean;
  /** Whether the stream was deleted for good. */
  isTombstone(name: string): boolean;
  /** Writes the stream's metadata, in JSON, as `$maxCount` and the like. */
  setMetadata(name: string, json: string): Promise<void>;
  /** Deletes the stream: it can be found again after the next append. */
  remove(name: string): Promise<void>;
  /** Deletes the stream for good. */
  tombstone(name: string): Promise<void>;
  /** Calls back after every append to the stream. Returns how to stop that. */
  watch(name: string, grown: () => void): () => void;
  /** How many call-backs there are. */
  watching(name: string): number;
  close(): Promise<void>;
}

export interface StreamsOptions {
  /** Absent: the streams are in memory only. */
  readonly file?: string | undefined;
  /** As `MaxAppendSize` of the server, whose default it is. */
  readonly maxAppendBytes?: number | undefined;
}

interface Line {
  readonly stream: string;
  readonly created: string;
  readonly events: readonly { readonly id: string; readonly type: string; readonly contentType: string; readonly data: string }[];
  /** The stream is deleted for good; there are no events then. */
  readonly tombstone?: true;
}

interface Stored {
  readonly all: StoredEvent[];
  /** How many of them are on the disk and can be read. */
  durable: number;
  isTombstone: boolean;
}

/** `$tb` of a deleted stream: the server's largest revision, which JSON in JavaScript cannot tell from 2^63. */
const DELETED = 2 ** 63;
const DELETED_METADATA = '{"$tb":9223372036854775807}';
const TICKS_PER_MS = 10_000;

export async function openStreams({ file, maxAppendBytes = 1_048_576 }: StreamsOptions = {}): Promise<Streams> {
  const streams = new Map<string, Stored>();
  const watchers = new Map<string, Set<() => void>>();
  let count = 0;

  function add({ stream: name, created, events, tombstone }: Line): Stored {
    const stream = streams.get(name) ?? { all: [], durable: 0, isTombstone: false };
    streams.set(name, stream);
    if (tombstone === true) stream.isTombstone = true;
    for (const { data, ...event } of events) stream.all.push({ ...event, created, data: Buffer.from(data, 'base64'), position: count++ });
    return stream;
  }

  const disk = file === undefined ? undefined : await openFile(file, add);
  for (const stream of streams.values()) stream.durable = stream.all.length;

  async function write(name: string, part: Pick<Line, 'events' | 'tombstone'>): Promise<number> {
    const line: Line = { stream: name, created: String(Date.now() * TICKS_PER_MS), ...part };
    const stream = add(line);
    const length = stream.all.length;
    await disk?.write(JSON.stringify(line));
    stream.durable = Math.max(stream.durable, length);
    for (const grown of [...watchers.get(name) ?? []]) grown();
    return length;
  }

  async function setMetadata(name: string, json: string): Promise<void> {
    await write(`$$${name}`, { events: [{ id: randomUUID(), type: '$metadata', contentType: 'application/json', data: Buffer.from(json).toString('base64') }] });
  }

  const metadataOf = (name: string): Metadata => {
    const last = streams.get(`$$${name}`)?.all.at(-1);
    return last === undefined ? {} : JSON.parse(Buffer.from(last.data).toString()) as Metadata;
  };
  const isDeleted = (name: string): boolean => (metadataOf(name).$tb ?? 0) >= DELETED;

  return {
    async append(name, expected, events) {
      const refused = sizeOf(events) > maxAppendBytes ? { kind: 'too large' } as const : verdictOn(streams.get(name), { isDeleted: isDeleted(name), expected, events });
      if (refused !== undefined) {
        // What an append is told to be there must have reached the disk.
        await disk?.synced();
        return refused;
      }
      const before = streams.get(name)?.all.length ?? 0;
      const comesBack = isDeleted(name);
      const written = write(name, { events: events.map(({ data, ...event }) => ({ ...event, data: Buffer.from(data).toString('base64') })) });
      if (comesBack) await setMetadata(name, JSON.stringify({ ...metadataOf(name), $tb: before }));
      return { kind: 'ok', revision: await written - 1 };
    },
    length: (name) => streams.get(name)?.durable ?? 0,
    event: (name, revision) => streams.get(name)!.all[revision]!,
    first: (name) => firstOf(streams.get(name), metadataOf(name)),
    isMissing: (name) => (streams.get(name)?.durable ?? 0) === 0 || isDeleted(name),
    isTombstone: (name) => streams.get(name)?.isTombstone === true,
    setMetadata,
    remove: (name) => setMetadata(name, DELETED_METADATA),
    tombstone: async (name) => { await write(name, { events: [], tombstone: true }); },
    watching: (name) => watchers.get(name)?.size ?? 0,
    watch(name, grown) {
      const set = watchers.get(name) ?? new Set();
      watchers.set(name, set);
      set.add(grown);
      return () => { set.delete(grown); };
    },
    close: async () => { await disk?.close(); },
  };
}

function sizeOf(events: readonly NewEvent[]): number {
  return events.reduce((sum, { data, type }) => sum + data.length + 2 * type.length, 0);
}

/** What an append is answered without being carried out; undefined when it is carried out. */
function verdictOn(stream: Stored | undefined, { isDeleted, expected, events }: {
  readonly isDeleted: boolean; readonly expected: Expected; readonly events: readonly NewEvent[];
}): Verdict | undefined {
  if (stream?.isTombstone === true || (expected === 'exists' && isDeleted)) return { kind: 'tombstone' };
  const all = stream?.all ?? [];
  const current = all.length - 1;
  if (expected === 'any') return undefined;
  if (expected === 'exists') return current >= 0 ? undefined : { kind: 'wrong', current };
  if (expected > current) return { kind: 'wrong', current };
  if (expected === current) return undefined;
  // Ids are compared with hidden records, too.
  const other = events.findIndex(({ id }, i) => all[expected + 1 + i]?.id !== id);
  if (other < 0) return { kind: 'ok', revision: expected + events.length };
  return other === 0 && expected === -1 && isDeleted ? undefined : { kind: 'wrong', current };
}

interface Metadata {
  readonly $tb?: number;
  readonly $maxCount?: number;
  /** In seconds. */
  readonly $maxAge?: number;
}

function firstOf(stream: Stored | undefined, { $tb = 0, $maxCount, $maxAge }: Metadata): number {
  if (stream === undefined) return 0;
  const { all, durable } = stream;
  let first = Math.max($tb, $maxCount === undefined ? 0 : durable - $maxCount);
  if ($maxAge !== undefined) {
    const oldest = (Date.now() - $maxAge * 1_000) * TICKS_PER_MS;
    while (first < durable && Number(all[first]?.created) < oldest) first += 1;
  }
  return Math.min(first, durable);
}

/** Reads the file, cuts off an unfinished last line, and opens it for more lines. */
async function openFile(path: string, read: (line: Line) => void) {
  const handle: FileHandle = await open(path, 'a+');
  const text = await readFile(path, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  for (const line of whole.split('\n').slice(0, -1)) read(JSON.parse(line) as Line);
  await handle.truncate(Buffer.byteLength(whole));
  let waiting: string[] = [];
  let writing: Promise<void> = Promise.resolve();

  /** Lines that come while one write runs go into the next one. */
  function synced(): Promise<void> {
    return writing = writing.then(async () => {
      if (waiting.length === 0) return;
      const lines = waiting.map((line) => `${line}\n`).join('');
      waiting = [];
      await handle.appendFile(lines);
      await handle.datasync();
    });
  }

  return {
    write(line: string): Promise<void> {
      waiting.push(line);
      return synced();
    },
    synced,
    async close(): Promise<void> {
      await writing;
      await handle.close();
    },
  };
}
