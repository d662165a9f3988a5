/**
 * The checkpoint: how many outcomes the read models include, every one of them as many. The transaction that writes the rows also moves the
 * checkpoint. A read model that is new or rebuilt is made apart, up to the checkpoint, before it is among them.
 */
import { soleRow } from '../engine/log/postgres/connection.js';
import type { Query } from './projection.js';

export interface Checkpoint {
  /** The position of the next outcome to fold. */
  readonly position: number;
  /** The transaction that last wrote the checkpoint (Postgres' xmin). Another transaction means that another process changed the rows. */
  readonly writer: string;
}

/**
 * `checkpoint` has one row: `position` is the number of folded outcomes, which is the position of the next one to fold, and every outcome before
 * `at_ms` (engine time in milliseconds) is among them. `projection` has a row for each read model. Where an earlier program gave each a position of
 * its own, in `projection`, those that are not as far as the furthest one lose their rows: they are built anew.
 */
export const checkpointTables = `
create table if not exists projection (
  name text primary key,
  version integer not null
);
create table if not exists checkpoint (
  position bigint not null,
  at_ms bigint not null
);
do $$ begin
  if exists (select from pg_attribute where attrelid = 'projection'::regclass and attname = 'position' and not attisdropped) then
    update projection set position = shared.position from projection shared where shared.name = '*' and projection.position is null;
    delete from projection where name = '*';
    insert into checkpoint select coalesce(max(position), 0), 0 from projection;
    delete from projection where position < (select position from checkpoint);
    alter table projection drop column position, drop column if exists at_ms;
  end if;
  if not exists (select from checkpoint) then
    insert into checkpoint values (0, 0);
  end if;
end $$`;

const READ_CHECKPOINT = { name: 'read_checkpoint', text: 'select position, xmin::text from checkpoint' };

/** The checkpoint of the read models in the first schema of the session's search path. */
export async function readCheckpoint(query: Query): Promise<Checkpoint> {
  const [position, writer] = soleRow(await query<[string, string]>(READ_CHECKPOINT, []));
  return { position: Number(position), writer };
}

const READ_VERSIONS = { name: 'read_versions', text: 'select name, version from projection' };

/** The versions of the read models that are up to the checkpoint, by name. */
export async function readVersions(query: Query): Promise<Map<string, number>> {
  return new Map(await query<[string, number]>(READ_VERSIONS, []));
}

/** SQL that a rebuild runs about a schema of read models. */
export const checkpointOf = (schema: string) => ({
  /** Keeps workers from moving the checkpoint until the transaction ends. */
  lock: `select from ${schema}.checkpoint for update`,
  /** Puts a read model that was made apart among the others. Workers notice that somebody else has written. */
  join: ({ name, version }: { readonly name: string; readonly version: number }) => `
    insert into ${schema}.projection values ('${name}', ${version}) on conflict (name) do update set version = excluded.version;
    update ${schema}.checkpoint set position = position`,
});

export interface Advance {
  readonly from: Checkpoint;
  /** The position of the next outcome to fold after the batch. */
  readonly to: number;
  /** The time of the batch's last outcome. */
  readonly at: number;
}

const ADVANCE = {
  name: 'advance_checkpoint',
  text: `
    with moved as (
      update checkpoint set position = $3::bigint, at_ms = $4::bigint where position = $1::bigint and xmin = coalesce($2::xid, xmin) returning xmin
    )
    select xmin::text, pg_notify('read_models', ($3::bigint - 1)::text),
      case when exists (select from pg_stat_get_wal_senders()) then set_config('synchronous_commit', 'local', true) end
    from moved`,
};

/**
 * Moves the checkpoint, and returns it as it is then, written by this transaction. Returns undefined when another worker or a rebuild has written
 * it; the caller then rolls back. The statement waits for a transaction that is moving the checkpoint, so it must be the first one of its
 * transaction. Postgres notifies readers at the commit that the read models include the batch; and where a standby follows, the commit waits for the
 * disk: a standby gets only what is there, and a commit that does not wait gets there up to 200 ms later (Postgres' wal_writer_delay).
 */
export async function advance({ from, to, at }: Advance, query: Query): Promise<Checkpoint | undefined> {
  const [moved] = await query<[string]>(ADVANCE, [from.position, from.writer, to, at]);
  return moved === undefined ? undefined : { position: to, writer: moved[0] };
}
