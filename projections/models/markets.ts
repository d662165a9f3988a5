/** The `markets` projection: every market with its terms, whether it still takes orders, and its winning outcome. */
import type { MarketOpened } from '../../engine/records/events.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { booleanArray, byteaArray, int2Array, int4Array, int8Array, textArray } from '../columns.js';
import { foldEvents, ignoredBy, type EventTable } from '../event-table.js';
import type { FoldedOutcome, Projection, Query } from '../projection.js';
import { marketTables } from './tables.js';

const INSERT_MARKETS = {
  name: 'insert_markets',
  text: `
    insert into markets (number, market_id, question, description, category, contract_address, maker, expiration, chain_id, kind,
      created_at_ms, closed, resolved, winning_outcome)
    select (select coalesce(max(number) + 1, 0) from markets) + place, market_id, question, description, category,
      contract_address, maker, expiration, chain_id, kind, created_at_ms, closed, winning_outcome >= 0, nullif(winning_outcome, -1)
    from unnest($1::integer[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::bigint[], $9::bigint[],
      $10::text[], $11::bigint[], $12::boolean[], $13::smallint[])
      as opened (place, market_id, question, description, category, contract_address, maker, expiration, chain_id, kind,
        created_at_ms, closed, winning_outcome)`,
};

/** A closed or resolved market stays closed or resolved. */
const END_MARKETS = {
  name: 'end_markets',
  text: `
    update markets set closed = closed or now_closed, resolved = resolved or winner >= 0,
      winning_outcome = coalesce(nullif(winner, -1), winning_outcome)
    from unnest($1::bytea[], $2::boolean[], $3::smallint[]) as ended (id, now_closed, winner) where market_id = id`,
};

/** Whether a market is closed, and its winner; -1 while it is not resolved. */
interface End {
  closed: boolean;
  winner: MarketOutcome | -1;
}

interface Opened extends End {
  readonly event: MarketOpened;
  readonly at: number;
}

/** A batch's changes: the markets that it opens, and the ends of older markets. */
interface Changes {
  readonly opened: Map<string, Opened>;
  readonly older: Map<string, End>;
}

const EVENTS: EventTable<Changes> = {
  MarketOpened: ({ opened }, event, { at }) => { opened.set(event.marketId, { event, at, closed: false, winner: -1 }); },
  MarketClosed: (changes, { marketId }) => { endOf(changes, marketId).closed = true; },
  MarketResolved: (changes, { marketId, winningOutcome }) => { endOf(changes, marketId).winner = winningOutcome; },
  MarketTokenized: 'ignored',
  OrderAccepted: 'ignored', OrderRested: 'ignored', OrderCancelled: 'ignored', OrderReinstated: 'ignored', OrderRepeated: 'ignored',
  CancelRepeated: 'ignored', NonceFloorRaised: 'ignored', CommandRejected: 'ignored',
  FillMatched: 'ignored', SettlementSubmitted: 'ignored', FillSettled: 'ignored', FillFailed: 'ignored',
  SharesTransferred: 'ignored', PositionRedeemed: 'ignored', PositionSynced: 'ignored',
  ResolutionProposed: 'ignored', ResolutionDisputed: 'ignored', ResolutionRejected: 'ignored',
  RelayRequested: 'ignored', RelaySubmitted: 'ignored', RelayEnded: 'ignored', ChainAdvanced: 'ignored',
};

export const markets: Projection = { name: 'markets', version: 2, tables: marketTables, ignored: ignoredBy(EVENTS), start: () => fold };

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const { opened, older } = foldEvents(EVENTS, batch, { opened: new Map(), older: new Map() });
  if (opened.size > 0) await query(INSERT_MARKETS, [...openedColumns([...opened.values()]), ...endColumns([...opened.values()])]);
  if (older.size > 0) await query(END_MARKETS, [byteaArray([...older.keys()]), ...endColumns([...older.values()])]);
}

function endOf({ opened, older }: Changes, marketId: string): End {
  let end = opened.get(marketId) ?? older.get(marketId);
  if (end === undefined) older.set(marketId, end = { closed: false, winner: -1 });
  return end;
}

function openedColumns(rows: readonly Opened[]): unknown[] {
  return [
    int4Array(rows.map((_, place) => place)),
    byteaArray(rows.map(({ event }) => event.marketId)),
    textArray(rows.map(({ event }) => event.question)),
    textArray(rows.map(({ event }) => event.description)),
    textArray(rows.map(({ event }) => event.category)),
    byteaArray(rows.map(({ event }) => event.contractAddress)),
    byteaArray(rows.map(({ event }) => event.maker)),
    int8Array(rows.map(({ event }) => event.expiration)),
    int8Array(rows.map(({ event }) => event.chainId)),
    textArray(rows.map(({ event }) => event.marketKind)),
    int8Array(rows.map(({ at }) => at)),
  ];
}

function endColumns(ends: readonly End[]): unknown[] {
  return [booleanArray(ends.map(({ closed }) => closed)), int2Array(ends.map(({ winner }) => winner))];
}
