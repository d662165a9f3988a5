/** `GET /events`: the history byte for byte as recorded, so that an auditor can recompute every digest. As pages, or as a stream of lines. */
import { BrokenSequence, type Log, type LogRecord } from '../../engine/log/log.js';
import { MalformedRecord } from '../../engine/records/codec.js';
import { BYTES32 } from '../../engine/records/hex.js';
import { FOREVER } from '../paging.js';
import type { Answer } from '../statement.js';
import type { Turns } from '../turns.js';
import { matching, type Entry, type HistoryFilter, type FindOwnOrders } from './filter.js';

export const EVENTS_LIMIT = { byDefault: 100, max: 1_000 } as const;

/** The most entries that a filtered page looks through: a filter may let nothing of a long history through. */
export const SCANNED_PER_PAGE = 10_000;

/** A page ends early, after the chunk in which it exceeds this size: a record may have 1 MB. */
const PAGE_BYTES = 8_000_000;
/** Entries of the first chunk; later ones have about CHUNK_BYTES of commands and outcomes. */
const FIRST_CHUNK = 100;
const LARGEST_CHUNK = 500;
const CHUNK_BYTES = 512_000;

/** A line without an entry is sent after this time without one, so that no proxy takes the connection for dead. */
const SILENCE_MS = 10_000;

/** The part of an outcome record after the text that the digest covers, as `encodeOutcome` writes it. */
const DIGEST = new RegExp(`^,"digest":"(${BYTES32.text})"\\}$`);
const DIGEST_LENGTH = ',"digest":"0x"}'.length + 64;

/** A page of history; `next` is the `from` of the page after it. */
export interface EventsPage extends Answer {
  readonly next: number;
}

export interface HistorySource {
  readonly log: Log;
  /** Asked only with a trader in the filter. */
  readonly ownOrders: FindOwnOrders;
}

export interface EventsParams {
  readonly from?: number;
  readonly limit?: number | undefined;
  readonly filter?: HistoryFilter;
  /** Number of outcomes that the answer may have; all that are recorded when absent. With a trader in the filter, the read models include them. */
  readonly length?: number;
}

/**
 * The commands from position `from` on with their outcomes: `{events, count, next}`. An item is `{position, id, command, outcome, digest}`,
 * where digest = SHA-256(previous digest, which is 32 zero bytes for the first | uint32be byte length of command | command | outcome), over
 * exactly the bytes shown. Only commands with a recorded outcome are shown. A page may have fewer than `limit` items: without a filter only
 * an empty page means the end; with one the end is where `next` is above the position. What a page has never changes; one that did not end where
 * the history did also gets nothing more, and may be kept for good.
 */
export async function events(
  { log, ownOrders }: HistorySource, { from = 0, limit = EVENTS_LIMIT.byDefault, filter = {}, ...known }: EventsParams,
): Promise<EventsPage> {
  const { length = await log.length('outcomes') } = known;
  const items: string[] = [];
  let size = 0;
  let next = from;
  for await (const chunk of chunks({ log, ownOrders }, { from, end: Math.min(length, from + SCANNED_PER_PAGE), limit, filter })) {
    items.push(...chunk.items);
    size += chunk.items.reduce((sum, text) => sum + text.length, 0);
    next = chunk.next;
    if (size >= PAGE_BYTES) break;
  }
  const isClosed = items.length === limit || next < length;
  return {
    body: `{"events":[${items.join(',')}],"count":${items.length},"next":${next}}`, position: length - 1, next, ...isClosed && { headers: FOREVER },
  };
}

/** `position` is that of the newest entry at the beginning, at which a stream without `limit` ends; -1 in an empty history. */
export interface EventsStream {
  readonly position: number;
  readonly lines: AsyncGenerator<Buffer, void, undefined>;
}

export interface StreamParts extends HistorySource {
  readonly turns: Turns;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/**
 * The same items, one per line, up to `limit` or to the newest one at the beginning. Nothing is read before a line is asked for, and one
 * chunk at a time, so a reader that is slow costs no memory. Throws LogUnavailable, and BrokenSequence when the log has less than it said.
 */
export async function streamEvents(parts: StreamParts, { from = 0, limit = Infinity, filter = {}, ...known }: EventsParams): Promise<EventsStream> {
  const { length = await parts.log.length('outcomes') } = known;
  return { position: length - 1, lines: linesOf(parts, { from, end: length, limit, filter }) };
}

async function* linesOf(parts: StreamParts, search: Search): EventsStream['lines'] {
  let sentMs = parts.now();
  for await (const { items } of chunks(parts, search)) {
    if (items.length === 0 && parts.now() - sentMs < SILENCE_MS) continue;
    yield Buffer.from(items.length === 0 ? '\n' : items.map((text) => `${text}\n`).join(''));
    sentMs = parts.now();
  }
}

interface Search {
  readonly from: number;
  readonly end: number;
  readonly limit: number;
  readonly filter: HistoryFilter;
}

/** The items of some consecutive positions that the filter lets through. `next` is the position after them. */
interface Chunk {
  readonly items: readonly string[];
  readonly next: number;
}

async function* chunks(
  { log, ownOrders, turns = atOnce }: HistorySource & { turns?: Turns }, search: Search,
): AsyncGenerator<Chunk, void, undefined> {
  const { from, end, limit, filter } = search;
  let size = FIRST_CHUNK;
  let left = limit;
  let next = from;
  while (next < end && left > 0) {
    const chunk = await turns(async () => {
      const entries = await readEntries(log, next, Math.min(size, end - next));
      const taken = (await matching(entries, filter, ownOrders)).slice(0, left);
      const last = taken.length === left ? taken.at(-1) : entries.at(-1);
      const bytes = entries.reduce((sum, { command, outcome }) => sum + command.data.length + outcome.data.length, 0);
      size = Math.max(1, Math.min(LARGEST_CHUNK, Math.floor(CHUNK_BYTES * entries.length / bytes)));
      return { items: taken.map(item), next: (last?.command.position ?? next) + 1 };
    });
    left -= chunk.items.length;
    next = chunk.next;
    yield chunk;
  }
}

const atOnce: Turns = (work) => work();

/** At least one entry, at most `limit`. Throws BrokenSequence when there is none. */
async function readEntries(log: Log, from: number, limit: number): Promise<readonly Entry[]> {
  const [commands, outcomes] = await Promise.all([log.read('commands', from, limit), log.read('outcomes', from, limit)]);
  const entries = commands.flatMap((command, i) => {
    const outcome = outcomes[i];
    return outcome === undefined ? [] : [{ command, outcome }];
  });
  if (entries.length === 0) throw new BrokenSequence(commands.length === 0 ? 'commands' : 'outcomes', from, from - 1);
  return entries;
}

function item({ command, outcome }: Entry): string {
  const recorded = textOf(outcome);
  const digest = DIGEST.exec(recorded.slice(-DIGEST_LENGTH))?.[1];
  if (digest === undefined) throw new MalformedRecord(`the outcome at ${outcome.position} does not end with its digest`);
  const text = `${recorded.slice(0, -DIGEST_LENGTH)}}`;
  return `{"position":${command.position},"id":"${command.id}","command":${textOf(command)},"outcome":${text},"digest":"${digest}"}`;
}

function textOf({ data }: LogRecord): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
}
