/** Removes history that is older than the read models are to keep: first the horizon is stored, then rows go, a piece at a time. */
import { decodeOutcome } from '../../engine/records/codec.js';
import { BrokenSequence, LogUnavailable, type Log } from '../../engine/log/log.js';
import { soleRow } from '../../engine/log/postgres/connection.js';
import { startReactor } from '../../engine/reactor.js';
import type { Report } from '../../engine/report.js';
import { pause, type Backoff } from '../../engine/waiting.js';
import { DatabaseUnavailable, openSession, type OpenSession, type Session } from '../database.js';
import type { Query } from '../projection.js';
import { READ_MODELS } from '../schema.js';
import { readHorizon, writeHorizon, type Horizon } from './horizon.js';
import { prepareSweeps, SWEEPS } from './sweeps.js';

export interface RemovalOptions {
  /** The Postgres of the read models, whose tables exist. The removal opens its own connection. */
  readonly url: string;
  /** The log that the read models were made from. */
  readonly log: Pick<Log, 'read'>;
  /** How much history stays: engine time in milliseconds before that of the last outcome that the read models include. */
  readonly keepMs: number;
  /** When the signal aborts, the removal finishes the current piece and ends. */
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly onRound?: (round: RemovalRound) => void;
  readonly open?: OpenSession;
  /** The pause between rounds. Default: an hour. */
  readonly everyMs?: number;
  /** The pause between pieces, in which the worker has Postgres to itself. Default: 50 ms. */
  readonly restMs?: number;
  /** The most rows of a piece. Default: 2,000. */
  readonly rows?: number;
  /** Pauses after failures in a row. Default: 1 s to a minute. */
  readonly backoff?: Backoff;
}

/** What a round came to. */
export interface RemovalRound {
  readonly horizon: Horizon;
  /** How many rows went, without those that belong to them. */
  readonly removed: number;
}

const EVERY_MS = 3_600_000;
const REST_MS = 50;
const ROWS = 2_000;
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 60_000 };
const MINUTE_MS = 60_000;

/** Starts the rounds. Resolves when the signal has aborted; rejects with a defect. Of several processes one works at a time. */
export function removeHistory(options: RemovalOptions): Promise<void> {
  const { url, signal, report, onRound, open = openSession, everyMs = EVERY_MS, backoff = BACKOFF } = options;
  return startReactor<Session>({
    hold: () => open(url, READ_MODELS),
    async round(session) {
      if (!await isAlone(session.query)) return;
      const round = await removeOnce(session, options);
      onRound?.(round);
    },
    rest: () => pause(everyMs, signal),
    release: (session) => session.close(),
    isLoss: () => true,
    canPass: (error) => error instanceof DatabaseUnavailable || error instanceof LogUnavailable,
    backoff, who: 'the removal of old history', report, signal,
  }).done;
}

const LOCK = { name: 'lock_removal', text: `select pg_try_advisory_lock(hashtext('history_removal'))` };

/** Whether no other session removes; it keeps them from it until it ends. */
async function isAlone(query: Query): Promise<boolean> {
  return soleRow(await query<[boolean]>(LOCK, []))[0];
}

/** One round. Throws DatabaseUnavailable, LogUnavailable. */
async function removeOnce(session: Session, options: RemovalOptions): Promise<RemovalRound> {
  const { signal, restMs = REST_MS, rows = ROWS } = options;
  const horizon = await moveHorizon(session.query, options);
  let removed = 0;
  if (horizon.position === 0) return { horizon, removed };
  await session.run(prepareSweeps);
  for (const sweep of SWEEPS) {
    let from: readonly unknown[] | undefined = sweep.first;
    while (from !== undefined && !signal.aborted) {
      const piece = await sweep.piece(session.query, from, rows);
      removed += piece.removed;
      from = piece.next;
      if (piece.removed > 0) await pause(restMs, signal);
    }
  }
  return { horizon, removed };
}

const TIME = { name: 'read_checkpoint_time', text: 'select position, at_ms from checkpoint' };

/**
 * The first fill that stays is the first one that is unsettled, or was so at the horizon; with it stay all that matched in its minute, since a
 * candle is made again from them when a fill fails. One statement: a fill that comes meanwhile is in all of it or in none.
 */
const FIRST_FILL = {
  name: 'first_kept_fill',
  text: `
    with first as materialized (
      select number, at_ms / ${MINUTE_MS} * ${MINUTE_MS} as minute_ms from trades
      where number >= $1::bigint and (settled_position is null or settled_position >= $2::bigint) order by number limit 1
    )
    select (select minute_ms from first), case
      when exists (select from first) then coalesce((
        select number + 1 from trades where number < (select number from first) and at_ms < (select minute_ms from first) order by number desc limit 1), 0)
      else coalesce((select max(number) + 1 from trades), 0) end`,
};

/** Stores how far history may go now, and returns it. */
async function moveHorizon(query: Query, { log, keepMs }: Pick<RemovalOptions, 'log' | 'keepMs'>): Promise<Horizon> {
  const before = await readHorizon(query);
  const [end, atMs] = soleRow(await query<[string, string]>(TIME, []));
  const position = await firstFrom(log, Number(atMs) - keepMs, { from: before.position, end: Number(end) });
  const [minuteMs, fill] = soleRow(await query<[string | null, string]>(FIRST_FILL, [before.fill, position]));
  const horizon: Horizon = {
    position, fill: Math.max(before.fill, Number(fill)),
    atMs: Math.max(before.atMs, Math.min(Number(atMs) - keepMs, minuteMs === null ? Infinity : Number(minuteMs))),
  };
  if (position > before.position) await writeHorizon(horizon, query);
  return position > before.position ? horizon : before;
}

/** The first position from `from` on whose outcome is of this time or later; `end` without one. The times of outcomes never fall. */
async function firstFrom(log: Pick<Log, 'read'>, timeMs: number, { from, end }: { readonly from: number; readonly end: number }): Promise<number> {
  let [first, last] = [from, Math.max(from, end)];
  while (first < last) {
    const middle = Math.floor((first + last) / 2);
    const [record] = await log.read('outcomes', middle, 1);
    if (record === undefined) throw new BrokenSequence('outcomes', middle, middle - 1);
    if (decodeOutcome(record.data).at < timeMs) first = middle + 1; else last = middle;
  }
  return first;
}
