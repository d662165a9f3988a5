/** The `prices` projection: the prices of each asset in the 20 minutes before its newest one. */
import type { PriceRecorded } from '../../engine/records/events.js';
import { int8Array, numericArray, textArray } from '../columns.js';
import {
  foldEvents, handledBy, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/**
 * `position` is the log position of the price's RecordPrice. `price` is in units of 1e-8 US dollars, and fits into 63 bits. Each asset has the
 * prices of the 20 minutes before its newest one.
 */
const TABLES = [`
create table prices (
  position bigint primary key,
  asset text not null,
  source text not null,
  price numeric(19) not null,
  published_at_ms bigint not null
)`, `
create index prices_by_asset on prices (asset, published_at_ms)`];

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

const EVENTS: Handlers<Row[]> = {
  PriceRecorded: (rows, event, { position }) => { rows.push({ event, position }); },
};

export const prices: Projection = {
  name: 'prices', version: 1, tables: TABLES, handles: handledBy(EVENTS), start: () => fold,
};

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
