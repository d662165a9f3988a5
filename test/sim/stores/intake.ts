/** What the intake keeps, in memory. Commits do not wait for the disk there: a restart of the database loses the last ones together. */
import { OutboxUnavailable } from '../../../command/lane/requests.js';
import { PARTITIONS } from '../../../command/feed/messages.js';
import type { Changes, MatchedFill, Taken } from '../../../command/settlement/intake/changes.js';
import { Overtaken, type IntakeStore, type StoreOptions } from '../../../command/settlement/intake/store.js';
import type { Carry, Database } from './database.js';

/** The rows; each write makes new ones. */
export interface IntakeRows {
  readonly partitions: Taken['partitions'];
  readonly watermark: number;
  readonly newest: Taken['newest'];
  readonly barriers: Taken['barriers'];
  readonly markets: ReadonlyMap<string, number>;
  readonly fills: ReadonlyMap<number, MatchedFill>;
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
  { signal, standingBy, standByMs, lock = 'settlement:intake' }: Pick<StoreOptions, 'signal' | 'standingBy' | 'standByMs' | 'lock'>,
): Promise<IntakeStore> {
  const session = await database.open({ carry, signal, standingBy, locks: [lock], ...standByMs === undefined ? {} : { standByMs } });
  return {
    load: () => session.query('load intake', () => {
      const { partitions, watermark, newest, barriers, markets, fills } = tables.rows;
      const kept = [...fills].filter(([fill]) => fill >= watermark);
      const ahead = new Map(kept.map(([fill, each]) => [fill, each.ended ? undefined : each.fill] as const));
      return { taken: { partitions, watermark, ahead, barriers, newest }, markets };
    }),
    page: (chainId, { from, limit }, watermark) => session.query('page', () => [...tables.rows.fills.values()]
      .filter(({ fill, ended }) => fill.chainId === chainId && !ended && fill.fill >= from && fill.fill < watermark)
      .map(({ fill }) => fill).sort((a, b) => a.fill - b.fill).slice(0, limit)),
    async write(changes) {
      const overtaken = await session.query('write intake', () => {
        const isMoved = changes.moved.some(({ partition, expected }) => tables.rows.partitions[partition]?.nextSeq !== expected);
        if (!isMoved) {
          checkKeys(tables.rows, changes);
          tables.earlier.push(tables.rows);
          if (tables.earlier.length > NOT_ON_DISK) tables.earlier.shift();
          tables.rows = written(tables.rows, changes);
        }
        return isMoved;
      });
      if (overtaken) throw new Overtaken();
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

/** What is there already does not come again: the database's keys do not let it in. */
function checkKeys({ fills, markets }: IntakeRows, { matched, opened }: Changes): void {
  for (const { fill: { fill } } of matched) if (fills.has(fill)) throw new Error(`fill ${fill} is there already`);
  for (const { marketId } of opened) if (markets.has(marketId)) throw new Error(`market ${marketId} is there already`);
}

function written(rows: IntakeRows, { after, moved, opened, matched, ended, dropped, advanced }: Changes): IntakeRows {
  const fills = new Map(rows.fills);
  for (const each of matched) fills.set(each.fill.fill, each);
  for (const fill of ended) {
    const known = fills.get(fill);
    if (known !== undefined) fills.set(fill, { ...known, ended: true });
  }
  for (const fill of dropped) fills.delete(fill);
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
