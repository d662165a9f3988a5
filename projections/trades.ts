/** The `trades` projection: every fill with its settlement, and the volumes of those that have not failed. */
import type { FillFailed, FillMatched, FillSettled } from '../engine/events.js';
import { byteaArray, int2Array, int4Array, int8Array, numericArray, textArray } from './columns.js';
import { InconsistentHistory, type FoldedOutcome, type Projection, type Query } from './projection.js';
import { tradeTables } from './tables.js';
import { addVolumes, volumeColumns, type Traded } from './volumes.js';

/** `settlement`; 1, pending, comes with the settlement worker. */
const MATCHED = 0;
const CONFIRMED = 2;
const FAILED = 3;

/** New trades, and the volumes. */
const WRITE_TRADES = {
  name: 'write_trades',
  text: `
    with ${addVolumes(19)}
    insert into trades (number, market_id, outcome, price, size, cost, taker_side, maker_number, taker_number, buyer, seller,
      position, at_ms, settlement, tx_hash, settled_position, settled_at_ms, failure_reason)
    select * from unnest($1::bigint[], $2::bytea[], $3::smallint[], $4::integer[], $5::numeric[], $6::numeric[], $7::smallint[],
      $8::bigint[], $9::bigint[], $10::bytea[], $11::bytea[], $12::bigint[], $13::bigint[], $14::smallint[], $15::bytea[],
      $16::bigint[], $17::bigint[], $18::text[])`,
};

/** Returns when each trade was made: a failed one leaves the minute that it was counted in. */
const SETTLE_TRADES = {
  name: 'settle_trades',
  text: `
    update trades set settlement = now.settlement, tx_hash = now.tx_hash, settled_position = now.settled_position,
      settled_at_ms = now.settled_at_ms, failure_reason = now.failure_reason
    from unnest($1::bigint[], $2::smallint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::text[])
      as now (number, settlement, tx_hash, settled_position, settled_at_ms, failure_reason)
    where trades.number = now.number and trades.settlement < ${CONFIRMED}
    returning trades.number, trades.at_ms`,
};

export const trades: Projection = { name: 'trades', version: 2, tables: tradeTables, start: () => fold };

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

const UNSETTLED: Settlement = { settlement: MATCHED, txHash: null, position: null, at: null, reason: null };

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const matched = new Map<number, Trade>();
  const settled = new Map<number, Settlement>();
  const traded: Traded[] = [];
  const failed: FillFailed[] = [];
  const settle = (fill: number, settlement: Settlement) => {
    const trade = matched.get(fill);
    if (settled.has(fill) || (trade !== undefined && trade.settlement !== UNSETTLED)) throw settledTwice(fill);
    if (trade === undefined) settled.set(fill, settlement);
    else trade.settlement = settlement;
  };
  for (const { position, at, events } of batch) {
    for (const event of events) {
      switch (event.type) {
        case 'FillMatched':
          matched.set(event.fill, { event, position, at, settlement: UNSETTLED });
          traded.push({ marketId: event.marketId, at, cost: BigInt(event.cost), count: 1 });
          break;
        case 'FillSettled': case 'FillFailed':
          settle(event.fill, settlementOf(event, position, at));
          if (event.type === 'FillFailed') failed.push(event);
          break;
        case 'MarketOpened': case 'MarketClosed': case 'OrderAccepted': case 'OrderRested': case 'OrderCancelled':
        case 'OrderReinstated': case 'OrderRepeated': case 'CancelRepeated': case 'CommandRejected':
        case 'MarketTokenized': case 'MarketResolved': case 'NonceFloorRaised': case 'SettlementSubmitted': case 'SharesTransferred':
        case 'PositionRedeemed': case 'PositionSynced': case 'ResolutionProposed': case 'ResolutionDisputed': case 'ResolutionRejected':
        case 'ChainAdvanced':
          break;
      }
    }
  }
  const madeAt = await settleOlder(settled, query);
  for (const { fill, marketId, cost } of failed) {
    traded.push({ marketId, at: matched.get(fill)?.at ?? madeAt.get(fill)!, cost: -BigInt(cost), count: -1 });
  }
  if (traded.length > 0) await query(WRITE_TRADES, [...tradeColumns([...matched.values()]), ...volumeColumns(traded)]);
}

function settlementOf(event: FillSettled | FillFailed, position: number, at: number): Settlement {
  const failed = event.type === 'FillFailed';
  return { settlement: failed ? FAILED : CONFIRMED, txHash: event.txHash, position, at, reason: failed ? event.reason : null };
}

/** Writes the settlement of trades of earlier batches; returns when they were made, by number. */
async function settleOlder(settled: ReadonlyMap<number, Settlement>, query: Query): Promise<Map<number, number>> {
  if (settled.size === 0) return new Map();
  const columns = [int8Array([...settled.keys()]), ...settlementColumns([...settled.values()])];
  const rows = await query<[string, string]>(SETTLE_TRADES, columns);
  const madeAt = new Map(rows.map(([number, at]) => [Number(number), Number(at)]));
  for (const fill of settled.keys()) {
    if (!madeAt.has(fill)) throw settledTwice(fill);
  }
  return madeAt;
}

function settledTwice(fill: number): Error {
  return new InconsistentHistory(`fill ${fill} settles or fails, and was never matched or has settled or failed already`);
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
