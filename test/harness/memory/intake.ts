/** The tables of settlement, in memory. Commits do not wait for the disk there: a restart of the database loses the last ones together. */
import type { StandBy } from '../../../engine/reactor.js';
import { OutboxUnavailable } from '../../../command/lane/requests.js';
import { PARTITIONS } from '../../../command/feed/messages.js';
import type { FeedChanges, FeedProgress } from '../../../command/settlement/feed-changes.js';
import { Overtaken, type QueueCounts, type QueuedFill, type SettlementStore } from '../../../command/settlement/store.js';
import type { Carry, Database } from './database.js';

/** The rows; each write makes new ones. */
export interface IntakeRows {
  readonly partitions: FeedProgress['partitions'];
  readonly watermark: number;
  readonly newest: FeedProgress['newest'];
  readonly barriers: FeedProgress['barriers'];
  readonly markets: ReadonlyMap<string, number>;
  /** By number; `over`: it has ended and stays until the watermark passes it. */
  readonly fills: ReadonlyMap<number, QueuedFill & { readonly over: boolean }>;
}

export interface IntakeTables {
  rows: IntakeRows;
  /** What a restart may fall back to, the oldest first. */
  readonly earlier: IntakeRows[];
}

const EMPTY: IntakeRows = {
  partitions: Array.from({ length: PARTITIONS }, () => ({ nextSeq: 0, position: 0, done: 0 })), watermark: 0, newest: undefined, barriers: new Map(),
  markets: new Map(), fills: new Map(),
};
/** How many commits a restart can lose. */
const NOT_ON_DISK = 4;
const LOOK_MS = 60_000;

export function createIntakeTables(): IntakeTables {
  return { rows: EMPTY, earlier: [] };
}

/** As a restart of the database leaves them. */
export function loseLastCommits(tables: IntakeTables, count: number): void {
  for (let i = 0; i < count; i++) tables.rows = tables.earlier.pop() ?? tables.rows;
}

export async function openMemoryStore(
  { database, tables, carry }: { database: Database; tables: IntakeTables; carry: Carry },
  { signal, standingBy, standByMs, lock = 'settlement:intake' }: StandBy & { readonly standByMs?: number; readonly lock?: string },
): Promise<SettlementStore> {
  const session = await database.open({ carry, signal, standingBy, locks: [lock], ...standByMs === undefined ? {} : { standByMs } });
  const commit = (rows: IntakeRows): void => {
    tables.earlier.push(tables.rows);
    if (tables.earlier.length > NOT_ON_DISK) tables.earlier.shift();
    tables.rows = rows;
  };
  const ofChain = (chainId: number): QueuedFill[] => [...tables.rows.fills.values()]
    .filter((fill) => fill.chainId === chainId && !fill.over).sort((a, b) => a.fill - b.fill).map(queuedFill);
  const free = (chainId: number): QueuedFill[] => ofChain(chainId).filter(({ fill, state }) => fill < tables.rows.watermark && state !== 'requested');
  return {
    check: () => { session.check(); },
    load: () => session.query('load intake', () => {
      const { partitions, watermark, newest, barriers, markets, fills } = tables.rows;
      const ahead: FeedProgress['ahead'] = new Map();
      for (const { chainId, fill, over } of fills.values()) if (fill >= watermark) ahead.set(fill, { chainId, fill, ended: over });
      return { progress: { partitions, watermark, ahead, barriers, newest }, markets };
    }),
    async take(changes, nowMs) {
      const overtaken = await session.query('write intake', () => {
        const isMoved = changes.moved.some(({ partition, expected }) => tables.rows.partitions[partition]?.nextSeq !== expected);
        if (!isMoved) {
          checkKeys(tables.rows, changes);
          commit(written(tables.rows, changes, nowMs));
        }
        return isMoved;
      });
      if (overtaken) throw new Overtaken();
    },
    due: (chainId, { nowMs, maxPauseMs, withNew, limit }) => session.query('due fills', () => free(chainId)
      .filter(({ state, dueMs }) => (withNew || state !== 'waiting') && (dueMs <= nowMs || dueMs > nowMs + maxPauseMs)).slice(0, limit)),
    fills: (chainId, fills) => session.query('fills', () => ofChain(chainId).filter(({ fill }) => fills.includes(fill))),
    requested: (chainId) => session.query('requested fills', () => ofChain(chainId).filter(({ state }) => state === 'requested')),
    counts: (chainId) => session.query('count fills', () => countsOf(free(chainId).slice(0, 10_000))),
    async change(_chainId, changed) {
      if (changed.length === 0) return;
      await session.query('change fills', () => {
        const fills = new Map(tables.rows.fills);
        for (const fill of changed) if (fills.get(fill.fill)?.over === false) fills.set(fill.fill, { ...fill, over: false });
        commit({ ...tables.rows, fills });
      });
    },
    async ended(stop) {
      const isOpen = (): boolean => {
        try {
          session.check();
          return true;
        } catch (error) {
          if (error instanceof OutboxUnavailable) return false;
          throw error;
        }
      };
      while (!stop.aborted && isOpen()) await session.bell.wait(stop, LOOK_MS);
    },
    close() {
      session.end();
      return Promise.resolve();
    },
  };
}

/** The row as the store gives it. */
export function queuedFill(row: QueuedFill): QueuedFill {
  const { fill, chainId, price, size, buyNumber, sellNumber, state, sinceMs, dueMs, batchLimit, tries } = row;
  return { fill, chainId, price, size, buyNumber, sellNumber, state, sinceMs, dueMs, batchLimit, tries };
}

function countsOf(fills: readonly QueuedFill[]): QueueCounts {
  const least = (times: readonly number[]): number | undefined => times.length === 0 ? undefined : Math.min(...times);
  return {
    waiting: fills.length, returned: fills.filter(({ state }) => state === 'returned').length,
    limited: fills.filter(({ batchLimit }) => batchLimit !== undefined).length, oldestSinceMs: least(fills.map(({ sinceMs }) => sinceMs)),
    nextDueMs: least(fills.map(({ dueMs }) => dueMs).filter((dueMs) => dueMs > 0)),
  };
}

/** What is there already does not come again: the database's keys do not let it in. */
function checkKeys({ fills, markets }: IntakeRows, { matched, opened }: FeedChanges): void {
  for (const { fill } of matched) if (fills.has(fill)) throw new Error(`fill ${fill} is there already`);
  for (const { marketId } of opened) if (markets.has(marketId)) throw new Error(`market ${marketId} is there already`);
}

function written(rows: IntakeRows, { after, moved, opened, matched, ended, dropped, advanced }: FeedChanges, nowMs: number): IntakeRows {
  const fills = new Map(rows.fills);
  for (const { ended: over, ...each } of matched) {
    fills.set(each.fill, { ...each, state: 'waiting', sinceMs: nowMs, dueMs: 0, batchLimit: undefined, tries: 0, over });
  }
  for (const { fill } of ended) {
    const known = fills.get(fill);
    if (known !== undefined) fills.set(fill, { ...known, over: true });
  }
  for (const { fill } of dropped) fills.delete(fill);
  const barriers = new Map([...rows.barriers].map(([chainId, each]) => [chainId, [...each]]));
  for (const { chainId, partition, block, blockHash } of advanced) {
    const ofChain = barriers.get(chainId) ?? new Array<{ block: number; blockHash: string } | undefined>(PARTITIONS).fill(undefined);
    ofChain[partition] = { block, blockHash };
    barriers.set(chainId, ofChain);
  }
  const partitions = rows.partitions.map((each, partition) => {
    const to = moved.find((move) => move.partition === partition);
    return to === undefined ? each : { nextSeq: to.nextSeq, position: to.position, done: to.done };
  });
  return {
    partitions, fills, barriers, watermark: after.watermark, newest: after.newest,
    markets: new Map([...rows.markets, ...opened.map(({ marketId, chainId }) => [marketId, chainId] as const)]),
  };
}
