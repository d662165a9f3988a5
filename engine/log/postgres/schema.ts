/** The SQL objects of the log in Postgres, one constant per object, and the statements that use them. */

const STREAMS = `
create table if not exists log.streams (
  stream smallint primary key,
  name text not null unique,
  length bigint not null
) with (fillfactor = 10)`;

/** Does not use `on conflict`, which would wait for a writer that has locked the row. */
const STREAM_ROWS = `
insert into log.streams (stream, name, length)
select * from (values (0, 'commands', 0), (1, 'outcomes', 0)) added where not exists (select from log.streams)`;

/**
 * Records of a few hundred bytes stay in the row. Larger ones are stored outside it uncompressed, so the writer spends
 * no time on compression.
 */
const RECORDS = `
create table if not exists log.records (
  stream smallint not null,
  position bigint not null,
  id uuid not null,
  data bytea storage external not null,
  primary key (stream, position)
)`;

/**
 * A batch without an exact position is written at most this many records after the position that the caller took for
 * the end. With a larger range, a caller that was far behind needs a second call less often; with a smaller one, a
 * search blocks the other writers for a shorter time.
 */
const RANGE = 4_000;

/**
 * Appends a batch at the position `wanted`, or finds it there. `wanted` is a length that the stream has had. The
 * function assigns positions under the lock on the stream's row and holds the lock until the commit: positions have no
 * gaps, and become visible in order.
 *
 * When `exactly` is false, the function writes the batch at the end of the stream, but at most RANGE records after
 * `wanted`, and first looks for the batch in that whole range. So of an attempt and its retries, all but the first to
 * run find the written batch, however late they run, or find that the range is full. The search is bounded and needs no
 * index on id.
 *
 * written: true when this call wrote the batch; false when the batch was already there, perhaps with other data; null
 * when the batch is not there and never will be, because other records have the position or the whole range.
 *
 * lost: true when the log does not have the record that the caller knows, at its position; then nothing is written. The
 * lookup is under the lock, so that no failover or restore comes between it and the append; one per call, in the page
 * of the index that the insert needs next.
 *
 * log.append, log.append_once and log.append_at, the functions of earlier versions, stay for processes of those
 * versions: they take the same lock.
 */
const APPEND = `
create or replace function log.append_after(
  of_stream smallint, ids uuid[], datas bytea[], wanted bigint, exactly boolean, known_position bigint, known_id uuid,
  out first_position bigint, out stream_length bigint, out written boolean, out lost boolean
) language plpgsql as $$
declare
  added constant int := cardinality(ids);
  last_position constant bigint := wanted + case when exactly then 0 else ${RANGE} end;
begin
  select s.length into strict stream_length from log.streams s where s.stream = of_stream for update;
  if known_position is not null then
    perform from log.records r where r.stream = of_stream and r.position = known_position and r.id = known_id;
    lost := not found;
    if lost then
      return;
    end if;
  end if;
  if stream_length <> wanted then
    first_position := log.find(of_stream, ids, wanted, least(stream_length, last_position + 1));
    if first_position is not null then
      written := false;
      return;
    elsif stream_length < wanted or stream_length > last_position then
      return;
    end if;
  end if;
  first_position := stream_length;
  insert into log.records (stream, position, id, data)
    select of_stream, generate_series(first_position, first_position + added - 1), unnest(ids), unnest(datas);
  stream_length := stream_length + added;
  update log.streams s set length = stream_length where s.stream = of_stream;
  written := true;
end $$`;

/** The position of the whole batch, if it begins within a range; otherwise null. */
const FIND = `
create or replace function log.find(of_stream smallint, ids uuid[], from_position bigint, to_position bigint) returns bigint
language plpgsql stable as $$
begin
  return (
    select r.position from log.records r
    where r.stream = of_stream and r.position >= from_position and r.position < to_position
      and r.id = ids[1] and log.ids(of_stream, r.position, cardinality(ids)) = ids
    order by r.position limit 1);
end $$`;

/** The ids of a range of records, in order. */
const IDS = `
create or replace function log.ids(of_stream smallint, first_position bigint, many int) returns uuid[] language sql stable as $$
  select array_agg(r.id order by r.position) from log.records r
  where r.stream = of_stream and r.position >= first_position and r.position < first_position + many
$$`;

/** Lets the role of the queries read the log, where the cluster has such a role. */
const GRANTS = `
do $$ begin
  if exists (select from pg_roles where rolname = 'query_reader') and not has_schema_privilege('query_reader', 'log', 'usage') then
    grant usage on schema log to query_reader;
    grant select on all tables in schema log to query_reader;
  end if;
end $$`;

/** Whether this user can make the log's schema, or has made it. */
export const MAY_CREATE = `
select case when exists (select from pg_namespace where nspname = 'log') then has_schema_privilege('log', 'create')
  else has_database_privilege(current_database(), 'create') end as create`;

/**
 * Creates what is missing, in one transaction. The advisory lock makes processes that start at the same time take
 * turns. When nothing is missing, no statement waits for writers or makes them wait. For Postgres 16 and later.
 */
export const CREATE_SCHEMA = [
  'begin', 'select pg_advisory_xact_lock(7263510842)', 'create schema if not exists log',
  STREAMS, STREAM_ROWS, RECORDS, IDS, FIND, APPEND, GRANTS, 'commit',
].join(';\n');

/**
 * Parameters: stream, ids, data, position, whether exactly at that position, position and id of the newest known record
 * or nulls.
 */
export const APPEND_BATCH = 'select first_position, stream_length, written, lost from log.append_after($1, $2, $3, $4, $5, $6, $7)';

/**
 * A page as a COPY. The record that exceeds `maxBytes` is the last one, so a large record cannot make a page empty. The
 * data of records before `dataFrom` are left out. COPY takes no parameters: the arguments are checked numbers.
 */
export function copyPage({ stream, from, limit, maxBytes, dataFrom = from }: {
  stream: number; from: number; limit: number; maxBytes: number; dataFrom?: number;
}): string {
  return `copy (
    select position, id, data from (
      select position, id, data, sum(octet_length(data)) over (order by position rows unbounded preceding) - octet_length(data) as before
      from (
        select position, id, ${dataFrom > from ? `case when position >= ${dataFrom} then data else '' end as ` : ''}data
        from log.records
        where stream = ${stream}::smallint and position >= ${from} and position < ${from + limit}
      ) asked
    ) page where before < ${maxBytes}
  ) to stdout (format binary)`;
}

/** A standby may have fewer records than the server that takes the appends. */
export const LENGTH = 'select length, pg_is_in_recovery() from log.streams where stream = $1';

/** The channel of the messages `STREAM LENGTH`. */
export const CHANNEL = 'prediction_exchange_log';

/** The streams' numbers in the tables. */
export const STREAM_NUMBERS = { commands: 0, outcomes: 1 } as const;
