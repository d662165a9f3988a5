/** The `positions` projection: every user's shares and average cost in every market. */
import type { Event, FillFailed, FillMatched } from '../engine/events.js';
import { NO, YES } from '../engine/fields.js';
import { buy, sell, undoBuy, undoSell, type Holding } from './average-cost.js';
import { byteaArray, int4Array, numericArray } from './columns.js';
import { createMemory, type Memory } from './memory.js';
import type { FoldedOutcome, Projection, Query } from './projection.js';
import { positionTables } from './tables.js';

/** Until settlement exists, a fill counts from its match on, and no longer once it has failed. */
const COUNTED = 'FillMatched';
const TAKEN_BACK = 'FillFailed';

const LOAD_POSITIONS = {
  name: 'load_positions',
  text: `
    select place, yes_shares, no_shares, yes_cost, no_cost
    from unnest($1::integer[], $2::bytea[], $3::bytea[]) as touched (place, market, trader)
      join positions on market_id = market and user_address = trader`,
};

/** New positions, and those that are there already. */
const WRITE_POSITIONS = {
  name: 'write_positions',
  text: `
    with changed as (
      update positions set yes_shares = now.yes_shares, no_shares = now.no_shares, yes_cost = now.yes_cost, no_cost = now.no_cost
      from unnest($7::bytea[], $8::bytea[], $9::numeric[], $10::numeric[], $11::numeric[], $12::numeric[])
        as now (market_id, user_address, yes_shares, no_shares, yes_cost, no_cost)
      where positions.market_id = now.market_id and positions.user_address = now.user_address
    )
    insert into positions (market_id, user_address, yes_shares, no_shares, yes_cost, no_cost)
    select * from unnest($1::bytea[], $2::bytea[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[])`,
};

/** Positions kept between batches. */
const REMEMBERED = 50_000;

export const positions: Projection = {
  name: 'positions', version: 2, tables: positionTables,
  start: () => {
    const memory = createMemory<string, Position>(REMEMBERED);
    return (batch, query) => fold(batch, query, memory);
  },
};

type Fill = FillMatched | FillFailed;

interface Position {
  readonly marketId: string;
  readonly user: string;
  /** Whether it has a row. */
  stored: boolean;
  /** By outcome: YES, NO. */
  readonly holdings: [Holding, Holding];
}

const NOTHING: Holding = { shares: 0n, cost: 0n };

async function fold(batch: readonly FoldedOutcome[], query: Query, memory: Memory<string, Position>): Promise<void> {
  const fills = batch.flatMap(({ events }) => events.filter(isFill));
  if (fills.length === 0) return;
  const touched = new Map<string, Position>();
  const unknown: Position[] = [];
  for (const { marketId, buyer, seller } of fills) {
    for (const user of [buyer, seller]) {
      const key = marketId + user;
      if (touched.has(key)) continue;
      let position = memory.get(key);
      if (position === undefined) {
        unknown.push(position = { marketId, user, stored: false, holdings: [NOTHING, NOTHING] });
        memory.set(key, position);
      }
      touched.set(key, position);
    }
  }
  if (unknown.length > 0) await load(unknown, query);
  for (const fill of fills) count(fill, touched);
  const rows = [...touched.values()];
  const added = rows.filter(({ stored }) => !stored);
  await query(WRITE_POSITIONS, [...columnsOf(added), ...columnsOf(rows.filter(({ stored }) => stored))]);
  for (const position of added) position.stored = true;
}

function columnsOf(rows: readonly Position[]): unknown[] {
  return [
    byteaArray(rows.map(({ marketId }) => marketId)),
    byteaArray(rows.map(({ user }) => user)),
    ...[YES, NO].map((outcome) => numericArray(rows.map(({ holdings }) => holdings[outcome].shares))),
    ...[YES, NO].map((outcome) => numericArray(rows.map(({ holdings }) => holdings[outcome].cost))),
  ];
}

async function load(rows: readonly Position[], query: Query): Promise<void> {
  const found = await query<[number, string, string, string, string]>(LOAD_POSITIONS, [
    int4Array(rows.map((_, place) => place)),
    byteaArray(rows.map(({ marketId }) => marketId)),
    byteaArray(rows.map(({ user }) => user)),
  ]);
  for (const [place, yesShares, noShares, yesCost, noCost] of found) {
    rows[place].stored = true;
    rows[place].holdings[YES] = { shares: BigInt(yesShares), cost: BigInt(yesCost) };
    rows[place].holdings[NO] = { shares: BigInt(noShares), cost: BigInt(noCost) };
  }
}

/** The buyer's side first: a fill between a user and itself is folded in that order too. */
function count(fill: Fill, touched: ReadonlyMap<string, Position>): void {
  const counted = fill.type === COUNTED;
  const traded = { size: BigInt(fill.size), cost: BigInt(fill.cost) };
  const bought = touched.get(fill.marketId + fill.buyer)!.holdings;
  bought[fill.outcome] = (counted ? buy : undoBuy)(bought[fill.outcome], traded);
  const sold = touched.get(fill.marketId + fill.seller)!.holdings;
  sold[fill.outcome] = (counted ? sell : undoSell)(sold[fill.outcome], traded);
}

function isFill(event: Event): event is Fill {
  return event.type === COUNTED || event.type === TAKEN_BACK;
}
