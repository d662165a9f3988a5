/** The recorded history as pages and as streams of lines, and how many streams there may be. */
import type { Log } from '../../engine/log/log.js';
import { eventSchemas, type Event } from '../../engine/records/events.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { defineEndpoint, type Context, type Reply, type StreamReply } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inQuery } from '../../service/api/parameter.js';
import * as kind from '../../service/api/request-fields.js';
import type { Database } from '../database.js';
import { createPlaces } from '../places.js';
import { read } from '../reading.js';
import { createTurns } from '../turns.js';
import { unlessLogAway } from '../unless-log-away.js';
import { events, EVENTS_LIMIT, SCANNED_PER_PAGE, streamEvents } from './events.js';
import { ownOrdersIn, type HistoryFilter } from './filter.js';

/** What a client asks for. */
export interface HistoryQuery extends HistoryFilter {
  readonly from: number;
  readonly limit: number | undefined;
  readonly contentType: string;
}

export interface History {
  readonly list: (query: HistoryQuery, context: Context) => Promise<Reply | StreamReply>;
  /** Number of open streams. */
  open(): number;
}

export interface HistoryOptions {
  readonly log: Log;
  readonly db: Pick<Database, 'rows' | 'waitForPosition'>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Most streams of the process, and of one client address; IPv6 clients are counted by their /56 prefix. */
  readonly most?: { readonly streams: number; readonly perAddress: number };
  /** A client that takes nothing for this long is cut off. */
  readonly stallMs?: number;
}

/** For proxies that would otherwise collect an answer before they pass it on. */
const UNBUFFERED = { 'X-Accel-Buffering': 'no' };

export function createHistory({ log, db, now, most = HISTORY_STREAMS, stallMs = 30_000 }: HistoryOptions): History {
  const places = createPlaces('streams of the history', most);
  // One chunk at a time for all streams together: what else the process does never waits for more than one.
  const parts = { log, ownOrders: ownOrdersIn(db, log), turns: createTurns(1), now };
  return {
    list: (query, { ip, signal }) => unlessLogAway(async () => {
      const { from, limit, contentType, market, trader, event } = query;
      const length = await log.length('outcomes');
      // Whose orders are cancelled, only the read models know: of what comes after this, they may not know it yet.
      if (trader !== undefined) await db.waitForPosition(length - 1, { signal });
      const params = { from, limit, filter: { market, trader, event }, length };
      if (contentType !== NDJSON) return events(parts, params);
      const leave = places.enter(ip);
      try {
        const { lines, position } = await streamEvents(parts, params);
        return { ...held(lines, { stallMs, ended: leave }), position, headers: UNBUFFERED, finite: true };
      } catch (error) {
        leave();
        throw error;
      }
    }),
    open: places.taken,
  };
}

/** The lines, told when they have ended in whatever way; `cut` aborts when nobody has asked for the next one for a while. */
function held(lines: AsyncGenerator<Buffer, void, undefined>, { stallMs, ended }: { readonly stallMs: number; readonly ended: () => void }) {
  const cut = new AbortController();
  let stalled: NodeJS.Timeout | undefined;
  const over = (): void => {
    clearTimeout(stalled);
    ended();
  };
  const stream: AsyncIterableIterator<Buffer> = {
    [Symbol.asyncIterator]: () => stream,
    async next() {
      clearTimeout(stalled);
      try {
        const result = await unlessLogAway(() => lines.next());
        if (result.done === true) over(); else stalled = setTimeout(() => { cut.abort(); }, stallMs);
        return result;
      } catch (error) {
        over();
        throw error;
      }
    },
    async return() {
      over();
      await lines.return();
      // A line that was on its way has begun to wait for the next question.
      clearTimeout(stalled);
      return { done: true, value: undefined };
    },
  };
  return { stream, cut: cut.signal };
}

/** One entry per line. */
export const NDJSON = 'application/x-ndjson';

/** Most streams of the history in one process, and of one client address there. */
export const HISTORY_STREAMS = { streams: 16, perAddress: 4 } as const;

const EVENT_TYPES = Object.keys(eventSchemas) as Event['type'][];

const entry = {
  position: 4_217, id: '1b671a64-40d5-591e-99b0-da01ff1f3341',
  command: { kind: 'CancelOrder', v: 1, at: example.placedAt * 1_000, orderHash: example.orderHash, marketId: example.marketId },
  outcome: {
    at: example.placedAt * 1_000, events: [{ type: 'CommandRejected', v: 1, code: 'unknown_order', subject: example.orderHash }],
  },
  digest: example.digest,
};

export const listEvents = defineEndpoint({
  ...read, id: 'listEvents', path: '/api/v1/events', tag: 'History',
  summary: 'The recorded history: every command with its outcome',
  description: 'Consecutive log positions, starting at `from`. Each digest is SHA-256(previous digest | byte length of the command as uint32 '
    + 'big-endian | command | outcome), over the exact bytes shown; the digest before the first entry is 32 zero bytes. A page may have fewer than '
    + '`limit` entries: only an empty page means the end. A page that is full, or has more after it, never changes, and is sent as `immutable`.\n\n'
    + `**Everything at once**: with \`Accept: ${NDJSON}\` the answer is a stream of lines, one entry per line, up to \`limit\` or else to the newest entry at `
    + 'its beginning, which is `X-Log-Position`, as fast as the client reads. An empty line is no entry; it shows during a long search that the service is there. '
    + 'A stream that breaks off has no last chunk (RFC 9112, 7.1; HTTP/1.0 clients get a reset), which HTTP clients report as an error: go on with the position '
    + `after your last whole line as \`from\`. A client that takes nothing for 30 s is cut off; one address may have ${HISTORY_STREAMS.perAddress} streams.\n\n`
    + '**Filters**: an entry is given when one and the same event of it passes all filters. What an event does not name itself is as its command names it (so '
    + 'a rejected order is found by its market and trader), and the trader of an event about an order is the order\'s. Entries are whole and keep their position and '
    + 'digest, but the digests of a filtered history cannot be chained: each covers the entries that are left out, too. SettlementSubmitted names fills, no markets or '
    + `traders. A filtered page looks through ${SCANNED_PER_PAGE} positions at most, and may be empty before the end, which is reached when \`next\` is above \`X-Log-Position\`.`,
  parameters: {
    from: inQuery('from', kind.withDefault(kind.position, 0), { description: 'First log position of the answer.', example: 0 }),
    limit: inQuery('limit', kind.optional(kind.upTo(EVENTS_LIMIT.max)), {
      description: `The highest number of entries in the answer. If it is absent, a JSON page has ${EVENTS_LIMIT.byDefault}, and a stream all.`,
      example: EVENTS_LIMIT.byDefault,
    }),
    market: inQuery('market', kind.optional(kind.marketId), { description: 'Only what is about this market.', example: example.marketId }),
    trader: inQuery('trader', kind.optional(kind.address), {
      description: 'Only what is about this trader: as trader, buyer, seller, user, owner, sender or receiver of shares, proposer or disputer.', example: example.alice,
    }),
    event: inQuery('event', kind.optional(kind.oneOf(EVENT_TYPES)), { description: 'Only entries with an event of this type.', example: 'FillMatched' }),
  },
  shownLimit: { name: 'maxEventsPerPage', value: EVENTS_LIMIT.max, description: 'Most records of the history in an answer.' },
  answer: {
    description: 'A page of the history.',
    schema: field.answer('HistoryPage', {
      events: Type.Array(field.answer('HistoryEntry', {
        position: field.LogPosition,
        id: Type.String({ description: 'The UUID of the command.' }),
        command: Type.Object({}, { additionalProperties: true, description: 'The command as recorded.' }),
        outcome: field.answer('RecordedOutcome', {
          at: field.integer('Engine time in milliseconds.'), events: Type.Array(Type.Object({}, { additionalProperties: true }), { description: 'All events that the command caused, in order.' }),
        }, { description: 'The outcome as recorded.' }),
        digest: { ...field.Bytes32, description: 'SHA-256 hash chain over the whole history up to and including this entry.' },
      })),
      count: field.Count,
      next: field.integer('For the next page, send this value as `from`.'),
    }),
    examples: { 'one entry': { events: [entry], count: 1, next: 4_218 }, 'the end': { events: [], count: 0, next: 4_218 } },
    alternatives: { [NDJSON]: { description: 'The entries of `events`, one per line.', stream: true } },
  },
  errors: ['unavailable', 'overloaded', 'too_many_streams'],
}, ({ history }: { readonly history: History }) => history.list);
