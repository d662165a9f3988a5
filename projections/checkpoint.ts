/** Checkpoints: how many outcomes each projection has folded. The transaction that writes the rows also moves the checkpoint. */
import { int4Array, int8Array, textArray } from './columns.js';
import { soleRow } from '../engine/log/postgres/connection.js';
import type { Query } from './projection.js';

export interface Checkpoint {
  readonly version: number;
  /** The position of the next outcome to fold. */
  readonly position: number;
  /** The transaction that last wrote the checkpoint (Postgres' xmin). Another transaction means that another process changed the rows. */
  readonly writer: string;
  /** Whether it is the checkpoint of the row LEVEL. */
  readonly isLevel: boolean;
}

/**
 * The row of all projections that are equally far, as in an ordinary run all are: a batch moves this one row instead of theirs. A projection that was
 * just made or rebuilt has a position of its own until it has come as far.
 */
const LEVEL = '*';

/**
 * One row per projection: `position` is the number of folded outcomes, which is the position of the next one to fold. Every outcome before
 * `at_ms` (engine time in milliseconds) is among them. Where `position` is null, both are those of the row LEVEL. Tables from before get column
 * and row.
 */
export const checkpointTable = `
create table if not exists projection (
  name text primary key,
  version integer not null,
  position bigint,
  at_ms bigint not null default 0
);
do $$ begin
  if not exists (select from pg_attribute where attrelid = 'projection'::regclass and attname = 'at_ms') then
    alter table projection add column at_ms bigint not null default 0;
  end if;
  if exists (select from pg_attribute where attrelid = 'projection'::regclass and attname = 'position' and attnotnull) then
    alter table projection alter column position drop not null;
  end if;
  if not exists (select from projection where name = '${LEVEL}') then
    insert into projection values ('${LEVEL}', 0, 0);
  end if;
end $$`;

/** SQL: what a row of the table says, whose own position may be null. */
const of = (column: 'position' | 'at_ms', table = 'projection'): string => (
  `case when position is null then (select ${column} from ${table} where name = '${LEVEL}') else ${column} end`);

/** SQL that a rebuild runs about the checkpoints of a schema. */
export const checkpointsOf = (schema: string) => {
  const table = `${schema}.projection`;
  return {
    /** The version and the position of the projection $1. */
    read: `select version, ${of('position', table)} from ${table} where name = $1`,
    /** Keeps workers from moving a projection's checkpoint until the transaction ends. LEVEL comes first, as in a worker's moves. */
    lock: (name: string) => `select from ${table} where name = '${LEVEL}' for update; select from ${table} where name = '${name}' for update`,
    /** Gives a projection a checkpoint of its own, so that a worker which knows LEVEL as it was notices that somebody else has written. */
    set: ({ name, version, position }: Pick<Checkpoint, 'version' | 'position'> & { readonly name: string }) => (
      `update ${table} set version = ${version}, position = ${position}, at_ms = ${of('at_ms', table)} where name = '${name}';
      update ${table} set position = position where name = '${LEVEL}'`),
  };
};

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
  /** Null for that of LEVEL. */
  readonly from: number | null;
  readonly to: number | null;
}

const READ_CHECKPOINTS = {
  name: 'read_checkpoints',
  text: `
    select name, version, ${of('position')}, position is null,
      case when position is null then (select xmin::text from projection where name = '${LEVEL}') else xmin::text end
    from projection`,
};

const ADVANCE = {
  name: 'advance_checkpoints',
  text: `
    with moved as (
      update projection set position = next.position, at_ms = case when projection.position is null then (select at_ms from projection where name = '${LEVEL}') else coalesce($7::bigint, at_ms) end
      from unnest($1::text[], $2::integer[], $3::xid[], $4::bigint[], $5::bigint[]) as next (name, version, writer, expected, position)
      where projection.name = next.name and projection.version = next.version and projection.position is not distinct from next.expected
        and (next.writer is null or projection.xmin = next.writer)
      returning projection.xmin
    )
    select count(*), min(xmin::text),
      case when $6::text is not null then pg_notify('read_models', $6) end,
      case when $6::text is not null and exists (select from pg_stat_get_wal_senders())
        then set_config('synchronous_commit', 'local', true) end
    from moved`,
};

/** Every projection's checkpoint, by name, and that of LEVEL. */
export async function readCheckpoints(query: Query): Promise<Map<string, Checkpoint>> {
  const rows = await query<[string, number, string, boolean, string]>(READ_CHECKPOINTS, []);
  return new Map(rows.map(([name, version, position, isLevel, writer]) => [name, { version, position: Number(position), writer, isLevel }]));
}

/** The moves of the checkpoints for a batch, and what they are afterwards, written by this transaction. */
interface Step {
  readonly moves: readonly Advance[];
  readonly after: (writer: string) => Checkpoints;
}

/**
 * The step by which these projections come to `to`: all that the worker folds and that are not there yet. Where that is further than LEVEL, LEVEL
 * goes there, and they are level from then on. What is level and not folded by this worker stays where it is.
 */
export function stepTo(to: number, due: readonly string[], checkpoints: Checkpoints): Step {
  const level = checkpointOf(checkpoints, LEVEL);
  const isFurther = to > level.position;
  const moves: Advance[] = isFurther ? [{ ...level, name: LEVEL, from: level.position, to }] : [];
  for (const [name, { version, position, writer, isLevel }] of checkpoints) {
    if (name === LEVEL) continue;
    if (due.includes(name)) {
      if (!isLevel) moves.push({ name, version, writer, from: position, to: isFurther ? null : to });
    } else if (isLevel && isFurther) moves.push({ name, version, from: null, to: position });
  }
  const after = (writer: string) => new Map([...checkpoints].map(([name, checkpoint]): [string, Checkpoint] => {
    if (due.includes(name)) return [name, { ...checkpoint, position: to, writer, isLevel: isFurther }];
    if (!isFurther || (name !== LEVEL && !checkpoint.isLevel)) return [name, checkpoint];
    return [name, { ...checkpoint, position: name === LEVEL ? to : checkpoint.position, writer, isLevel: false }];
  }));
  return { moves, after };
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
