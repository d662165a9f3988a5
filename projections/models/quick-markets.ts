/** The `quick_markets` projection: every quick market with its interval, its two prices and how it ended. */
import type { MarketOpened, StrikePriceSet } from '../../engine/records/events.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { booleanArray, byteaArray, int2Array, int4Array, int8Array, numericArray, textArray } from '../columns.js';
import {
  foldEvents, handledBy, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/**
 * Quick markets, numbered in the order of opening. Prices are in units of 1e-8 US dollars. `outcome` follows from the
 * prices; `paid` is whom the chain pays, 2 for both outcomes one half. A price can be missed and come later.
 */
const TABLES = [`
create table quick_markets (
  number integer primary key,
  market_id bytea not null unique,
  chain_id bigint not null,
  contract_address bytea not null,
  asset text not null,
  start_time bigint not null,
  end_time bigint not null,
  created_at_ms bigint not null,
  strike_price numeric(19),
  strike_source text,
  strike_at_ms bigint,
  end_price numeric(19),
  end_source text,
  end_at_ms bigint,
  outcome smallint,
  paid smallint,
  start_missed boolean not null,
  end_missed boolean not null
)`, `
create index quick_markets_by_asset on quick_markets (asset, end_time)`];

const RESULT = 'strike_price, strike_source, strike_at_ms, end_price, end_source, end_at_ms, outcome, paid, start_missed, end_missed';
/**
 * Parameters of the columns above, from the n-th on. `outcome` and `paid` are -1, and sources empty, while there are
 * none.
 */
const resultArrays = (n: number) => [
  'numeric', 'text', 'bigint', 'numeric', 'text', 'bigint', 'smallint', 'smallint', 'boolean', 'boolean',
].map((type, i) => `$${n + i}::${type}[]`).join(', ');

const INSERT_QUICK_MARKETS = {
  name: 'insert_quick_markets',
  text: `
    insert into quick_markets (number, market_id, chain_id, contract_address, asset, start_time, end_time, created_at_ms, ${RESULT})
    select (select coalesce(max(number) + 1, 0) from quick_markets) + place, market_id, chain_id, contract_address, asset, start_time, end_time,
      created_at_ms, strike_price, nullif(strike_source, ''), strike_at_ms, end_price, nullif(end_source, ''), end_at_ms, nullif(outcome, -1),
      nullif(paid, -1), start_missed, end_missed
    from unnest($1::integer[], $2::bytea[], $3::bigint[], $4::bytea[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], ${resultArrays(9)})
      as opened (place, market_id, chain_id, contract_address, asset, start_time, end_time, created_at_ms, ${RESULT})`,
};

/** What is set stays set. A market that is not a quick one has no row. */
const CHANGE_QUICK_MARKETS = {
  name: 'change_quick_markets',
  text: `
    update quick_markets set
      strike_price = coalesce(changed.strike_price, quick_markets.strike_price),
      strike_source = coalesce(nullif(changed.strike_source, ''), quick_markets.strike_source),
      strike_at_ms = coalesce(changed.strike_at_ms, quick_markets.strike_at_ms),
      end_price = coalesce(changed.end_price, quick_markets.end_price),
      end_source = coalesce(nullif(changed.end_source, ''), quick_markets.end_source),
      end_at_ms = coalesce(changed.end_at_ms, quick_markets.end_at_ms),
      outcome = coalesce(nullif(changed.outcome, -1), quick_markets.outcome),
      paid = coalesce(nullif(changed.paid, -1), quick_markets.paid),
      start_missed = quick_markets.start_missed or changed.start_missed,
      end_missed = quick_markets.end_missed or changed.end_missed
    from unnest($1::bytea[], ${resultArrays(2)}) as changed (id, ${RESULT})
    where market_id = id`,
};

type CountedPrice = Pick<StrikePriceSet, 'price' | 'source' | 'publishedAt'>;

/** `paid`: whom the chain pays, 2 for both one half. */
interface Result {
  strike?: CountedPrice;
  end?: CountedPrice;
  outcome?: MarketOutcome;
  paid?: MarketOutcome | 2;
  readonly missed: Set<'start' | 'end'>;
}

interface Opened extends Result {
  readonly event: MarketOpened;
  readonly quick: NonNullable<MarketOpened['quick']>;
  readonly at: number;
}

/** A batch's changes: the quick markets that it opens, and what happens to older markets, quick ones or not. */
interface Changes {
  readonly opened: Map<string, Opened>;
  readonly older: Map<string, Result>;
}

const EVENTS: Handlers<Changes> = {
  MarketOpened: ({ opened }, event, { at }) => {
    if (event.quick !== null) opened.set(event.marketId, { event, quick: event.quick, at, missed: new Set() });
  },
  StrikePriceSet: (changes, event) => { resultOf(changes, event.marketId).strike = event; },
  EndPriceSet: (changes, event) => { resultOf(changes, event.marketId).end = event; },
  QuickMarketDecided: (
    changes, { marketId, winningOutcome },
  ) => { resultOf(changes, marketId).outcome = winningOutcome; },
  PriceMissed: (changes, { marketId, boundary }) => { resultOf(changes, marketId).missed.add(boundary); },
  MarketResolved: (changes, { marketId, winningOutcome }) => { resultOf(changes, marketId).paid = winningOutcome; },
  MarketHalved: (changes, { marketId }) => { resultOf(changes, marketId).paid = 2; },
};

export const quickMarkets: Projection = {
  name: 'quick_markets', version: 1, tables: TABLES, handles: handledBy(EVENTS), start: () => fold,
};

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const { opened, older } = foldEvents(EVENTS, batch, { opened: new Map(), older: new Map() });
  if (opened.size > 0) {
    await query(INSERT_QUICK_MARKETS, [...openedColumns([...opened.values()]), ...resultColumns([...opened.values()])]);
  }
  if (older.size > 0) {
    await query(CHANGE_QUICK_MARKETS, [byteaArray([...older.keys()]), ...resultColumns([...older.values()])]);
  }
}

function resultOf({ opened, older }: Changes, marketId: string): Result {
  let result = opened.get(marketId) ?? older.get(marketId);
  if (result === undefined) older.set(marketId, result = { missed: new Set() });
  return result;
}

function openedColumns(rows: readonly Opened[]): unknown[] {
  return [
    int4Array(rows.map((_, place) => place)),
    byteaArray(rows.map(({ event }) => event.marketId)),
    int8Array(rows.map(({ event }) => event.chainId)),
    byteaArray(rows.map(({ event }) => event.contractAddress)),
    textArray(rows.map(({ quick }) => quick.asset)),
    int8Array(rows.map(({ quick }) => quick.startTime)),
    int8Array(rows.map(({ quick }) => quick.endTime)),
    int8Array(rows.map(({ at }) => at)),
  ];
}

function resultColumns(rows: readonly Result[]): unknown[] {
  const priceColumns = (which: 'strike' | 'end') => [
    numericArray(rows.map((row) => row[which]?.price ?? 'NULL')),
    textArray(rows.map((row) => row[which]?.source ?? '')),
    int8Array(rows.map((row) => row[which]?.publishedAt ?? null)),
  ];
  return [
    ...priceColumns('strike'), ...priceColumns('end'),
    int2Array(rows.map(({ outcome }) => outcome ?? -1)),
    int2Array(rows.map(({ paid }) => paid ?? -1)),
    booleanArray(rows.map(({ missed }) => missed.has('start'))),
    booleanArray(rows.map(({ missed }) => missed.has('end'))),
  ];
}
