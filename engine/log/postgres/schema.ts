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

/** The most records that are looked through for a batch in one call: some hundredths of a second. */
export const SEARCHED_AT_ONCE = 10_000;

/**
 * Appends a batch, or finds it. Positions are given under the lock on the stream's row, which is held until the commit: they
 * have no gaps, and they become visible in order.
 *
 * Without `expected` the batch is looked for from `since` on: a length that the stream had before the batch was first sent. So
 * whichever of a first attempt and its retries comes second, however late, finds what the other wrote; and no index on id is
 * needed. What was committed when the call came is looked through before the lock is taken, since nothing can join it any more:
 * no other writer waits for a search.
 *
 * written: true; false when the batch was found, whose data may be other than these; null when neither, because somebody else
 * has written at `expected`, or because the batch is not among the first SEARCHED_AT_ONCE records and there are more.
 *
 * The function that earlier versions made, log.append, stays for their processes.
 */
const APPEND = `
create or replace function log.append_once(
  of_stream smallint, ids uuid[], datas bytea[], expected bigint, since bigint,
  out first_position bigint, out stream_length bigint, out written boolean
) language plpgsql as $$
declare
  added constant int := cardinality(ids);
  searched bigint := since;
begin
  if expected is null then
    select s.length into strict stream_length from log.streams s where s.stream = of_stream;
    searched := least(greatest(stream_length, since), since + ${SEARCHED_AT_ONCE});
    if searched > since then
      first_position := log.find(of_stream, ids, since, searched);
      if first_position is not null then
        written := false;
        return;
      elsif searched < stream_length then
        return;
      end if;
    end if;
  end if;
  select s.length into strict stream_length from log.streams s where s.stream = of_stream for update;
  if expected is not null then
    if stream_length <> expected then
      if log.ids(of_stream, expected, added) = ids then
        first_position := expected;
        written := false;
      end if;
      return;
    end if;
  elsif stream_length > searched then
    first_position := log.find(of_stream, ids, searched, stream_length);
    if first_position is not null then
      written := false;
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

/** Stream, ids, data, expected or null, since. */
export const APPEND_BATCH = 'select first_position, stream_length, written from log.append_once($1, $2, $3, $4, $5)';

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
