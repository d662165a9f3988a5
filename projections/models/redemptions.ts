/** The `redemptions` projection: the payments to users for their shares of resolved markets. */
import type { PositionRedeemed } from '../../engine/records/events.js';
import { byteaArray, int8Array, numericArray } from '../columns.js';
import {
  foldEvents, handledBy, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/** `position` is the log position of the command that recorded the payment. Each command records one payment. */
const TABLES = [`
create table redemptions (
  position bigint primary key,
  market_id bytea not null,
  user_address bytea not null,
  payout numeric not null,
  tx_hash bytea not null,
  at_ms bigint not null
)`, `
create index redemptions_by_user on redemptions (user_address, position)`];

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

const EVENTS: Handlers<Redemption[]> = {
  PositionRedeemed: (rows, event, { position, at }) => { rows.push({ event, position, at }); },
};

export const redemptions: Projection = {
  name: 'redemptions', version: 1, tables: TABLES, handles: handledBy(EVENTS), start: () => fold,
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
