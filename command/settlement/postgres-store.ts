/**
 * The tables of settlement in Postgres, schema `settlement`. Everything in them can be made again from the log and from
 * the lane's requests.
 */
import { PARTITIONS } from '../feed/messages.js';
import { openSession, type Schema, type OutboxSession, type OutboxSessionOptions } from '../lane/session.js';
import type { Barrier, FeedChanges, FeedProgress, FillKey } from './feed-changes.js';
import type { FillState } from './fill-state.js';
import { Overtaken, type LoadedIntake, type QueueCounts, type QueuedFill, type SettlementStore } from './store.js';

export const SETTLEMENT_SCHEMA: Schema = {
  /** False also for the tables of earlier versions, which `create` turns into the present ones. */
  isThere: `
select exists (select from pg_attribute where attrelid = to_regclass('settlement.fills') and attname = 'state')
  and to_regclass('settlement.partitions') is not null as there`,
  create: `
begin;
select pg_advisory_xact_lock(hashtextextended('settlement:schema', 0));
create schema if not exists settlement;
-- A version that kept the queue in memory had fills without a state; the lane's requests say at the start which are under way.
do $$ begin
  if exists (select from pg_attribute where attrelid = to_regclass('settlement.fills') and attname = 'ended' and not attisdropped) then
    alter table settlement.fills rename to stateless_fills;
    alter table settlement.stateless_fills drop constraint fills_pkey;
  end if;
end $$;
-- The queue: the fills that are not settled. The states are in command/settlement/fill-state.ts; one that is 'over' has been settled or has failed
-- before all fills with lower numbers have come, and stays until they have, so that it is known that it has come.
-- No index has a column that changes, and pages have room, so that a change of state writes nothing but the row.
create table if not exists settlement.fills (
  chain_id bigint not null,
  fill bigint not null,
  price integer not null,
  size numeric not null,
  buy_number bigint not null,
  sell_number bigint not null,
  state text not null,
  since_ms bigint not null,
  due_ms bigint not null default 0,
  batch_limit integer,
  tries integer not null default 0,
  primary key (chain_id, fill)
) with (fillfactor = 50);
do $$ begin
  if to_regclass('settlement.stateless_fills') is not null then
    insert into settlement.fills (chain_id, fill, price, size, buy_number, sell_number, state, since_ms)
    select chain_id, fill, price, size, buy_number, sell_number, case when ended then 'over' else 'waiting' end, extract(epoch from now()) * 1000
    from settlement.stateless_fills;
    drop table settlement.stateless_fills;
  end if;
end $$;
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

const FILL = 'fill, price, size, buy_number, sell_number, state, since_ms, due_ms, batch_limit, tries';
const COUNTED = 10_000;

const SQL = {
  /**
   * The queue is read in the order of its key, however many fills wait. Without statistics, which are late exactly when
   * it grows fast, Postgres would expect few fills, and fetch and sort all of them for the first ones.
   */
  inKeyOrder: 'select set_config(\'enable_bitmapscan\', \'off\', false), set_config(\'enable_sort\', \'off\', false)',
  partitions: 'select next_seq, position, done from settlement.partitions order by partition',
  intake: 'select watermark, position, digest from settlement.intake',
  markets: 'select market_id, chain_id from settlement.markets',
  barriers: 'select chain_id, partition, block, block_hash from settlement.barriers',
  /** The fills that came before others with lower numbers. */
  ahead: 'select chain_id, fill, state = \'over\' as ended from settlement.fills where fill >= $1',
  /**
   * A batch of the feed, whole or not at all: nothing is written where another process has moved one of the partitions.
   * One statement, since each takes a round trip. It first locks the partitions, so it waits for one that is moving the
   * same.
   */
  take: `
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
  insert into settlement.fills (chain_id, fill, price, size, buy_number, sell_number, state, since_ms)
  select chain_id, fill, price, size, buy_number, sell_number, state, $11
  from json_to_recordset($3::json) as given(chain_id bigint, fill bigint, price integer, size numeric, buy_number bigint, sell_number bigint, state text), turn
  where turn.ours
), ended as (
  update settlement.fills f set state = 'over'
  from json_to_recordset($4::json) as given(chain_id bigint, fill bigint), turn where turn.ours and f.chain_id = given.chain_id and f.fill = given.fill
), dropped as (
  delete from settlement.fills f
  using unnest($5::bigint[], $6::bigint[]) as given(chain_id, fill), turn where turn.ours and f.chain_id = given.chain_id and f.fill = given.fill
), advanced as (
  insert into settlement.barriers as b (chain_id, partition, block, block_hash)
  select chain_id, partition, block, block_hash
  from json_to_recordset($7::json) as given(chain_id bigint, partition smallint, block bigint, block_hash text), turn where turn.ours
  on conflict (chain_id, partition) do update set block = excluded.block, block_hash = excluded.block_hash
), noted as (
  update settlement.intake set watermark = $8, position = $9, digest = $10 from turn where turn.ours
)
select ours from turn`,
  due: `
select ${FILL} from settlement.fills where chain_id = $1 and fill < (select watermark from settlement.intake)
  and state = any($2) and (due_ms <= $3 or due_ms > $4) order by fill limit $5`,
  fills: `select ${FILL} from settlement.fills where chain_id = $1 and fill = any($2) and state <> 'over' order by fill`,
  requested: `select ${FILL} from settlement.fills where chain_id = $1 and state = 'requested' order by fill`,
  counts: `
select count(*)::int as waiting, count(*) filter (where state = 'returned')::int as returned, count(batch_limit)::int as limited,
  min(since_ms) as oldest, min(due_ms) filter (where due_ms > 0) as next_due
from (
  select state, batch_limit, since_ms, due_ms from settlement.fills
  where chain_id = $1 and fill < (select watermark from settlement.intake) and state in ('waiting', 'returned', 'doubtful') order by fill limit ${COUNTED}
) as first`,
  change: `
update settlement.fills f
set state = given.state, since_ms = given.since_ms, due_ms = given.due_ms, batch_limit = given.batch_limit, tries = given.tries
from unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::integer[], $7::integer[]) as given(fill, state, since_ms, due_ms, batch_limit, tries)
where f.chain_id = $1 and f.fill = given.fill and f.state <> 'over'`,
} as const;

export interface StoreOptions extends Pick<OutboxSessionOptions, 'url' | 'signal' | 'standingBy' | 'standByMs' | 'statementTimeoutMs'> {
  /** Who has another lock is kept off by the positions alone. Default: one for all processes. */
  readonly lock?: string;
}

/** How often a session that nothing is asked of is checked. */
const LOOK_MS = 60_000;

/**
 * Resolves when this process alone has the tables; stands by while another one does. Commits do not wait for the disk:
 * Postgres keeps them in their order before any later commit, the lane's included. So a crash loses the last ones
 * together, and the feed and the lane give them again.
 */
export async function openStore({ lock = 'settlement:intake', ...options }: StoreOptions): Promise<SettlementStore> {
  const session = await openSession({ ...options, name: 'settlement intake', locks: [lock], schema: SETTLEMENT_SCHEMA, durable: false });
  await session.query(SQL.inKeyOrder, []);
  const read = async (chainId: number, sql: string, values: readonly unknown[]) => (
    (await session.query<FillRow>(sql, [chainId, ...values])).map((row) => readFill(chainId, row)));
  return {
    check: () => { session.check(); },
    load: () => load(session),
    take: (changes, nowMs) => take(session, changes, nowMs),
    due: (chainId, { nowMs, maxPauseMs, withNew, limit }) => (
      read(chainId, SQL.due, [withNew ? ['waiting', 'returned', 'doubtful'] : ['returned', 'doubtful'], nowMs, nowMs + maxPauseMs, limit])),
    fills: (chainId, fills) => read(chainId, SQL.fills, [fills]),
    requested: (chainId) => read(chainId, SQL.requested, []),
    counts: (chainId) => counts(session, chainId),
    async change(chainId, fills) {
      if (fills.length === 0) return;
      const of = (column: (fill: QueuedFill) => unknown): unknown[] => fills.map(column);
      await session.query(SQL.change, [
        chainId, of(({ fill }) => fill), of(({ state }) => state), of(({ sinceMs }) => sinceMs),
        of(({ dueMs }) => Math.round(dueMs)),
        of(({ batchLimit }) => batchLimit ?? null), of(({ tries }) => tries),
      ]);
    },
    async ended(signal) {
      while (!signal.aborted && isOpen(session)) await session.bell.wait(signal, LOOK_MS);
    },
    close: () => session.close(),
  };
}

function isOpen(session: OutboxSession): boolean {
  try {
    session.check();
    return true;
  } catch {
    return false;
  }
}

async function load(session: OutboxSession): Promise<LoadedIntake> {
  const partitions = await session.query<{ next_seq: string; position: string; done: number }>(SQL.partitions, []);
  const [intake] = await session.query<{
    watermark: string;
    position: string | null;
    digest: string | null;
  }>(SQL.intake, []);
  const watermark = Number(intake?.watermark ?? 0);
  const markets = await session.query<{ market_id: string; chain_id: string }>(SQL.markets, []);
  const ahead: FeedProgress['ahead'] = new Map();
  for (const row of await session.query<{ chain_id: string; fill: string; ended: boolean }>(SQL.ahead, [watermark])) {
    ahead.set(Number(row.fill), { chainId: Number(row.chain_id), fill: Number(row.fill), ended: row.ended });
  }
  const barriers = new Map<number, (Barrier | undefined)[]>();
  for (const {
    chain_id: chainId, partition, block, block_hash: blockHash,
  } of await session.query<BarrierRow>(SQL.barriers, [])) {
    const ofChain = barriers.get(Number(chainId)) ?? new Array<Barrier | undefined>(PARTITIONS).fill(undefined);
    ofChain[partition] = { block: Number(block), blockHash };
    barriers.set(Number(chainId), ofChain);
  }
  return {
    progress: {
      partitions: partitions.map(({ next_seq: nextSeq, position, done }) => ({
        nextSeq: Number(nextSeq), position: Number(position), done,
      })),
      watermark, ahead, barriers,
      newest: intake?.position == null || intake.digest === null
        ? undefined
        : { position: Number(intake.position), digest: intake.digest },
    },
    markets: new Map(markets.map(({ market_id: marketId, chain_id: chainId }) => [marketId, Number(chainId)])),
  };
}

async function take(
  session: OutboxSession, { after, moved, opened, matched, ended, dropped, advanced }: FeedChanges, nowMs: number,
): Promise<void> {
  const keys = (fills: readonly FillKey[]) => (
    JSON.stringify(fills.map(({ chainId, fill }) => ({ chain_id: chainId, fill }))));
  const [turn] = await session.query<{ ours: boolean }>(SQL.take, [
    JSON.stringify(moved.map(({ partition, expected, nextSeq, position, done }) => ({
      partition, expected, next_seq: nextSeq, position, done,
    }))),
    JSON.stringify(opened.map(({ marketId, chainId }) => ({ market_id: marketId, chain_id: chainId }))),
    JSON.stringify(matched.map(({ chainId, fill, price, size, buyNumber, sellNumber, ended: isOver }) => ({
      // Numerics as text, since JSON numbers would lose digits.
      chain_id: chainId, fill, price, size: String(size), buy_number: buyNumber, sell_number: sellNumber, state: isOver ? 'over' : 'waiting',
    }))),
    keys(ended), dropped.map(({ chainId }) => chainId), dropped.map(({ fill }) => fill),
    JSON.stringify(advanced.map(({ chainId, partition, block, blockHash }) => ({
      chain_id: chainId, partition, block, block_hash: blockHash,
    }))),
    after.watermark, after.newest?.position ?? null, after.newest?.digest ?? null, Math.round(nowMs),
  ]);
  if (turn?.ours !== true) throw new Overtaken();
}

async function counts(session: OutboxSession, chainId: number): Promise<QueueCounts> {
  interface CountsRow {
    waiting: number;
    returned: number;
    limited: number;
    oldest: string | null;
    next_due: string | null;
  }
  const [row] = await session.query<CountsRow>(SQL.counts, [chainId]);
  const time = (value: string | null | undefined): number | undefined => value == null ? undefined : Number(value);
  return {
    waiting: row?.waiting ?? 0, returned: row?.returned ?? 0, limited: row?.limited ?? 0,
    oldestSinceMs: time(row?.oldest), nextDueMs: time(row?.next_due),
  };
}

interface BarrierRow {
  readonly chain_id: string;
  readonly partition: number;
  readonly block: string;
  readonly block_hash: string;
}

interface FillRow {
  readonly fill: string;
  readonly price: number;
  readonly size: string;
  readonly buy_number: string;
  readonly sell_number: string;
  readonly state: FillState;
  readonly since_ms: string;
  readonly due_ms: string;
  readonly batch_limit: number | null;
  readonly tries: number;
}

function readFill(chainId: number, { fill, price, size, state, tries, ...row }: FillRow): QueuedFill {
  return {
    chainId, fill: Number(fill), price, size: BigInt(size), buyNumber: Number(row.buy_number),
    sellNumber: Number(row.sell_number), state,
    sinceMs: Number(row.since_ms), dueMs: Number(row.due_ms), batchLimit: row.batch_limit ?? undefined, tries,
  };
}
