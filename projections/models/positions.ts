/**
 * The `positions` projection: every user's holdings in every market, with their average cost, as settled on the chain.
 */
import type { FillSettled, MarketOpened, PositionSynced, SharesTransferred } from '../../engine/records/events.js';
import { NO, YES, type MarketOutcome } from '../../engine/records/fields.js';
import { booleanArray, byteaArray, int4Array, int8Array, numericArray } from '../columns.js';
import {
  foldEvents, handledBy, placedAt, remember, type FoldedOutcome, type Handlers, type Projection, type Query,
  type Remembered,
} from '../projection.js';

/**
 * `chain_id` and `opened_position` are the market's: null for a market that was never opened. `held`: whether any share
 * or cost is left. `market_holders` counts the users who have more than 0 shares. Each page has free space, so that an
 * update of a row stays on its page.
 */
const TABLES = [`
create table positions (
  market_id bytea not null,
  user_address bytea not null,
  chain_id bigint,
  opened_position bigint,
  yes_shares numeric not null,
  no_shares numeric not null,
  yes_cost numeric not null,
  no_cost numeric not null,
  held boolean not null,
  primary key (market_id, user_address)
) with (fillfactor = 70)`, `
create index positions_by_user on positions (user_address, chain_id, opened_position) where held`, `
create index positions_by_size on positions (market_id, (greatest(yes_shares, 0) + greatest(no_shares, 0)) desc, user_address)
  where yes_shares > 0 or no_shares > 0`, `
create table position_markets (
  market_id bytea primary key,
  chain_id bigint not null,
  opened_position bigint not null
)`, `
create table market_holders (
  market_id bytea primary key,
  holders bigint not null
)`];

const ADD_MARKETS = {
  name: 'add_position_markets',
  text: 'insert into position_markets (market_id, chain_id, opened_position) select * from unnest($1::bytea[], $2::bigint[], $3::bigint[])',
};

const LOAD_POSITIONS = {
  name: 'load_positions',
  text: `
    select place, yes_shares, no_shares, yes_cost, no_cost
    from unnest($1::integer[], $2::bytea[], $3::bytea[]) as touched (place, market, trader)
      join positions on market_id = market and user_address = trader`,
};

/** Writes new rows, and updates existing ones. */
const WRITE_POSITIONS = {
  name: 'write_positions',
  text: `
    with changed as (
      update positions set yes_shares = now.yes_shares, no_shares = now.no_shares, yes_cost = now.yes_cost, no_cost = now.no_cost,
        held = now.held
      from unnest($8::bytea[], $9::bytea[], $10::numeric[], $11::numeric[], $12::numeric[], $13::numeric[], $14::boolean[])
        as now (market_id, user_address, yes_shares, no_shares, yes_cost, no_cost, held)
      where positions.market_id = now.market_id and positions.user_address = now.user_address
    )
    insert into positions (market_id, user_address, chain_id, opened_position, yes_shares, no_shares, yes_cost, no_cost, held)
    select market_id, user_address, chain_id, opened_position, yes_shares, no_shares, yes_cost, no_cost, held
    from unnest($1::bytea[], $2::bytea[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[], $7::boolean[])
      as made (market_id, user_address, yes_shares, no_shares, yes_cost, no_cost, held)
      left join position_markets using (market_id)`,
};

/** A market has its row from its first position on; a count of 0 keeps it. */
const COUNT_HOLDERS = {
  name: 'count_holders',
  text: `
    insert into market_holders (market_id, holders) select * from unnest($1::bytea[], $2::bigint[])
    on conflict (market_id) do update set holders = market_holders.holders + excluded.holders where excluded.holders <> 0`,
};

/** The number of rows remembered between batches. */
const REMEMBERED = 50_000;

/** An event that moves shares on the chain. FillMatched is not one, because the fill may still fail. */
type Move = FillSettled | SharesTransferred | PositionSynced;

/** A row: one user's YES and NO holdings in one market. */
interface Position {
  readonly marketId: string;
  readonly user: string;
  /** Whether the table has the row. */
  stored: boolean;
  /** By outcome: YES, NO. */
  readonly holdings: [Holding, Holding];
}

/** A batch's changes. */
interface Changes {
  readonly opened: { readonly event: MarketOpened; readonly position: number }[];
  readonly moves: Move[];
}

/** A transfer to the same user, or of 0 shares, is ignored: it must not create a row. */
const EVENTS: Handlers<Changes> = {
  MarketOpened: ({ opened }, event, { position }) => { opened.push({ event, position }); },
  FillSettled: ({ moves }, event) => { moves.push(event); },
  SharesTransferred: ({ moves }, event) => { if (event.from !== event.to && event.amount !== '0') moves.push(event); },
  PositionSynced: ({ moves }, event) => { moves.push(event); },
};

export const positions: Projection = {
  name: 'positions', version: 4, tables: TABLES, handles: handledBy(EVENTS),
  start: () => {
    const memory = remember<string, Position>(REMEMBERED);
    return (batch, query) => fold(batch, query, memory);
  },
};

const NOTHING: Holding = { shares: 0n, cost: 0n };

/** The zero address: splits mint shares from it, merges and redemptions burn shares to it. */
const NOBODY = `0x${'0'.repeat(40)}`;

async function fold(
  batch: readonly FoldedOutcome[], query: Query, memory: Remembered<string, Position>,
): Promise<void> {
  const { opened, moves } = foldEvents(EVENTS, batch, { opened: [], moves: [] });
  const added = opened.length === 0
    ? undefined
    : query(ADD_MARKETS, [
        byteaArray(opened.map(({ event }) => event.marketId)), int8Array(opened.map(({ event }) => event.chainId)),
        int8Array(opened.map(({ position }) => position)),
      ]);
  await Promise.all([added, moves.length === 0 ? undefined : foldMoves(moves, query, memory)]);
}

async function foldMoves(moves: readonly Move[], query: Query, memory: Remembered<string, Position>): Promise<void> {
  const touched = new Map<string, Position>();
  const unknown: Position[] = [];
  for (const move of moves) {
    const { marketId } = move;
    for (const user of usersOf(move)) {
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
  const rows = [...touched.values()];
  const held = rows.map(holdsShares);
  for (const move of moves) {
    apply(move, (user) => {
      const position = touched.get(move.marketId + user);
      if (position === undefined) throw new Error(`${move.type} moves shares of ${user}, who is not among its users`);
      return position.holdings;
    });
  }
  const added = rows.filter(({ stored }) => !stored);
  await Promise.all([
    query(WRITE_POSITIONS, [...columnsOf(added), ...columnsOf(rows.filter(({ stored }) => stored))]),
    countHolders(
      rows.map((row, i) => ({ marketId: row.marketId, change: Number(holdsShares(row)) - Number(held[i]) })), query,
    ),
  ]);
  for (const position of added) position.stored = true;
}

function holdsShares({ holdings }: Position): boolean {
  return holdings.some(({ shares }) => shares > 0n);
}

async function countHolders(
  changes: readonly { readonly marketId: string; readonly change: number }[], query: Query,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { marketId, change } of changes) counts.set(marketId, (counts.get(marketId) ?? 0) + change);
  await query(COUNT_HOLDERS, [byteaArray([...counts.keys()]), int8Array([...counts.values()])]);
}

function columnsOf(rows: readonly Position[]): unknown[] {
  return [
    byteaArray(rows.map(({ marketId }) => marketId)),
    byteaArray(rows.map(({ user }) => user)),
    ...[YES, NO].map((outcome) => numericArray(rows.map(({ holdings }) => holdings[outcome].shares))),
    ...[YES, NO].map((outcome) => numericArray(rows.map(({ holdings }) => holdings[outcome].cost))),
    booleanArray(rows.map(({ holdings }) => holdings.some(({ shares, cost }) => shares !== 0n || cost !== 0n))),
  ];
}

async function load(rows: readonly Position[], query: Query): Promise<void> {
  const found = await query<[number, string, string, string, string]>(LOAD_POSITIONS, [
    int4Array(rows.map((_, place) => place)),
    byteaArray(rows.map(({ marketId }) => marketId)),
    byteaArray(rows.map(({ user }) => user)),
  ]);
  for (const [place, yesShares, noShares, yesCost, noCost] of found) {
    const position = placedAt(rows, place);
    position.stored = true;
    position.holdings[YES] = { shares: BigInt(yesShares), cost: BigInt(yesCost) };
    position.holdings[NO] = { shares: BigInt(noShares), cost: BigInt(noCost) };
  }
}

type HoldingsOf = (user: string) => [Holding, Holding];

function apply(move: Move, holdingsOf: HoldingsOf): void {
  switch (move.type) {
    case 'FillSettled': {
      const { outcome, buyer, seller } = move;
      const [bought, sold] = [holdingsOf(buyer), holdingsOf(seller)];
      const size = BigInt(move.size);
      bought[outcome] = buy(bought[outcome], { size, cost: BigInt(move.cost) });
      sold[outcome] = sell(sold[outcome], size);
      break;
    }
    case 'SharesTransferred': applyTransfer(move, holdingsOf); break;
    case 'PositionSynced': {
      const held = holdingsOf(move.user);
      held[YES] = correct(held[YES], BigInt(move.yesShares));
      held[NO] = correct(held[NO], BigInt(move.noShares));
      break;
    }
  }
}

interface Transfer {
  readonly outcome: MarketOutcome;
  readonly from: string;
  readonly to: string;
  readonly amount: string;
}

function applyTransfer({ outcome, from, to, amount }: Transfer, holdingsOf: HoldingsOf): void {
  const size = BigInt(amount);
  if (from === NOBODY) {
    const minted = holdingsOf(to);
    minted[outcome] = buy(minted[outcome], { size, cost: splitCost(size, outcome) });
  } else if (to === NOBODY) {
    const burnt = holdingsOf(from);
    burnt[outcome] = sell(burnt[outcome], size);
  } else {
    const [sender, receiver] = [holdingsOf(from), holdingsOf(to)];
    const after = transfer(sender[outcome], receiver[outcome], size);
    sender[outcome] = after.from;
    receiver[outcome] = after.to;
  }
}

function usersOf(move: Move): string[] {
  switch (move.type) {
    case 'FillSettled': return [move.buyer, move.seller];
    case 'SharesTransferred': return [move.from, move.to].filter((user) => user !== NOBODY);
    case 'PositionSynced': return [move.user];
  }
}

/**
 * Shares and their cost, in units of 1e-6. Shares are negative after a sale of shares that the user did not have; then
 * the cost is 0.
 *
 * The average cost of a holding. Incoming shares add their cost; leaving shares take floor(cost x leaving / held) of
 * the cost, in units of 1e-6 of the collateral. The fraction that the rounding leaves stays in the cost until the last
 * share leaves.
 */
export interface Holding {
  readonly shares: bigint;
  readonly cost: bigint;
}

/** A number of shares and their cost, in units of 1e-6. */
export interface Purchase {
  readonly size: bigint;
  readonly cost: bigint;
}

/**
 * The holding after shares came in at a cost. If it was negative, only the part of the shares above zero adds cost, in
 * proportion.
 */
export function buy({ shares, cost }: Holding, bought: Purchase): Holding {
  const after = shares + bought.size;
  if (after <= 0n) return { shares: after, cost: 0n };
  if (shares >= 0n) return { shares: after, cost: cost + bought.cost };
  return { shares: after, cost: bought.cost * after / bought.size };
}

/** The holding after shares left. The price that they were sold at does not matter. */
export function sell({ shares, cost }: Holding, size: bigint): Holding {
  const after = shares - size;
  return { shares: after, cost: after <= 0n ? 0n : cost - cost * size / shares };
}

/**
 * Both holdings after shares moved from one to the other with their part of the cost. Non-negative holdings keep their
 * cost in total.
 */
export function transfer(from: Holding, to: Holding, size: bigint): { from: Holding; to: Holding } {
  const left = sell(from, size);
  return { from: left, to: buy(to, { size, cost: from.cost - left.cost }) };
}

/**
 * The cost of one outcome's shares after a split of `size`: half of `size`. If `size` is odd, YES (0) costs one unit
 * more.
 */
export function splitCost(size: bigint, outcome: 0 | 1): bigint {
  return outcome === 0 ? size - size / 2n : size / 2n;
}

/** The holding corrected to `shares`: missing shares take their part of the cost, additional shares cost nothing. */
export function correct(held: Holding, shares: bigint): Holding {
  return shares < held.shares ? sell(held, held.shares - shares) : { shares, cost: held.cost };
}
