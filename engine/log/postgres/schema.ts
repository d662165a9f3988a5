/** The SQL objects of the log in Postgres, one constant each, and the statements that use them. */

const STREAMS = `
create table if not exists log.streams (
  stream smallint primary key,
  name text not null unique,
  length bigint not null
) with (fillfactor = 10)`;

/** Not by `on conflict`, which would wait for a writer that has the row locked. */
const STREAM_ROWS = `
insert into log.streams (stream, name, length)
select * from (values (0, 'commands', 0), (1, 'outcomes', 0)) added where not exists (select from log.streams)`;

/** Records of a few hundred bytes stay in the row; larger ones are kept apart uncompressed, which costs no time of the writer. */
const RECORDS = `
create table if not exists log.records (
  stream smallint not null,
  position bigint not null,
  id uuid not null,
  data bytea storage external not null,
  primary key (stream, position)
)`;

/**
 * A batch that is not bound to one position is written at most so many records behind the position that its sender took for the
 * end. Larger: a sender who was far behind needs a second call more often. Smaller: a search holds up the other writers for less.
 */
const RANGE = 4_000;

/**
 * Appends a batch at the wanted position, or finds it there. `wanted` is a length that the stream has had. Positions are given under the lock
 * on the stream's row, which is held until the commit: they have no gaps, and they become visible in order.
 *
 * Unless it is to be `exactly` there, the batch is written where the stream ends, but at most RANGE records behind; and it is
 * looked for in that whole range first. So whichever of a first attempt and its retries comes second, however late, finds what the
 * other wrote, or that the range is full. No index on id is needed, and a search has a bound.
 *
 * written: true; false when the batch was found, whose data may be other than these; null when it is not there and never will be,
 * since others have the position, or the whole range.
 *
 * The functions that earlier versions made, log.append and log.append_once, stay for their processes: they take the same lock.
 */
const APPEND = `
create or replace function log.append_at(
  of_stream smallint, ids uuid[], datas bytea[], wanted bigint, exactly boolean,
  out first_position bigint, out stream_length bigint, out written boolean
) language plpgsql as $$
declare
  added constant int := cardinality(ids);
  last_position constant bigint := wanted + case when exactly then 0 else ${RANGE} end;
begin
  select s.length into strict stream_length from log.streams s where s.stream = of_stream for update;
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
    select of_stream, first_position + u.nth - 1, u.id, u.data
    from unnest(ids, datas) with ordinality as u (id, data, nth);
  stream_length := stream_length + added;
  update log.streams s set length = stream_length where s.stream = of_stream;
  written := true;
end $$`;

/** Where the whole batch is that begins in a range; null when it is not there. */
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

/**
 * Makes what is missing, in one transaction; the lock lets several processes do so at the same time. Nothing here waits for
 * writers, or makes them wait, when all is there. For Postgres 16 and later.
 */
export const CREATE_SCHEMA = [
  'begin', 'select pg_advisory_xact_lock(7263510842)', 'create schema if not exists log',
  STREAMS, STREAM_ROWS, RECORDS, IDS, FIND, APPEND, 'commit',
].join(';\n');

/** Stream, ids, data, position, whether exactly there. */
export const APPEND_BATCH = 'select first_position, stream_length, written from log.append_at($1, $2, $3, $4, $5)';

/**
 * A page as a COPY. The record that passes `maxBytes` is the last one, so that a page is never empty for its size. COPY takes no
 * parameters: the arguments are checked numbers.
 */
export function copyPage({ stream, from, limit, maxBytes }: {
  stream: number; from: number; limit: number; maxBytes: number;
}): string {
  return `copy (
    select position, id, data from (
      select position, id, data,
        sum(octet_length(data)) over (order by position rows unbounded preceding) - octet_length(data) as before
      from log.records
      where stream = ${stream}::smallint and position >= ${from} and position < ${from + limit}
    ) page where before < ${maxBytes}
  ) to stdout (format binary)`;
}

export const LENGTH = 'select length from log.streams where stream = $1';

/** The channel whose messages say `STREAM LENGTH`. */
export const CHANNEL = 'prediction_exchange_log';

/** The streams' numbers in the tables. */
export const STREAM_NUMBERS = { commands: 0, outcomes: 1 } as const;
