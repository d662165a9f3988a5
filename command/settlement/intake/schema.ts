/** The tables of schema `settlement`, which the intake keeps, and its statements. Everything here can be made again from the log. */
import { PARTITIONS } from '../../feed/messages.js';
import type { Schema } from '../../lane/session.js';

export const SETTLEMENT_SCHEMA: Schema = {
  /** The table that is filled last. */
  isThere: 'select to_regclass(\'settlement.partitions\') is not null as there',
  create: `
begin;
select pg_advisory_xact_lock(hashtextextended('settlement:schema', 0));
create schema if not exists settlement;
-- The fills that are not settled. Those from the watermark on stay when they end, so that it is known that they have come.
create table if not exists settlement.fills (
  fill bigint primary key,
  chain_id bigint not null,
  market_id text not null,
  outcome smallint not null,
  price integer not null,
  size numeric not null,
  cost numeric not null,
  buy_number bigint not null,
  sell_number bigint not null,
  buyer text not null,
  seller text not null,
  ended boolean not null default false
);
create index if not exists fills_waiting on settlement.fills (chain_id, fill) where not ended;
create table if not exists settlement.markets (
  market_id text primary key,
  chain_id bigint not null
);
-- The last block of which a partition has had all messages.
create table if not exists settlement.barriers (
  chain_id bigint not null,
  partition smallint not null,
  block bigint not null,
  block_hash text not null,
  primary key (chain_id, partition)
);
create table if not exists settlement.intake (
  sole boolean primary key default true check (sole),
  -- All fills with lower numbers have come.
  watermark bigint not null,
  -- Of the newest message; null before the first.
  position bigint,
  digest text
);
create table if not exists settlement.partitions (
  partition smallint primary key,
  next_seq bigint not null,
  position bigint not null,
  done integer not null
);
insert into settlement.intake (watermark) values (0) on conflict do nothing;
insert into settlement.partitions select n, 0, 0, 0 from generate_series(0, ${PARTITIONS - 1}) as n on conflict do nothing;
commit;`,
};

const FILL = 'fill, chain_id, market_id, outcome, price, size, cost, buy_number, sell_number, buyer, seller';

export const SQL = {
  partitions: 'select next_seq, position, done from settlement.partitions order by partition',
  intake: 'select watermark, position, digest from settlement.intake',
  markets: 'select market_id, chain_id from settlement.markets',
  barriers: 'select chain_id, partition, block, block_hash from settlement.barriers',
  /** The fills that came before others with lower numbers. */
  ahead: `select ${FILL}, ended from settlement.fills where fill >= $1 order by fill`,
  /** A chain's unsettled fills in order; the limit comes last. */
  page: `select ${FILL} from settlement.fills where chain_id = $1 and not ended and fill >= $2 and fill < $3 order by fill limit $4`,
  /**
   * A batch, whole or not at all: nothing is written where another intake has moved one of the partitions. One statement, since each takes a round
   * trip. It first locks the partitions, so it waits for one that is moving the same.
   */
  write: `
with moving as (
  select * from json_to_recordset($1::json) as given(partition smallint, expected bigint, next_seq bigint, position bigint, done integer)
), locked as (
  select partition from settlement.partitions p join moving using (partition) where p.next_seq = moving.expected for update of p
), turn as (
  select count(*) = (select count(*) from moving) as ours from locked
), moved as (
  update settlement.partitions p set next_seq = moving.next_seq, position = moving.position, done = moving.done
  from moving, turn where turn.ours and p.partition = moving.partition
), opened as (
  insert into settlement.markets (market_id, chain_id)
  select market_id, chain_id from json_to_recordset($2::json) as given(market_id text, chain_id bigint), turn where turn.ours
), matched as (
  insert into settlement.fills (${FILL}, ended)
  select ${FILL}, ended from json_to_recordset($3::json) as given(fill bigint, chain_id bigint, market_id text, outcome smallint, price integer,
    size numeric, cost numeric, buy_number bigint, sell_number bigint, buyer text, seller text, ended boolean), turn where turn.ours
), ended as (
  update settlement.fills set ended = true from turn where turn.ours and fill = any($4)
), dropped as (
  delete from settlement.fills using turn where turn.ours and fill = any($5)
), advanced as (
  insert into settlement.barriers as b (chain_id, partition, block, block_hash)
  select chain_id, partition, block, block_hash
  from json_to_recordset($6::json) as given(chain_id bigint, partition smallint, block bigint, block_hash text), turn where turn.ours
  on conflict (chain_id, partition) do update set block = excluded.block, block_hash = excluded.block_hash
), noted as (
  update settlement.intake set watermark = $7, position = $8, digest = $9 from turn where turn.ours
)
select ours from turn`,
} as const;
