/** The `trades` projection: every fill with its settlement, the transactions signed to settle it, and the volumes without failed fills. */
import type { FillFailed, FillMatched, MarketOpened, SettlementSubmitted } from '../../engine/records/events.js';
import { byteaArray, int2Array, int4Array, int8Array, numericArray, rowsFrom, textArray } from '../columns.js';
import { CANDLE_TABLES, startCandles, type Candles, type TimedTrade } from './candles.js';
import { messageTables, startMessages, type ChannelMessage, type WriteMessages } from './message-blocks.js';
import { addMarkets, VOLUME_TABLES, writeVolumes, type CountedTrade } from './trade-volumes.js';
import {
  foldEvents, handledBy, InconsistentOutcomes, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/**
 * `settlement`: 0 matched, 1 pending, 2 confirmed, 3 failed. `number` is the fill number. `tx_hash` is the last submitted transaction; once
 * the fill is settled or failed, it is the transaction that did so. `submissions` has every transaction that was signed to settle fills, which are in
 * the transaction's order; where one is recorded twice, the first record with a fill counts. No index of `trades` has a column that settling changes,
 * and each page has free space, so that the update stays in the row's page and writes no index; what is found by its settlement is in narrow tables.
 * `unsettled_trades` has the trades that are matched or pending, `failed_trades` those that failed, and `unannounced_settlements` the transactions
 * that settled or failed fills without a SettlementSubmitted that names them. `trade_messages` has each position at which fills of the market were
 * submitted while unsettled, settled or failed, or matched later than their taker was placed: when it was reinstated. Where `position` is
 * `taker_number`, the trades themselves say so: together they are the positions of the messages in the market's channel of the streams.
 * Seven bytes of an id make an entry of an index half as large, and are too many to look for ids that begin alike.
 */
const TABLES = [`
create table trades (
  number bigint primary key,
  maker_number bigint not null,
  taker_number bigint not null,
  position bigint not null,
  at_ms bigint not null,
  settled_position bigint,
  settled_at_ms bigint,
  price integer not null,
  outcome smallint not null,
  taker_side smallint not null,
  settlement smallint not null,
  market_id bytea not null,
  buyer bytea not null,
  seller bytea not null,
  size numeric(20) not null,
  cost numeric(20) not null,
  tx_hash bytea,
  failure_reason text
) with (fillfactor = 75)`, `
create index trades_by_market on trades (substr(market_id, 1, 7), number)`, `
create index trades_by_buyer on trades (substr(buyer, 1, 7), number)`, `
create index trades_by_seller on trades (substr(seller, 1, 7), number)`, `
create index trades_by_maker on trades (maker_number)`, `
create index trades_by_taker on trades (taker_number)`, `
create table unsettled_trades (
  number bigint primary key,
  market_id bytea not null,
  buyer bytea not null,
  seller bytea not null
)`, `
create index unsettled_trades_by_market on unsettled_trades (market_id, number)`, `
create table failed_trades (
  settled_at_ms bigint not null,
  settled_position bigint not null,
  number bigint not null,
  primary key (settled_at_ms, settled_position, number)
)`, `
create table unannounced_settlements (
  tx_hash bytea not null,
  fill bigint not null,
  primary key (tx_hash, fill)
)`, `
create table submissions (
  tx_hash bytea not null,
  position bigint not null,
  at_ms bigint not null,
  fills bigint[] not null,
  primary key (tx_hash, position)
)`, ...messageTables('trade', 'market_id'), ...VOLUME_TABLES, ...CANDLE_TABLES];

/** The values of the column `settlement`. */
const MATCHED = 0;
const PENDING = 1;
const CONFIRMED = 2;
const FAILED = 3;

/** SQL, after a query `written` with the trades whose settlement is new: the rows of those that are settled or failed by then. */
const ENDED = `
    failed as (
      insert into failed_trades (settled_at_ms, settled_position, number)
      select settled_at_ms, settled_position, number from written where settlement = ${FAILED}
    ), unannounced as (
      insert into unannounced_settlements (tx_hash, fill)
      select tx_hash, number from written where settlement >= ${CONFIRMED}
        and not exists (select from submissions where submissions.tx_hash = written.tx_hash and written.number = any(submissions.fills))
    )`;

/** Writes new trades, after the volumes and the submissions. */
const WRITE_TRADES = {
  name: 'write_trades',
  text: `
    with written as (
      insert into trades (number, market_id, outcome, price, size, cost, taker_side, maker_number, taker_number, buyer, seller,
        position, at_ms, settlement, tx_hash, settled_position, settled_at_ms, failure_reason)
      ${rowsFrom(1, `number bigint, market_id bytea, outcome smallint, price integer, size numeric, cost numeric, taker_side smallint,
        maker_number bigint, taker_number bigint, buyer bytea, seller bytea, position bigint, at_ms bigint, settlement smallint, tx_hash bytea,
        settled_position bigint, settled_at_ms bigint, failure_reason text`)}
      returning number, market_id, buyer, seller, settlement, tx_hash, settled_position, settled_at_ms
    ), ${ENDED}
    insert into unsettled_trades (number, market_id, buyer, seller)
    select number, market_id, buyer, seller from written where settlement < ${CONFIRMED}`,
};

const WRITE_SUBMISSIONS = {
  name: 'write_submissions',
  text: `
    with submitted as (
      select * from unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[]) with ordinality as given (tx_hash, fill, position, at_ms, place)
    ), announced as (
      delete from unannounced_settlements using submitted
      where unannounced_settlements.tx_hash = submitted.tx_hash and unannounced_settlements.fill = submitted.fill
    )
    insert into submissions (tx_hash, position, at_ms, fills)
    select tx_hash, position, at_ms, array_agg(fill order by place) from submitted group by tx_hash, position, at_ms`,
};

/**
 * Writes settlements, after the submissions; a settled or failed trade does not change. Returns each trade's market, and when it matched: a failed
 * one leaves that minute's volume.
 */
const SETTLE_TRADES = {
  name: 'settle_trades',
  text: `
    with written as (
      update trades set settlement = now.settlement, tx_hash = now.tx_hash, settled_position = now.settled_position,
        settled_at_ms = now.settled_at_ms, failure_reason = now.failure_reason
      from ${rowsFrom(1, `number bigint, settlement smallint, tx_hash bytea, settled_position bigint, settled_at_ms bigint,
        failure_reason text`)} now
      where trades.number = now.number and trades.settlement < ${CONFIRMED}
      returning trades.number, trades.at_ms, trades.market_id, trades.settlement, trades.tx_hash, trades.settled_position, trades.settled_at_ms
    ), ended as (
      delete from unsettled_trades using written where unsettled_trades.number = written.number and settlement >= ${CONFIRMED}
    ), ${ENDED}
    select number, at_ms, '0x' || encode(market_id, 'hex') from written`,
};

interface Settlement {
  readonly settlement: number;
  readonly txHash: string | null;
  readonly position: number | null;
  /** Engine time in milliseconds. */
  readonly at: number | null;
  readonly reason: string | null;
}

interface Trade {
  readonly event: FillMatched;
  readonly position: number;
  readonly at: number;
  settlement: Settlement;
}

interface Submission {
  readonly event: SettlementSubmitted;
  readonly position: number;
  readonly at: number;
}

/** A batch's changes. */
interface Changes {
  readonly matched: Map<number, Trade>;
  /** The new settlements of trades of earlier batches, by fill number. */
  readonly older: Map<number, Settlement>;
  readonly submissions: Submission[];
  /** Fills that are submitted or final now, each with its position; a submission of a fill that was final already is not among them. */
  readonly settling: { readonly fill: number; readonly position: number }[];
  readonly failed: FillFailed[];
  readonly opened: MarketOpened[];
}

const EVENTS: Handlers<Changes> = {
  MarketOpened: ({ opened }, event) => { opened.push(event); },
  FillMatched: ({ matched }, event, { position, at }) => { matched.set(event.fill, { event, position, at, settlement: UNSETTLED }); },
  SettlementSubmitted: (changes, event, { position, at }) => {
    changes.submissions.push({ event, position, at });
    const pending = { settlement: PENDING, txHash: event.txHash, position: null, at: null, reason: null };
    for (const fill of event.fills) settle(changes, fill, pending, position);
  },
  FillSettled: (changes, { fill, txHash }, { position, at }) => {
    settle(changes, fill, { settlement: CONFIRMED, txHash, position, at, reason: null }, position);
  },
  FillFailed: (changes, event, { position, at }) => {
    settle(changes, event.fill, { settlement: FAILED, txHash: event.txHash, position, at, reason: event.reason }, position);
    changes.failed.push(event);
  },
};

export const trades: Projection = {
  name: 'trades', version: 10, tables: TABLES, handles: handledBy(EVENTS), start: () => {
    const memory: Memory = { candles: startCandles(), writeMessages: startMessages('trade', 'market_id') };
    return async (batch, query) => fold(batch, query, memory);
  },
};

interface Memory {
  readonly candles: Candles;
  readonly writeMessages: WriteMessages;
}

const UNSETTLED: Settlement = { settlement: MATCHED, txHash: null, position: null, at: null, reason: null };

async function fold(batch: readonly FoldedOutcome[], query: Query, { candles, writeMessages }: Memory): Promise<void> {
  const changes = foldEvents(EVENTS, batch, {
    matched: new Map(), older: new Map(), submissions: [], settling: [], failed: [], opened: [],
  });
  const { matched, older, submissions, failed, opened } = changes;
  const [, tradesBefore] = await Promise.all([
    submissions.length > 0 ? query(WRITE_SUBMISSIONS, submissionColumns(submissions)) : undefined, settleOlder(older, query),
    addMarkets(opened, query),
  ]);
  await writeMessages(messagesOf(changes, tradesBefore), query);
  const made = [...matched.values()];
  const traded: CountedTrade[] = made.map(({ event, at }) => ({ ...event, at, count: 1 }));
  const failedOlder: TimedTrade[] = [];
  for (const event of failed) {
    const at = matched.get(event.fill)?.at ?? tradesBefore.get(event.fill)?.at;
    if (at === undefined) throw settledTwice(event.fill);
    traded.push({ ...event, at, count: -1 });
    if (!matched.has(event.fill)) failedOlder.push({ event, at });
  }
  if (traded.length === 0) return;
  await Promise.all([
    writeVolumes(traded, query), made.length > 0 ? query(WRITE_TRADES, tradeColumns(made)) : undefined,
    candles.write(made.filter(({ settlement }) => settlement.settlement !== FAILED), query), candles.remake(failedOlder, query),
  ]);
}

/** Replaces a trade's settlement. A submission does not replace a final settlement; a second final settlement is a contradiction. */
function settle({ matched, older, settling }: Changes, fill: number, settlement: Settlement, position: number): void {
  const trade = matched.get(fill);
  const before = trade?.settlement ?? older.get(fill) ?? UNSETTLED;
  if (before.settlement >= CONFIRMED) {
    if (settlement.settlement === PENDING) return;
    throw settledTwice(fill);
  }
  settling.push({ fill, position });
  if (trade === undefined) older.set(fill, settlement);
  else trade.settlement = settlement;
}

/** A trade of an earlier batch that was unsettled before this one. */
interface Before {
  readonly at: number;
  readonly marketId: string;
}

/**
 * Writes the settlements of trades of earlier batches; returns those that were unsettled, by fill number. A submission may name fills that
 * another transaction has settled or failed, or fills that were never matched: they do not change.
 */
async function settleOlder(older: ReadonlyMap<number, Settlement>, query: Query): Promise<Map<number, Before>> {
  if (older.size === 0) return new Map();
  const columns = [int8Array([...older.keys()]), ...settlementColumns([...older.values()])];
  const rows = await query<[string, string, string]>(SETTLE_TRADES, columns);
  const unsettled = new Map(rows.map(([number, at, marketId]) => [Number(number), { at: Number(at), marketId }]));
  for (const [fill, { settlement }] of older) {
    if (settlement !== PENDING && !unsettled.has(fill)) throw settledTwice(fill);
  }
  return unsettled;
}

/** The positions of the batch at which something happened to a market's fills, but for those at which their takers were placed. */
function messagesOf({ matched, settling }: Changes, before: ReadonlyMap<number, Before>): Map<string, ChannelMessage[]> {
  const byMarket = new Map<string, Set<number>>();
  const note = (marketId: string, position: number): void => {
    const positions = byMarket.get(marketId);
    if (positions === undefined) byMarket.set(marketId, new Set([position])); else positions.add(position);
  };
  for (const { event, position } of matched.values()) if (event.takerNumber !== position) note(event.marketId, position);
  for (const { fill, position } of settling) {
    // A fill that was final before the batch, or that was never matched, is not among them.
    const marketId = matched.get(fill)?.event.marketId ?? before.get(fill)?.marketId;
    if (marketId !== undefined) note(marketId, position);
  }
  const inOrder = (positions: Iterable<number>) => [...positions].sort((a, b) => a - b).map((position) => ({ place: position, at: position }));
  return new Map([...byMarket].map(([marketId, positions]) => [marketId, inOrder(positions)]));
}

function settledTwice(fill: number): Error {
  return new InconsistentOutcomes(`fill ${fill} settles or fails, but was never matched, or is already settled or failed`);
}

function submissionColumns(submissions: readonly Submission[]): unknown[] {
  const rows = submissions.flatMap(({ event: { txHash, fills }, position, at }) => fills.map((fill) => ({ txHash, fill, position, at })));
  return [
    byteaArray(rows.map(({ txHash }) => txHash)),
    int8Array(rows.map(({ fill }) => fill)),
    int8Array(rows.map(({ position }) => position)),
    int8Array(rows.map(({ at }) => at)),
  ];
}

function tradeColumns(rows: readonly Trade[]): unknown[] {
  return [
    int8Array(rows.map(({ event }) => event.fill)),
    byteaArray(rows.map(({ event }) => event.marketId)),
    int2Array(rows.map(({ event }) => event.outcome)),
    int4Array(rows.map(({ event }) => event.price)),
    numericArray(rows.map(({ event }) => event.size)),
    numericArray(rows.map(({ event }) => event.cost)),
    int2Array(rows.map(({ event }) => event.takerSide)),
    int8Array(rows.map(({ event }) => event.makerNumber)),
    int8Array(rows.map(({ event }) => event.takerNumber)),
    byteaArray(rows.map(({ event }) => event.buyer)),
    byteaArray(rows.map(({ event }) => event.seller)),
    int8Array(rows.map(({ position }) => position)),
    int8Array(rows.map(({ at }) => at)),
    ...settlementColumns(rows.map(({ settlement }) => settlement)),
  ];
}

function settlementColumns(rows: readonly Settlement[]): unknown[] {
  return [
    int2Array(rows.map(({ settlement }) => settlement)),
    byteaArray(rows.map(({ txHash }) => txHash)),
    int8Array(rows.map(({ position }) => position)),
    int8Array(rows.map(({ at }) => at)),
    textArray(rows.map(({ reason }) => reason)),
  ];
}
