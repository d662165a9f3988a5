/** The tables of schema `lane` and the statements of lanes and their users. */

/**
 * One at a time, since `if not exists` alone fails when two processes start together. Bytes are hex, as the chain
 * writes them.
 */
export const CREATE_SCHEMA = `
begin;
select pg_advisory_xact_lock(hashtextextended('lane:schema', 0));
create schema if not exists lane;
-- Counts what lanes tell, so that a user reads only what is new.
create sequence if not exists lane.changes;
create table if not exists lane.requests (
  id uuid primary key,
  -- The order of asking.
  number bigint generated always as identity,
  chain_id bigint not null,
  key text not null,
  purpose text not null,
  priority integer not null,
  to_address text not null,
  data text not null,
  gas_limit numeric not null,
  note json not null,
  asked_at timestamptz not null default now(),
  status text not null default 'waiting' check (status in ('waiting', 'sent', 'refused', 'ended')),
  reason text,
  ending json,
  change bigint not null default 0,
  -- The history has concluded it: the row stays, so that its id is known for good, and its bytes go.
  forgotten boolean not null default false
);
create index if not exists requests_waiting on lane.requests (chain_id, key, priority desc, number) where status = 'waiting';
create index if not exists requests_listed on lane.requests (chain_id, purpose, key, change) where not forgotten;
create table if not exists lane.transactions (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  address text not null,
  nonce bigint not null check (nonce >= 0),
  -- Null for an empty transaction that fills a gap.
  request uuid references lane.requests,
  recorded_at timestamptz not null default now(),
  -- Null while it is open.
  ending json,
  over_at timestamptz
);
-- A nonce that was over comes again when a chain goes back further than its final depth.
create unique index if not exists transactions_open on lane.transactions (chain_id, address, nonce) where ending is null;
create index if not exists transactions_nonces on lane.transactions (chain_id, address, nonce);
create index if not exists transactions_requests on lane.transactions (request);
create table if not exists lane.attempts (
  transaction bigint not null references lane.transactions,
  number integer not null,
  tx_hash text not null,
  raw text not null,
  max_fee_per_gas numeric not null,
  max_priority_fee_per_gas numeric not null,
  -- A node is known to have taken it.
  broadcast boolean not null default false,
  recorded_at timestamptz not null default now(),
  primary key (transaction, number)
);
create table if not exists lane.lanes (
  chain_id bigint not null,
  key text not null,
  address text not null,
  block_gas_limit numeric,
  -- The problem that blocks the lane. Columns keep their names, since processes of two versions share them.
  trouble text,
  trouble_since timestamptz,
  seen_at timestamptz not null,
  primary key (chain_id, key)
);
commit;`;

const ATTEMPTS = '(select json_agg(a.tx_hash order by a.number) from lane.transactions t join lane.attempts a on a.transaction = t.id where t.request = r.id)';

const TRACKED = `
select r.id, r.note, r.status, r.reason, r.ending, r.change, extract(epoch from r.asked_at) * 1000 as asked_at_ms, ${ATTEMPTS} as tx_hashes
from lane.requests r where r.chain_id = $1 and r.purpose = $2 and r.key = $3 and not r.forgotten`;

export const SQL = {
  /** The table that is made last. */
  hasSchema: 'select to_regclass(\'lane.lanes\') is not null as there',
  /** Held by the session. */
  lock: 'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
  wake: 'select pg_notify($1, $2)',
} as const;

/** A user's; chain id, purpose and key come first. */
export const USER_SQL = {
  ask: `
insert into lane.requests (chain_id, purpose, key, id, priority, to_address, data, gas_limit, note)
select $1::bigint, $2::text, $3::text, id, priority, "to", data, gas, coalesce(note, 'null'::json)
from json_to_recordset($4::json) as g(id uuid, priority integer, "to" text, data text, gas numeric, note json)
on conflict (id) do nothing`,
  changes: `${TRACKED} and r.change > $4 order by r.number`,
  list: `${TRACKED} order by r.number`,
  forget: `
update lane.requests set forgotten = true, data = '', note = 'null'
where chain_id = $1 and purpose = $2 and key = $3 and id = any($4) and status in ('refused', 'ended')`,
  state: `
select address, block_gas_limit, trouble as problem, extract(epoch from trouble_since) * 1000 as problem_since_ms, extract(epoch from seen_at) * 1000 as seen_at_ms
from lane.lanes where chain_id = $1 and key = $2`,
} as const;

/** Numeric as text, since JSON numbers would lose digits. */
const OPEN_ATTEMPTS = `(
  select json_agg(json_build_object('hash', a.tx_hash, 'raw', a.raw, 'max', a.max_fee_per_gas::text, 'priority', a.max_priority_fee_per_gas::text,
    'broadcast', a.broadcast) order by a.number)
  from lane.attempts a where a.transaction = t.id)`;

const REQUEST = 'r.id, r.purpose, r.priority, r.to_address, r.data, r.gas_limit, r.note';

/** A lane's; chain id and key, or chain id and address, come first. */
export const LANE_SQL = {
  waiting: `select ${REQUEST} from lane.requests r where r.chain_id = $1 and r.key = $2 and r.status = 'waiting' order by r.priority desc, r.number limit $3`,
  refuse: `
update lane.requests r set status = 'refused', reason = given.reason, change = nextval('lane.changes')
from json_to_recordset($3::json) as given(id uuid, reason text) where r.chain_id = $1 and r.key = $2 and r.id = given.id and r.status = 'waiting'`,
  publish: `
insert into lane.lanes as l (chain_id, key, address, block_gas_limit, trouble, trouble_since, seen_at)
values ($1, $2, $3, $4::numeric, $5::text, case when $5::text is null then null else now() end, now())
on conflict (chain_id, key) do update set address = excluded.address, block_gas_limit = coalesce(excluded.block_gas_limit, l.block_gas_limit),
  trouble = excluded.trouble, trouble_since = case when excluded.trouble is null then null else coalesce(l.trouble_since, now()) end, seen_at = now()`,
  /** The key's earlier addresses that have transactions that are not over. */
  former: `
select distinct t.address from lane.transactions t join lane.requests r on r.id = t.request
where r.chain_id = $1 and r.key = $2 and t.address <> $3 and t.ending is null`,
  /** Whether a version before schema `lane` has left its own. */
  hasEarlier: 'select to_regclass(\'sender.transactions\') is not null as there',
  earlier: 'select count(*)::int as open from sender.transactions where chain_id = $1 and address = $2 and ending is null',
  open: `
select t.nonce, ${REQUEST}, ${OPEN_ATTEMPTS} as attempts from lane.transactions t left join lane.requests r on r.id = t.request
where t.chain_id = $1 and t.address = $2 and t.ending is null order by t.nonce`,
  nextNonce: 'select coalesce(max(nonce) + 1, 0) as next from lane.transactions where chain_id = $1 and address = $2',
  record: `
with given as (
  select * from json_to_recordset($3::json) as g(nonce bigint, request uuid, hash text, raw text, max numeric, priority numeric)
), recorded as (
  insert into lane.transactions (chain_id, address, nonce, request) select $1::bigint, $2::text, nonce, request from given returning id, nonce
), told as (
  update lane.requests r set status = 'sent', change = nextval('lane.changes') from given where r.id = given.request
)
insert into lane.attempts (transaction, number, tx_hash, raw, max_fee_per_gas, max_priority_fee_per_gas)
select recorded.id, 0, hash, raw, max, priority from given join recorded using (nonce)`,
  recordAttempt: `
with open as (
  select id, request from lane.transactions where chain_id = $1 and address = $2 and nonce = $3 and ending is null
), told as (
  update lane.requests r set change = nextval('lane.changes') from open where r.id = open.request
)
insert into lane.attempts (transaction, number, tx_hash, raw, max_fee_per_gas, max_priority_fee_per_gas)
select open.id, (select count(*) from lane.attempts a where a.transaction = open.id), $4::text, $5::text, $6::numeric, $7::numeric from open`,
  markBroadcast: `
update lane.attempts a set broadcast = true from lane.transactions t
where t.chain_id = $1 and t.address = $2 and t.ending is null and a.transaction = t.id and a.tx_hash = any($3)`,
  markOver: `
with given as (
  select * from json_to_recordset($3::json) as g(nonce bigint, ending json)
), over as (
  update lane.transactions t set ending = given.ending, over_at = now() from given
  where t.chain_id = $1 and t.address = $2 and t.nonce = given.nonce and t.ending is null returning t.id, t.request, t.ending
), attempts as (
  update lane.attempts a set raw = '' from over where a.transaction = over.id
)
update lane.requests r set status = 'ended', ending = over.ending, data = '', change = nextval('lane.changes') from over where r.id = over.request`,
} as const;
