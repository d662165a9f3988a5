/** How far back the read models go: the horizon before which rows are removed, stored before the first of them is. */
import type { Query } from '../projection.js';

/** What was over before it is removed, or may be at any moment. It never goes back. */
export interface Horizon {
  /** The read models tell how everything was after this log position, and after each later one. */
  readonly position: number;
  /** Trades with smaller fill numbers go: all of them were settled, or failed, before `position`, and no later candle needs them. */
  readonly fill: number;
  /** Volumes of minutes that ended by this time go (engine time in milliseconds): all trades from `fill` on matched later. */
  readonly atMs: number;
}

/** Before anything was removed. */
export const NO_HORIZON: Horizon = { position: 0, fill: 0, atMs: 0 };

/**
 * `history_horizon` has one row, or none while nothing was ever removed. `message_ends` has the position of the last message that was removed, of
 * each channel of the streams that had one: by a market's id (32 bytes) of its trades, by a trader's address (20 bytes) of its orders. They are of no
 * projection, so a rebuild, which makes removed rows again until the next round, does not forget them.
 */
export const historyTables = `
create table if not exists history_horizon (
  position bigint not null,
  fill bigint not null,
  at_ms bigint not null
);
create table if not exists message_ends (
  channel bytea primary key,
  position bigint not null
)`;

const READ = { name: 'read_horizon', text: 'select position, fill, at_ms from history_horizon' };

/** The horizon of the read models in the first schema of the session's search path. */
export async function readHorizon(query: Query): Promise<Horizon> {
  const [row] = await query<[string, string, string]>(READ, []);
  if (row === undefined) return NO_HORIZON;
  const [position, fill, atMs] = row;
  return { position: Number(position), fill: Number(fill), atMs: Number(atMs) };
}

const WRITE = {
  name: 'write_horizon',
  text: `
    with moved as (
      update history_horizon set position = $1::bigint, fill = $2::bigint, at_ms = $3::bigint returning position
    )
    insert into history_horizon (position, fill, at_ms) select $1::bigint, $2::bigint, $3::bigint where not exists (select from moved)`,
};

/** Stores the horizon. The caller is the only one who does so, and removes nothing before this is committed. */
export async function writeHorizon({ position, fill, atMs }: Horizon, query: Query): Promise<void> {
  await query(WRITE, [position, fill, atMs]);
}
