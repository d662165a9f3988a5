/** The recorded history as pages and as streams of lines, and how many streams there may be. */
import { LogUnavailable, type Log } from '../../../engine/log/log.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Database } from '../../../query/database.js';
import { events, streamEvents } from '../../../query/history/events.js';
import { ownOrdersIn } from '../../../query/history/filter.js';
import { createTurns } from '../../../query/turns.js';
import { HISTORY_STREAMS, NDJSON } from '../../api/endpoints/history.js';
import type { ReadHandlers } from '../../api/endpoints.js';
import { addressKey } from '../../http/limits.js';

export interface History {
  readonly list: ReadHandlers['listEvents'];
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

/** When a client that was refused may ask again. */
const RETRY_AFTER_S = 5;

/** For proxies that would otherwise collect an answer before they pass it on. */
const UNBUFFERED = { 'X-Accel-Buffering': 'no' };

export function createHistory({ log, db, now, most = HISTORY_STREAMS, stallMs = 30_000 }: HistoryOptions): History {
  const places = createPlaces(most);
  // One chunk at a time for all streams together: what else the process does never waits for more than one.
  const parts = { log, ownOrders: ownOrdersIn(db), turns: createTurns(1), now };
  return {
    list: (query, { ip, signal }) => unlessLogAway(async () => {
      const { from, limit, contentType, market, trader, event } = query;
      const asked = { from, limit, filter: { market, trader, event } };
      // Whose orders are cancelled, only the read models know.
      if (trader !== undefined) await db.waitForPosition(await log.length('outcomes') - 1, { signal });
      if (contentType !== NDJSON) return events(parts, asked);
      const leave = places.enter(addressKey(ip));
      try {
        const { lines, position } = await streamEvents(parts, asked);
        return { ...held(lines, { stallMs, ended: leave }), position, headers: UNBUFFERED, finite: true };
      } catch (error) {
        leave();
        throw error;
      }
    }),
    open: places.taken,
  };
}

/** What the work rejects with LogUnavailable, it rejects with RequestError `unavailable`. */
export async function unlessLogAway<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LogUnavailable ? new RequestError('unavailable', 'the log') : error;
  }
}

function createPlaces({ streams, perAddress }: NonNullable<HistoryOptions['most']>) {
  const byAddress = new Map<string, number>();
  let taken = 0;
  return {
    taken: () => taken,
    /** Takes a place; the function returned gives it back, once. Throws RequestError `overloaded`, `too_many_streams`. */
    enter(address: string): () => void {
      const own = byAddress.get(address) ?? 0;
      const retry = { retryAfterS: RETRY_AFTER_S };
      if (taken >= streams) throw new RequestError('overloaded', `${streams} streams of the history are open`, [], retry);
      if (own >= perAddress) throw new RequestError('too_many_streams', `at most ${perAddress}`, [], retry);
      taken += 1;
      byAddress.set(address, own + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        taken -= 1;
        const others = (byAddress.get(address) ?? 1) - 1;
        if (others === 0) byAddress.delete(address); else byAddress.set(address, others);
      };
    },
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
