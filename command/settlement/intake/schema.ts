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
  /** Moves nothing that another intake has moved. Comes first in its transaction: it waits for one that is moving the same. */
  move: `
update settlement.partitions p set next_seq = given.next_seq, position = given.position, done = given.done
from json_to_recordset($1::json) as given(partition smallint, expected bigint, next_seq bigint, position bigint, done integer)
where p.partition = given.partition and p.next_seq = given.expected returning p.partition`,
  open: `
insert into settlement.markets (market_id, chain_id)
select market_id, chain_id from json_to_recordset($1::json) as given(market_id text, chain_id bigint)`,
  match: `
insert into settlement.fills (${FILL}, ended)
select ${FILL}, ended from json_to_recordset($1::json) as given(fill bigint, chain_id bigint, market_id text, outcome smallint, price integer,
  size numeric, cost numeric, buy_number bigint, sell_number bigint, buyer text, seller text, ended boolean)`,
  end: 'update settlement.fills set ended = true where fill = any($1)',
  drop: 'delete from settlement.fills where fill = any($1)',
  advance: `
insert into settlement.barriers as b (chain_id, partition, block, block_hash)
select chain_id, partition, block, block_hash from json_to_recordset($1::json) as given(chain_id bigint, partition smallint, block bigint, block_hash text)
on conflict (chain_id, partition) do update set block = excluded.block, block_hash = excluded.block_hash`,
  note: 'update settlement.intake set watermark = $1, position = $2, digest = $3',
} as const;
