/** What the intake keeps in Postgres, over one session that holds the intake's lock: a batch is one transaction. */
import type { UnsettledFill } from '../../../engine/run/unsettled-fills.js';
import type { MarketOutcome } from '../../../engine/records/fields.js';
import { PARTITIONS } from '../../feed/messages.js';
import { openSession, type Session, type SessionOptions } from '../../lane/session.js';
import type { Barrier, Changes, MatchedFill, Taken } from './changes.js';
import type { Wanted } from './mirror.js';
import { SETTLEMENT_SCHEMA, SQL } from './schema.js';

/** Another intake has written since this one loaded: nothing of the batch is written. */
export class Overtaken extends Error {
  constructor() {
    super('another process has taken in these messages');
    this.name = 'Overtaken';
  }
}

export interface Loaded {
  readonly taken: Taken;
  /** The chain of every market that has been opened. */
  readonly markets: ReadonlyMap<string, number>;
}

/** Once a call has thrown OutboxUnavailable, all later calls do. */
export interface IntakeStore {
  load(): Promise<Loaded>;
  /** Part of a chain's unsettled fills below the watermark. */
  page(chainId: number, wanted: Wanted, watermark: number): Promise<UnsettledFill[]>;
  /** Writes all of the changes or none. Throws Overtaken; after OutboxUnavailable only `load` of another session tells which. */
  write(changes: Changes): Promise<void>;
  /** Resolves when the session has ended, or the signal aborts. */
  ended(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions extends Pick<SessionOptions, 'url' | 'signal' | 'standingBy' | 'standByMs' | 'statementTimeoutMs'> {
  /** Who has another lock is kept off by the positions alone. Default: one for all processes. */
  readonly lock?: string;
}

/** How often a session that nothing is asked of is checked. */
const LOOK_MS = 60_000;

/**
 * Resolves when this process alone has the intake; stands by while another one does. Commits do not wait for the disk: Postgres keeps them
 * in their order before any later commit, so a crash loses the last batches together, and the feed gives them again.
 */
export async function openStore({ lock = 'settlement:intake', ...options }: StoreOptions): Promise<IntakeStore> {
  const session = await openSession({ ...options, name: 'settlement intake', locks: [lock], schema: SETTLEMENT_SCHEMA, durable: false });
  return {
    load: () => load(session),
    async page(chainId, { from, limit }, watermark) {
      return (await session.query<FillRow>(SQL.page, [chainId, from, watermark, limit])).map(readFill);
    },
    write: (changes) => write(session, changes),
    async ended(signal) {
      while (!signal.aborted && isOpen(session)) await session.bell.wait(signal, LOOK_MS);
    },
    close: () => session.close(),
  };
}

function isOpen(session: Session): boolean {
  try {
    session.check();
    return true;
  } catch {
    return false;
  }
}

async function load(session: Session): Promise<Loaded> {
  const partitions = await session.query<{ next_seq: string; position: string; done: number }>(SQL.partitions, []);
  const [intake] = await session.query<{ watermark: string; position: string | null; digest: string | null }>(SQL.intake, []);
  const watermark = Number(intake?.watermark ?? 0);
  const markets = await session.query<{ market_id: string; chain_id: string }>(SQL.markets, []);
  const ahead = await session.query<FillRow & { ended: boolean }>(SQL.ahead, [watermark]);
  const barriers = new Map<number, (Barrier | undefined)[]>();
  for (const { chain_id: chainId, partition, block, block_hash: blockHash } of await session.query<BarrierRow>(SQL.barriers, [])) {
    const ofChain = barriers.get(Number(chainId)) ?? new Array<Barrier | undefined>(PARTITIONS).fill(undefined);
    ofChain[partition] = { block: Number(block), blockHash };
    barriers.set(Number(chainId), ofChain);
  }
  return {
    taken: {
      partitions: partitions.map(({ next_seq: nextSeq, position, done }) => ({ nextSeq: Number(nextSeq), position: Number(position), done })),
      watermark, ahead: new Map(ahead.map((row) => [Number(row.fill), row.ended ? undefined : readFill(row)])), barriers,
      newest: intake?.position == null || intake.digest === null ? undefined : { position: Number(intake.position), digest: intake.digest },
    },
    markets: new Map(markets.map(({ market_id: marketId, chain_id: chainId }) => [marketId, Number(chainId)])),
  };
}

async function write(session: Session, { after, moved, opened, matched, ended, dropped, advanced }: Changes): Promise<void> {
  const [turn] = await session.query<{ ours: boolean }>(SQL.write, [
    JSON.stringify(moved.map(({ partition, expected, nextSeq, position, done }) => ({ partition, expected, next_seq: nextSeq, position, done }))),
    JSON.stringify(opened.map(({ marketId, chainId }) => ({ market_id: marketId, chain_id: chainId }))),
    JSON.stringify(matched.map(fillRow)), ended, dropped,
    JSON.stringify(advanced.map(({ chainId, partition, block, blockHash }) => ({ chain_id: chainId, partition, block, block_hash: blockHash }))),
    after.watermark, after.newest?.position ?? null, after.newest?.digest ?? null,
  ]);
  if (turn?.ours !== true) throw new Overtaken();
}

interface BarrierRow {
  readonly chain_id: string;
  readonly partition: number;
  readonly block: string;
  readonly block_hash: string;
}

interface FillRow {
  readonly fill: string;
  readonly chain_id: string;
  readonly market_id: string;
  readonly outcome: MarketOutcome;
  readonly price: number;
  readonly size: string;
  readonly cost: string;
  readonly buy_number: string;
  readonly sell_number: string;
  readonly buyer: string;
  readonly seller: string;
}

function readFill({ fill, chain_id: chainId, market_id: marketId, outcome, price, size, cost, buyer, seller, ...row }: FillRow): UnsettledFill {
  return {
    fill: Number(fill), marketId, chainId: Number(chainId), outcome, price, size: BigInt(size), cost: BigInt(cost),
    buyNumber: Number(row.buy_number), sellNumber: Number(row.sell_number), buyer, seller,
  };
}

/** Numerics as text, since JSON numbers would lose digits. */
function fillRow({ fill: matched, ended }: MatchedFill): object {
  const { fill, chainId, marketId, outcome, price, size, cost, buyNumber, sellNumber, buyer, seller } = matched;
  return {
    fill, chain_id: chainId, market_id: marketId, outcome, price, size: String(size), cost: String(cost), buy_number: buyNumber,
    sell_number: sellNumber, buyer, seller, ended,
  };
}
