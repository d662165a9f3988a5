/** The outbox's tables and statements; those of a lane take its chain id and address first. */

/** One at a time, since `if not exists` alone fails when two processes start together. Bytes are hex, as the chain writes them. */
export const CREATE_SCHEMA = `
begin;
select pg_advisory_xact_lock(hashtextextended('sender:schema', 0));
create schema if not exists sender;
create table if not exists sender.transactions (
  chain_id bigint not null,
  address text not null,
  nonce bigint not null check (nonce >= 0),
  to_address text not null,
  data text not null,
  gas_limit numeric not null,
  note json not null,
  recorded_at timestamptz not null default now(),
  -- Null while it is open.
  ending json,
  over_at timestamptz,
  primary key (chain_id, address, nonce)
);
create index if not exists transactions_open on sender.transactions (chain_id, address, nonce) where ending is null;
create table if not exists sender.attempts (
  tx_hash text primary key,
  chain_id bigint not null,
  address text not null,
  nonce bigint not null,
  number integer not null,
  raw text not null,
  max_fee_per_gas numeric not null,
  max_priority_fee_per_gas numeric not null,
  -- A node is known to have taken it.
  broadcast boolean not null default false,
  recorded_at timestamptz not null default now(),
  unique (chain_id, address, nonce, number),
  foreign key (chain_id, address, nonce) references sender.transactions
);
commit;`;

/** Numeric as text, since JSON numbers would lose digits. */
const TRANSACTION = `
select t.nonce, t.to_address, t.data, t.gas_limit, t.note, (
  select json_agg(json_build_object('hash', a.tx_hash, 'raw', a.raw, 'max', a.max_fee_per_gas::text, 'priority', a.max_priority_fee_per_gas::text,
    'broadcast', a.broadcast) order by a.number)
  from sender.attempts a where (a.chain_id, a.address, a.nonce) = (t.chain_id, t.address, t.nonce)) as attempts
from sender.transactions t`;

export const SQL = {
  /** Held by the session. */
  lock: 'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
  open: `${TRANSACTION} where t.chain_id = $1 and t.address = $2 and t.ending is null order by t.nonce`,
  recordedNonces: 'select coalesce(max(nonce) + 1, 0) as recorded from sender.transactions where chain_id = $1 and address = $2',
  find: `${TRANSACTION} where t.chain_id = $1 and t.address = $2 and t.nonce = (select nonce from sender.attempts where tx_hash = $3)`,
  record: `
with given as (
  select * from json_to_recordset($3::json)
    as g(nonce bigint, "to" text, data text, gas numeric, note json, hash text, raw text, max numeric, priority numeric)
), transactions as (
  insert into sender.transactions (chain_id, address, nonce, to_address, data, gas_limit, note)
  select $1::bigint, $2::text, nonce, "to", data, gas, coalesce(note, 'null'::json) from given
)
insert into sender.attempts (tx_hash, chain_id, address, nonce, number, raw, max_fee_per_gas, max_priority_fee_per_gas)
select hash, $1::bigint, $2::text, nonce, 0, raw, max, priority from given`,
  recordAttempt: `
insert into sender.attempts (tx_hash, chain_id, address, nonce, number, raw, max_fee_per_gas, max_priority_fee_per_gas)
select $4::text, $1::bigint, $2::text, $3::bigint, count(*), $5::text, $6::numeric, $7::numeric
from sender.attempts where chain_id = $1 and address = $2 and nonce = $3`,
  markBroadcast: 'update sender.attempts set broadcast = true where chain_id = $1 and address = $2 and tx_hash = any($3)',
  markOver: `
with given as (
  select * from json_to_recordset($3::json) as g(nonce bigint, ending json)
), attempts as (
  update sender.attempts a set raw = '' from given where a.chain_id = $1 and a.address = $2 and a.nonce = given.nonce
)
update sender.transactions t set ending = given.ending, data = '', over_at = now()
from given where t.chain_id = $1 and t.address = $2 and t.nonce = given.nonce`,
} as const;
