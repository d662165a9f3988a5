/** Checkpoints: how many outcomes each projection has folded. The transaction that writes the rows also moves the checkpoint. */
import { int4Array, int8Array, textArray } from './columns.js';
import { soleRow, type Query } from './projection.js';

export interface Checkpoint {
  readonly version: number;
  /** The position of the next outcome to fold. */
  readonly position: number;
  /** The transaction that last wrote the checkpoint (Postgres' xmin). Another transaction means that another process changed the rows. */
  readonly writer: string;
}

/**
 * One row per projection: `position` is the number of folded outcomes, which is the position of the next one to fold. Every outcome before
 * `at_ms` (engine time in milliseconds) is among them. Tables from before that column get it.
 */
export const checkpointTable = `
create table if not exists projection (
  name text primary key,
  version integer not null,
  position bigint not null,
  at_ms bigint not null default 0
);
do $$ begin
  if not exists (select from pg_attribute where attrelid = 'projection'::regclass and attname = 'at_ms') then
    alter table projection add column at_ms bigint not null default 0;
  end if;
end $$`;

/** The checkpoints by projection name. */
export type Checkpoints = ReadonlyMap<string, Checkpoint>;

/** The checkpoint of a projection. Throws Error when the projection has none, because its tables were not created. */
export function checkpointOf(checkpoints: Checkpoints, name: string): Checkpoint {
  const checkpoint = checkpoints.get(name);
  if (checkpoint === undefined) throw new Error(`projection ${name} has no checkpoint`);
  return checkpoint;
}

export interface Advance {
  readonly name: string;
  readonly version: number;
  /** The checkpoint's last known writer. Absent when the fold remembers nothing about the rows: then only the position is compared. */
  readonly writer?: string;
  readonly from: number;
  readonly to: number;
}

const READ_CHECKPOINTS = { name: 'read_checkpoints', text: 'select name, version, position, xmin::text from projection' };

const ADVANCE = {
  name: 'advance_checkpoints',
  text: `
    with moved as (
      update projection set position = next.position, at_ms = coalesce($7::bigint, at_ms)
      from unnest($1::text[], $2::integer[], $3::xid[], $4::bigint[], $5::bigint[]) as next (name, version, writer, expected, position)
      where projection.name = next.name and projection.version = next.version and projection.position = next.expected
        and (next.writer is null or projection.xmin = next.writer)
      returning projection.xmin
    )
    select count(*), min(xmin::text),
      case when $6::text is not null then pg_notify('read_models', $6) end,
      case when $6::text is not null and exists (select from pg_stat_get_wal_senders())
        then set_config('synchronous_commit', 'local', true) end
    from moved`,
};

/** Every projection's checkpoint, by name. */
export async function readCheckpoints(query: Query): Promise<Map<string, Checkpoint>> {
  const rows = await query<[string, number, string, string]>(READ_CHECKPOINTS, []);
  return new Map(rows.map(([name, version, position, writer]) => [name, { version, position: Number(position), writer }]));
}

/** What is told with the checkpoints of a batch. */
export interface Reached {
  /** Readers are notified at the commit that the read models include this position. */
  readonly position: number;
  /** The time of that outcome. */
  readonly at: number;
}

/**
 * Moves checkpoints that nobody else has changed, and returns their new writer, which is this transaction. Returns undefined when
 * another worker or a rebuild has changed one; the caller then rolls back. The statement waits for a transaction that is moving the
 * same checkpoints, so it must be the first one of its transaction. With `reached`, Postgres notifies readers at the commit that the
 * read models include that position; and where a standby follows, the commit waits for the disk: a standby gets only what is there, and
 * a commit that does not wait gets there up to 200 ms later (Postgres' wal_writer_delay).
 */
export async function advance(moves: readonly Advance[], query: Query, reached?: Reached): Promise<string | undefined> {
  const [moved, writer] = soleRow(await query<[string, string]>(ADVANCE, [
    textArray(moves.map(({ name }) => name)), int4Array(moves.map(({ version }) => version)),
    textArray(moves.map(({ writer = null }) => writer)),
    int8Array(moves.map(({ from }) => from)), int8Array(moves.map(({ to }) => to)),
    reached === undefined ? null : String(reached.position), reached?.at ?? null,
  ]));
  return Number(moved) === moves.length ? writer : undefined;
}
