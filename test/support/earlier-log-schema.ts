/** The tables and functions of the log in Postgres as version 0.1.0 made them, whose data and processes later versions meet. */
const STREAMS = `
create table if not exists log.streams (
  stream smallint primary key,
  name text not null unique,
  length bigint not null
) with (fillfactor = 10)`;

const STREAM_ROWS = `
insert into log.streams (stream, name, length)
select * from (values (0, 'commands', 0), (1, 'outcomes', 0)) added where not exists (select from log.streams)`;

const RECORDS = `
create table if not exists log.records (
  stream smallint not null,
  position bigint not null,
  id uuid not null,
  data bytea storage external not null,
  primary key (stream, position)
)`;

const SEARCHED_AT_ONCE = 10_000;

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

const IDS = `
create or replace function log.ids(of_stream smallint, first_position bigint, many int) returns uuid[] language sql stable as $$
  select array_agg(r.id order by r.position) from log.records r
  where r.stream = of_stream and r.position >= first_position and r.position < first_position + many
$$`;

export const EARLIER_SCHEMA = [
  'begin', 'select pg_advisory_xact_lock(7263510842)', 'create schema if not exists log',
  STREAMS, STREAM_ROWS, RECORDS, IDS, FIND, APPEND, 'commit',
].join(';\n');

/** Stream, ids, data, expected or null, since. */
export const EARLIER_APPEND = 'select first_position, stream_length, written from log.append_once($1, $2, $3, $4, $5)';
