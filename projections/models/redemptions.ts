/** The `redemptions` projection: the payments to users for their shares of resolved markets. */
import type { PositionRedeemed } from '../../engine/records/events.js';
import { byteaArray, int8Array, numericArray } from '../columns.js';
import { foldEvents, ignoredBy, type EventTable } from '../event-table.js';
import type { FoldedOutcome, Projection, Query } from '../projection.js';
import { redemptionTables } from './tables.js';

const INSERT_REDEMPTIONS = {
  name: 'insert_redemptions',
  text: `
    insert into redemptions (position, market_id, user_address, payout, tx_hash, at_ms)
    select * from unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::numeric[], $5::bytea[], $6::bigint[])`,
};

interface Redemption {
  readonly event: PositionRedeemed;
  readonly position: number;
  readonly at: number;
}

const EVENTS: EventTable<Redemption[]> = {
  PositionRedeemed: (rows, event, { position, at }) => { rows.push({ event, position, at }); },
  SharesTransferred: 'ignored', PositionSynced: 'ignored',
  OrderAccepted: 'ignored', OrderRested: 'ignored', OrderCancelled: 'ignored', OrderReinstated: 'ignored', OrderRepeated: 'ignored',
  CancelRepeated: 'ignored', NonceFloorRaised: 'ignored', CommandRejected: 'ignored',
  FillMatched: 'ignored', SettlementSubmitted: 'ignored', FillSettled: 'ignored', FillFailed: 'ignored', TraderDefaulted: 'ignored',
  MarketOpened: 'ignored', MarketTokenized: 'ignored', MarketClosed: 'ignored', MarketResolved: 'ignored',
  ResolutionProposed: 'ignored', ResolutionDisputed: 'ignored', ResolutionRejected: 'ignored',
  RelayRequested: 'ignored', RelaySubmitted: 'ignored', RelayEnded: 'ignored', ChainAdvanced: 'ignored', AnchorPassedOver: 'ignored',
  MarketHalved: 'ignored', PriceRecorded: 'ignored', StrikePriceSet: 'ignored', EndPriceSet: 'ignored', QuickMarketDecided: 'ignored', PriceMissed: 'ignored',
};

export const redemptions: Projection = {
  name: 'redemptions', version: 1, tables: redemptionTables, ignored: ignoredBy(EVENTS), start: () => fold,
};

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const rows = foldEvents(EVENTS, batch, []);
  if (rows.length === 0) return;
  await query(INSERT_REDEMPTIONS, [
    int8Array(rows.map(({ position }) => position)),
    byteaArray(rows.map(({ event }) => event.marketId)),
    byteaArray(rows.map(({ event }) => event.user)),
    numericArray(rows.map(({ event }) => event.payout)),
    byteaArray(rows.map(({ event }) => event.txHash)),
    int8Array(rows.map(({ at }) => at)),
  ]);
}
