/** How far the fill feed is published in a Kafka topic, in Postgres, behind the lock that lets one process publish. */
import { openSession, type Schema, type OutboxSessionOptions } from '../../lane/session.js';
import { PARTITIONS } from '../messages.js';
import { FEED_START, type FeedPosition, type PartitionPosition } from '../sequence.js';
import type { PublisherCheckpoint, PublisherCheckpoints } from './publisher.js';

const SCHEMA: Schema = {
  isThere: 'select to_regclass(\'feed.published\') is not null as there',
  create: `
begin;
select pg_advisory_xact_lock(hashtextextended('feed:schema', 0));
create schema if not exists feed;
-- The chain of every market whose MarketOpened is in the topic.
create table if not exists feed.markets (
  topic text not null,
  market_id text not null,
  chain_id bigint not null,
  primary key (topic, market_id)
);
create table if not exists feed.published (
  topic text primary key,
  partitions json not null,
  -- Of the newest message.
  position bigint,
  digest text
);
commit;`,
};

const SQL = {
  load: 'select partitions, position, digest from feed.published where topic = $1',
  markets: 'select market_id, chain_id from feed.markets where topic = $1',
  save: `
with opened as (
  insert into feed.markets (topic, market_id, chain_id)
  select $1::text, market_id, chain_id from json_to_recordset($5::json) as g(market_id text, chain_id bigint) on conflict do nothing
)
insert into feed.published (topic, partitions, position, digest) values ($1::text, $2::json, $3::bigint, $4::text)
on conflict (topic) do update set partitions = excluded.partitions, position = excluded.position, digest = excluded.digest`,
} as const;

export interface HeldCheckpoints extends PublisherCheckpoints {
  close(): Promise<void>;
}

export interface CheckpointOptions extends Pick<OutboxSessionOptions, 'url' | 'signal' | 'standingBy' | 'standByMs'> {
  readonly topic: string;
  /** Default: the topic's one lock. */
  readonly locks?: readonly string[];
}

/**
 * Resolves when this process alone publishes. Throws OutboxUnavailable, as every later call does once its session has
 * ended.
 */
export async function openCheckpoints({ topic, locks = [`feed:${topic}`], ...options }: CheckpointOptions): Promise<HeldCheckpoints> {
  const session = await openSession({ ...options, name: 'feed', locks, schema: SCHEMA });
  return {
    async load(): Promise<PublisherCheckpoint> {
      const [row] = await session.query<Row>(SQL.load, [topic]);
      if (row === undefined) return { position: FEED_START, newest: undefined };
      const markets = await session.query<{ market_id: string; chain_id: string }>(SQL.markets, [topic]);
      return {
        position: positionOf(
          row.partitions,
          new Map(markets.map(({ market_id: marketId, chain_id: chainId }) => [marketId, Number(chainId)])),
        ),
        newest: row.position === null || row.digest === null
          ? undefined
          : { position: Number(row.position), digest: row.digest },
      };
    },
    async save({ partitions, newest, opened }) {
      const markets = opened.map(({ marketId, chainId }) => ({ market_id: marketId, chain_id: chainId }));
      await session.query(
        SQL.save,
        [topic, JSON.stringify(partitions), newest?.position ?? null, newest?.digest ?? null, JSON.stringify(markets)],
      );
    },
    close: () => session.close(),
  };
}

interface Row {
  readonly partitions: readonly PartitionPosition[];
  readonly position: string | null;
  readonly digest: string | null;
}

function positionOf(partitions: readonly PartitionPosition[], markets: ReadonlyMap<string, number>): FeedPosition {
  if (partitions.length !== PARTITIONS) throw new Error(`a checkpoint of the fill feed has ${partitions.length} partitions, expected ${PARTITIONS}`);
  return { partitions, markets };
}
