/** The `markets` projection: what every market is, and whether it still takes orders. */
import type { MarketOpened } from '../engine/events.js';
import { booleanArray, byteaArray, int4Array, int8Array, textArray } from './columns.js';
import type { FoldedOutcome, Projection, Query } from './projection.js';
import { marketTables } from './tables.js';

const INSERT_MARKETS = {
  name: 'insert_markets',
  text: `
    insert into markets (number, market_id, question, description, category, contract_address, maker, expiration, chain_id, kind,
      closed, created_at_ms)
    select (select coalesce(max(number) + 1, 0) from markets) + place, market_id, question, description, category,
      contract_address, maker, expiration, chain_id, kind, closed, created_at_ms
    from unnest($1::integer[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::bigint[], $9::bigint[],
      $10::text[], $11::boolean[], $12::bigint[])
      as opened (place, market_id, question, description, category, contract_address, maker, expiration, chain_id, kind, closed,
        created_at_ms)`,
};

const CLOSE_MARKETS = {
  name: 'close_markets',
  text: 'update markets set closed = true from unnest($1::bytea[]) as gone (id) where market_id = id',
};

export const markets: Projection = { name: 'markets', version: 1, tables: marketTables, start: () => fold };

interface Opened {
  readonly event: MarketOpened;
  readonly at: number;
  closed: boolean;
}

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const opened = new Map<string, Opened>();
  const closed: string[] = [];
  for (const { at, events } of batch) {
    for (const event of events) {
      switch (event.type) {
        case 'MarketOpened':
          opened.set(event.marketId, { event, at, closed: false });
          break;
        case 'MarketClosed': {
          const row = opened.get(event.marketId);
          if (row === undefined) closed.push(event.marketId);
          else row.closed = true;
          break;
        }
        case 'OrderAccepted': case 'OrderRested': case 'FillMatched': case 'OrderCancelled': case 'FillSettled': case 'FillFailed':
        case 'OrderReinstated': case 'OrderRepeated': case 'CancelRepeated': case 'CommandRejected':
        case 'MarketTokenized': case 'MarketResolved': case 'NonceFloorRaised': case 'SettlementSubmitted': case 'SharesTransferred':
        case 'PositionRedeemed': case 'PositionSynced': case 'ResolutionProposed': case 'ResolutionDisputed': case 'ResolutionRejected':
        case 'ChainAdvanced':
          break;
      }
    }
  }
  if (opened.size > 0) await query(INSERT_MARKETS, openedColumns([...opened.values()]));
  if (closed.length > 0) await query(CLOSE_MARKETS, [byteaArray(closed)]);
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
    booleanArray(rows.map(({ closed }) => closed)),
    int8Array(rows.map(({ at }) => at)),
  ];
}
