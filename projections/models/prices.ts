/** The `prices` projection: the prices of each asset in the 20 minutes before its newest one. */
import type { PriceRecorded } from '../../engine/records/events.js';
import { int8Array, numericArray, textArray } from '../columns.js';
import { foldEvents, ignoredBy, type EventTable } from '../event-table.js';
import type { FoldedOutcome, Projection, Query } from '../projection.js';
import { priceTables } from './tables.js';

/** How far back prices are shown, by the time of their publication. */
const KEPT_MS = 20 * 60_000;

const INSERT_PRICES = {
  name: 'insert_prices',
  text: `
    insert into prices (position, asset, source, price, published_at_ms)
    select * from unnest($1::bigint[], $2::text[], $3::text[], $4::numeric[], $5::bigint[])`,
};

const FORGET_PRICES = {
  name: 'forget_prices',
  text: `
    delete from prices using (select asset, max(published_at_ms) as newest_ms from prices group by asset) as kept
    where prices.asset = kept.asset and published_at_ms < newest_ms - ${KEPT_MS}`,
};

interface Row {
  readonly event: PriceRecorded;
  readonly position: number;
}

const EVENTS: EventTable<Row[]> = {
  PriceRecorded: (rows, event, { position }) => { rows.push({ event, position }); },
  MarketOpened: 'ignored', MarketTokenized: 'ignored', MarketClosed: 'ignored', MarketResolved: 'ignored', MarketHalved: 'ignored',
  StrikePriceSet: 'ignored', EndPriceSet: 'ignored', QuickMarketDecided: 'ignored', PriceMissed: 'ignored',
  OrderAccepted: 'ignored', OrderRested: 'ignored', OrderCancelled: 'ignored', OrderReinstated: 'ignored', OrderRepeated: 'ignored',
  CancelRepeated: 'ignored', NonceFloorRaised: 'ignored', CommandRejected: 'ignored',
  FillMatched: 'ignored', SettlementSubmitted: 'ignored', FillSettled: 'ignored', FillFailed: 'ignored', TraderDefaulted: 'ignored',
  SharesTransferred: 'ignored', PositionRedeemed: 'ignored', PositionSynced: 'ignored',
  ResolutionProposed: 'ignored', ResolutionDisputed: 'ignored', ResolutionRejected: 'ignored',
  RelayRequested: 'ignored', RelaySubmitted: 'ignored', RelayEnded: 'ignored', ChainAdvanced: 'ignored', AnchorPassedOver: 'ignored',
};

export const prices: Projection = { name: 'prices', version: 1, tables: priceTables, ignored: ignoredBy(EVENTS), start: () => fold };

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const rows = foldEvents(EVENTS, batch, []);
  if (rows.length === 0) return;
  await query(INSERT_PRICES, [
    int8Array(rows.map(({ position }) => position)),
    textArray(rows.map(({ event }) => event.asset)),
    textArray(rows.map(({ event }) => event.source)),
    numericArray(rows.map(({ event }) => event.price)),
    int8Array(rows.map(({ event }) => event.publishedAt)),
  ]);
  await query(FORGET_PRICES, []);
}
