/**
 * The streams of the EventStoreDB test server: appends at expected revisions, repeated ids, and a file that outlives the process. A line of
 * the file is one append; it is on the disk before the append is answered, and an unfinished last line was never answered.
 */
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
export type Verdict = { readonly kind: 'ok'; readonly revision: number } | { readonly kind: 'wrong'; readonly current: number } | { readonly kind: 'too large' };

export interface Streams {
  /** Resolves when the append is on the disk, or refused. */
  append(name: string, expected: Expected, events: readonly NewEvent[]): Promise<Verdict>;
  /** How many events of the stream are on the disk; 0 while there is no such stream. */
  length(name: string): number;
  /** One of them, by its revision. */
  event(name: string, revision: number): StoredEvent;
  /** The first revision that can still be read. */
  first(name: string): number;
  /** Takes away what is before the revision, as `$maxCount` and `$maxAge` do. */
  truncate(name: string, before: number): void;
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
}

export async function openStreams({ file, maxAppendBytes = 1_048_576 }: StreamsOptions = {}): Promise<Streams> {
  /** What was appended, and how much of it is on the disk and can be read. */
  const streams = new Map<string, { readonly all: StoredEvent[]; durable: number; first: number }>();
  const watchers = new Map<string, Set<() => void>>();
  let count = 0;

  function add({ stream: name, created, events }: Line): void {
    const stream = streams.get(name) ?? { all: [], durable: 0, first: 0 };
    streams.set(name, stream);
    for (const { data, ...event } of events) stream.all.push({ ...event, created, data: Buffer.from(data, 'base64'), position: count++ });
  }

  const disk = file === undefined ? undefined : await openFile(file, add);
  for (const stream of streams.values()) stream.durable = stream.all.length;

  function refusal(name: string, expected: Expected, events: readonly NewEvent[]): Verdict | undefined {
    const size = events.reduce((sum, { data, type }) => sum + data.length + 2 * type.length, 0);
    if (size > maxAppendBytes) return { kind: 'too large' };
    const all = streams.get(name)?.all ?? [];
    const current = all.length - 1;
    if (expected === 'any') return undefined;
    if (expected === 'exists') return current >= 0 ? undefined : { kind: 'wrong', current };
    if (expected > current) return { kind: 'wrong', current };
    if (expected === current) return undefined;
    const isThere = events.every(({ id }, i) => all[expected + 1 + i]?.id === id);
    return isThere ? { kind: 'ok', revision: expected + events.length } : { kind: 'wrong', current };
  }

  return {
    async append(name, expected, events) {
      const refused = refusal(name, expected, events);
      if (refused !== undefined) {
        // What an append is told to be there must have reached the disk.
        await disk?.synced();
        return refused;
      }
      const line: Line = {
        stream: name, created: String(Date.now() * 10_000), events: events.map(({ data, ...event }) => ({ ...event, data: Buffer.from(data).toString('base64') })),
      };
      add(line);
      const stream = streams.get(name)!;
      const length = stream.all.length;
      await disk?.write(JSON.stringify(line));
      stream.durable = Math.max(stream.durable, length);
      for (const grown of [...watchers.get(name) ?? []]) grown();
      return { kind: 'ok', revision: length - 1 };
    },
    length: (name) => streams.get(name)?.durable ?? 0,
    event: (name, revision) => streams.get(name)!.all[revision]!,
    first: (name) => streams.get(name)?.first ?? 0,
    truncate(name, before) { streams.get(name)!.first = before; },
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
