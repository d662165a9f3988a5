/** The `orders` projection: every order with its remaining size, and the book levels of the resting orders, now and in the past. */
import type {
  FillFailed, FillMatched, FillSettled, MarketOpened, OrderAccepted, OrderCancelled, OrderReduced, OrderReinstated,
} from '../../engine/records/events.js';
import { byteaArray, int2Array, int4Array, int8Array, numericArray, rowsFrom, textArray } from '../columns.js';
import { messageTables, startMessages, type WriteMessages } from './message-blocks.js';
import { LEVEL_EVENTS, LEVEL_TABLES, startLevels } from './order-levels.js';
import { collectMessages, type OrderMessages } from './order-messages.js';
import {
  foldEvents, handledBy, InconsistentOutcomes, remember, type FoldedOutcome, type Handlers, type Projection, type Query, type Remembered,
} from '../projection.js';

/**
 * `status`: 0 open, 1 filled, 2 cancelled. `number` is the log position of the order's PlaceOrder. `size` is as signed, or as reduced since:
 * `reductions` has what an order was reduced to, and by how much. `chain_id` is null for a market that was never opened. No index of `orders` has a
 * column that changes, and each page has free space, so that the update of an order stays in its row's page and writes no index: what is open is in
 * the narrow table `open_orders`. Open orders are not counted here, since every order would pay for it; a trader has no more than MAX_OPEN_ORDERS of
 * them. The index by hash begins with a bucket of 2^20 positions, so that new entries fall into one part of it, which stays in memory; an order is
 * looked for bucket by bucket. The engine keeps hashes unique. Five bytes of the hash make a narrow entry, and are too many to look for hashes that
 * begin alike. `order_messages` has each position at which something happened to one of the trader's orders, but for those that other tables have:
 * `open_orders` where an open order was placed, which is added when the order closes, and `trades` where a taker was placed and met the trader's
 * orders.
 */
const TABLES = [`
create table orders (
  number bigint primary key,
  order_hash bytea not null,
  market_id bytea not null,
  trader bytea not null,
  side smallint not null,
  outcome smallint not null,
  price integer not null,
  size numeric(20) not null,
  remaining numeric(20) not null,
  nonce numeric(20) not null,
  expiration numeric(20) not null,
  status smallint not null,
  placed_at_ms bigint not null,
  closed_at_ms bigint,
  closed_position bigint,
  close_reason text,
  chain_id bigint
) with (fillfactor = 80)`, `
create index orders_by_hash on orders ((number >> 20 << 40 | ('x' || encode(substr(order_hash, 1, 5), 'hex'))::bit(40)::bigint))`, `
create table open_orders (
  trader bytea not null,
  number bigint not null,
  chain_id bigint,
  primary key (trader, number)
)`, `
create table reductions (
  order_number bigint not null,
  position bigint not null,
  size numeric(20) not null,
  reduced numeric(20) not null,
  at_ms bigint not null,
  primary key (order_number, position)
)`, `
create table order_markets (
  market_id bytea primary key,
  chain_id bigint not null
)`, ...messageTables('order', 'trader'), ...LEVEL_TABLES];

const LOAD_ORDERS = {
  name: 'load_orders',
  text: `
    select number, '0x' || encode(trader, 'hex'), remaining, status, closed_at_ms, closed_position, close_reason
    from orders where number = any ($1::bigint[])`,
};

const ADD_MARKETS = {
  name: 'add_order_markets',
  text: 'insert into order_markets (market_id, chain_id) select * from unnest($1::bytea[], $2::bigint[])',
};

const LOAD_CHAINS = {
  name: 'load_order_chains',
  text: `select '0x' || encode(market_id, 'hex'), chain_id from order_markets where market_id = any($1::bytea[])`,
};

/**
 * Writes new orders and the changed fields of older ones, and what is open now and was not, or was and is not any more. One statement, because each
 * statement costs a round trip.
 */
const WRITE_ORDERS = {
  name: 'write_orders',
  text: `
    with changed as (
      update orders set remaining = now.remaining, status = now.status, closed_at_ms = now.closed_at_ms,
        closed_position = now.closed_position, close_reason = now.close_reason
      from ${rowsFrom(18, 'number bigint, remaining numeric, status smallint, closed_at_ms bigint, closed_position bigint, close_reason text')} now
      where orders.number = now.number
    ), closed as (
      delete from open_orders using ${rowsFrom(24, 'trader bytea, number bigint')} over
      where open_orders.trader = over.trader and open_orders.number = over.number
    ), made as (
      insert into orders (number, order_hash, market_id, trader, side, outcome, price, size, nonce, expiration, placed_at_ms, chain_id,
        remaining, status, closed_at_ms, closed_position, close_reason)
      ${rowsFrom(1, `number bigint, order_hash bytea, market_id bytea, trader bytea, side smallint, outcome smallint, price integer,
        size numeric, nonce numeric, expiration numeric, placed_at_ms bigint, chain_id bigint, remaining numeric, status smallint,
        closed_at_ms bigint, closed_position bigint, close_reason text`)}
      returning trader, number, chain_id, status
    )
    insert into open_orders (trader, number, chain_id)
    select trader, number, chain_id from made where status = 0
    union all select trader, number, chain_id from orders where number = any($26::bigint[])`,
};

/** Writes reductions, and the new sizes of their orders. Few batches have any. */
const WRITE_REDUCTIONS = {
  name: 'write_reductions',
  text: `
    with past as (
      insert into reductions (order_number, position, size, reduced, at_ms)
      select * from unnest($1::bigint[], $2::bigint[], $3::numeric[], $4::numeric[], $5::bigint[])
      returning order_number, position, size
    )
    update orders set size = latest.size
    from (select distinct on (order_number) order_number, size from past order by order_number, position desc) latest
    where orders.number = latest.order_number`,
};

/** The number of open orders remembered between batches. Closed orders rarely change again. */
const REMEMBERED = 100_000;
/** The number of markets whose chains are remembered. */
const REMEMBERED_MARKETS = 10_000;

const OPEN = 0;
const FILLED = 1;
const CANCELLED = 2;

/** An order's trader, and the fields of its row that can change. */
interface OrderState {
  readonly trader: string;
  remaining: bigint;
  status: number;
  closedAt: number | null;
  closedPosition: number | null;
  closeReason: string | null;
}

interface NewOrder {
  readonly event: OrderAccepted;
  readonly position: number;
  readonly at: number;
}

/** An event that changes an existing order. */
type Step = FillMatched | FillFailed | OrderCancelled | OrderReduced | OrderReinstated;

/** A batch's changes: the accepted orders, the numbers of older orders that change, and the steps in order. */
interface Changes {
  readonly accepted: Map<number, NewOrder>;
  readonly older: Set<number>;
  readonly steps: { readonly event: Step | FillSettled; readonly outcome: FoldedOutcome }[];
  readonly opened: MarketOpened[];
}

const ORDER_EVENTS: Handlers<Changes> = {
  MarketOpened: ({ opened }, event) => { opened.push(event); },
  OrderAccepted: ({ accepted }, event, { position, at }) => { accepted.set(event.orderNumber, { event, position, at }); },
  FillMatched: changeBoth, FillFailed: changeBoth,
  OrderCancelled: changeOne, OrderReduced: changeOne, OrderReinstated: changeOne,
  FillSettled: ({ steps }, event, outcome) => { steps.push({ event, outcome }); },
};

/** What is remembered between batches. */
interface Memory {
  readonly open: Remembered<number, OrderState>;
  /** The chain of each market. */
  readonly chains: Remembered<string, bigint>;
  readonly writeMessages: WriteMessages;
}

export const orders: Projection = {
  name: 'orders', version: 12, tables: TABLES, handles: handledBy(ORDER_EVENTS, LEVEL_EVENTS),
  start: () => {
    const memory: Memory = { open: remember(REMEMBERED), chains: remember(REMEMBERED_MARKETS), writeMessages: startMessages('order', 'trader') };
    const foldLevels = startLevels();
    return async (batch, query) => {
      await Promise.all([foldOrders(batch, query, memory), foldLevels(batch, query)]);
    };
  },
};

function changeBoth(changes: Changes, event: FillMatched | FillFailed, outcome: FoldedOutcome): void {
  touch(changes, event.makerNumber);
  touch(changes, event.takerNumber);
  changes.steps.push({ event, outcome });
}

function changeOne(changes: Changes, event: OrderCancelled | OrderReduced | OrderReinstated, outcome: FoldedOutcome): void {
  touch(changes, event.orderNumber);
  changes.steps.push({ event, outcome });
}

function touch({ accepted, older }: Changes, number: number): void {
  if (!accepted.has(number)) older.add(number);
}

async function foldOrders(batch: readonly FoldedOutcome[], query: Query, { open, chains, writeMessages }: Memory): Promise<void> {
  const changes: Changes = { accepted: new Map(), older: new Set(), steps: [], opened: [] };
  const { accepted, older, steps, opened } = foldEvents(ORDER_EVENTS, batch, changes);
  if (opened.length > 0) {
    await query(ADD_MARKETS, [byteaArray(opened.map(({ marketId }) => marketId)), int8Array(opened.map(({ chainId }) => chainId))]);
  }
  const made = [...accepted.values()];
  const changed = [...older];
  const [states] = await Promise.all([statesOf(changed, open, query), loadChains(made, chains, query)]);
  const before = new Map(changed.map((number) => [number, stateOf(states, number).status]));
  for (const { event } of made) states.set(event.orderNumber, openWith(event.trader, BigInt(event.size)));
  const messages = collectMessages((trader, position) => accepted.get(position)?.event.trader === trader);
  for (const { event, outcome } of steps) {
    if (event.type === 'FillSettled') messages.add([event.buyer, event.seller], outcome.position);
    else applyAndNote({ event, outcome, states, messages });
  }
  await Promise.all([writeMessages(messages.byTrader, query), writeChanged({ made, changed, before }, { states, chains, query })]);
  await writeReductions(steps, query);
  for (const [number, state] of states) {
    if (state.status === OPEN) open.set(number, state);
    else open.delete(number);
  }
}

/** Writes the batch's orders: new ones, and older ones that it changes, with their statuses before it. */
async function writeChanged(
  { made, changed, before }: {
    readonly made: readonly NewOrder[]; readonly changed: readonly number[]; readonly before: ReadonlyMap<number, number>;
  },
  { states, chains, query }: { readonly states: ReadonlyMap<number, OrderState>; readonly chains: Memory['chains']; readonly query: Query },
): Promise<void> {
  if (made.length === 0 && changed.length === 0) return;
  const later = changed.map((number) => ({ number, ...stateOf(states, number) }));
  const closed = later.filter(({ number, status }) => before.get(number) === OPEN && status !== OPEN);
  const reopened = later.filter(({ number, status }) => before.get(number) !== OPEN && status === OPEN);
  await query(WRITE_ORDERS, [
    ...newColumns(made, states, chains), int8Array(changed), ...stateColumns(later),
    byteaArray(closed.map(({ trader }) => trader)), int8Array(closed.map(({ number }) => number)), int8Array(reopened.map(({ number }) => number)),
  ]);
}

/** Applies a step, and notes its messages, but for the fills of a taker where it was placed: of them, `trades` knows. */
function applyAndNote({ event, outcome, states, messages }: {
  readonly event: Step; readonly outcome: FoldedOutcome; readonly states: ReadonlyMap<number, OrderState>; readonly messages: OrderMessages;
}): void {
  const { position } = outcome;
  const isOfTaker = event.type === 'FillMatched' && event.takerNumber === position;
  const touched = 'buyer' in event ? [event.makerNumber, event.takerNumber] : [event.orderNumber];
  const open = touched.filter((number) => stateOf(states, number).status === OPEN);
  if (!isOfTaker) messages.add('buyer' in event ? [event.buyer, event.seller] : touched.map((number) => stateOf(states, number).trader), position);
  apply(event, outcome, states);
  for (const number of open) {
    const { status, trader } = stateOf(states, number);
    if (status !== OPEN && !(isOfTaker && number === position)) messages.addPlaced(trader, number, position);
  }
}

/** Remembers the chains of these orders' markets, as far as they were ever opened. */
async function loadChains(made: readonly NewOrder[], chains: Remembered<string, bigint>, query: Query): Promise<void> {
  const unknown = new Set(made.map(({ event }) => event.marketId).filter((marketId) => !chains.has(marketId)));
  if (unknown.size === 0) return;
  for (const [marketId, chainId] of await query<[string, string]>(LOAD_CHAINS, [byteaArray([...unknown])])) chains.set(marketId, BigInt(chainId));
}

async function writeReductions(steps: Changes['steps'], query: Query): Promise<void> {
  const reductions = steps.flatMap(({ event, outcome }) => event.type === 'OrderReduced' ? [{ event, outcome }] : []);
  if (reductions.length === 0) return;
  await query(WRITE_REDUCTIONS, [
    int8Array(reductions.map(({ event }) => event.orderNumber)), int8Array(reductions.map(({ outcome }) => outcome.position)),
    numericArray(reductions.map(({ event }) => event.size)), numericArray(reductions.map(({ event }) => event.reduced)),
    int8Array(reductions.map(({ outcome }) => outcome.at)),
  ]);
}

function newColumns(rows: readonly NewOrder[], states: ReadonlyMap<number, OrderState>, chains: Memory['chains']): unknown[] {
  return [
    int8Array(rows.map(({ event }) => event.orderNumber)),
    byteaArray(rows.map(({ event }) => event.orderHash)),
    byteaArray(rows.map(({ event }) => event.marketId)),
    byteaArray(rows.map(({ event }) => event.trader)),
    int2Array(rows.map(({ event }) => event.side)),
    int2Array(rows.map(({ event }) => event.outcome)),
    int4Array(rows.map(({ event }) => event.price)),
    numericArray(rows.map(({ event }) => event.size)),
    numericArray(rows.map(({ event }) => event.nonce)),
    numericArray(rows.map(({ event }) => event.expiration)),
    int8Array(rows.map(({ at }) => at)),
    int8Array(rows.map(({ event }) => numberOf(chains.get(event.marketId)))),
    ...stateColumns(rows.map(({ event }) => stateOf(states, event.orderNumber))),
  ];
}

/** The states of these orders before the batch, by order number. */
async function statesOf(numbers: readonly number[], open: Remembered<number, OrderState>, query: Query): Promise<Map<number, OrderState>> {
  const states = new Map<number, OrderState>();
  const unknown: number[] = [];
  for (const number of numbers) {
    const state = open.get(number);
    if (state === undefined) unknown.push(number);
    else states.set(number, state);
  }
  if (unknown.length === 0) return states;
  type Row = [string, string, string, number, string | null, string | null, string | null];
  const rows = await query<Row>(LOAD_ORDERS, [int8Array(unknown)]);
  for (const [number, trader, remaining, status, closedAt, closedPosition, closeReason] of rows) {
    states.set(Number(number), {
      trader, remaining: BigInt(remaining), status, closeReason, closedAt: numberOf(closedAt), closedPosition: numberOf(closedPosition),
    });
  }
  for (const number of unknown) stateOf(states, number);
  return states;
}

function numberOf(value: string | bigint | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function stateOf(states: ReadonlyMap<number, OrderState>, number: number): OrderState {
  const state = states.get(number);
  if (state === undefined) throw new InconsistentOutcomes(`order ${number} changes, but was never accepted`);
  return state;
}

function apply(event: Step, { position, at }: FoldedOutcome, states: ReadonlyMap<number, OrderState>): void {
  switch (event.type) {
    case 'FillMatched': {
      const size = BigInt(event.size);
      for (const number of [event.makerNumber, event.takerNumber]) {
        const state = stateOf(states, number);
        state.remaining -= size;
        if (state.remaining < 0n) throw new InconsistentOutcomes(`order ${number} trades more than its remaining size`);
        if (state.remaining === 0n) close(state, FILLED, { position, at, reason: null });
      }
      break;
    }
    case 'FillFailed': {
      const size = BigInt(event.size);
      stateOf(states, event.makerNumber).remaining += size;
      stateOf(states, event.takerNumber).remaining += size;
      break;
    }
    case 'OrderCancelled': {
      const state = stateOf(states, event.orderNumber);
      state.remaining = BigInt(event.remaining);
      close(state, CANCELLED, { position, at, reason: event.reason });
      break;
    }
    case 'OrderReduced': {
      stateOf(states, event.orderNumber).remaining = BigInt(event.remaining);
      break;
    }
    case 'OrderReinstated': {
      const state = stateOf(states, event.orderNumber);
      Object.assign(state, openWith(state.trader, state.remaining));
      break;
    }
  }
}

function openWith(trader: string, remaining: bigint): OrderState {
  return { trader, remaining, status: OPEN, closedAt: null, closedPosition: null, closeReason: null };
}

function close(state: OrderState, status: number, by: { position: number; at: number; reason: string | null }): void {
  state.status = status;
  state.closedAt = by.at;
  state.closedPosition = by.position;
  state.closeReason = by.reason;
}

function stateColumns(states: readonly OrderState[]): unknown[] {
  return [
    numericArray(states.map(({ remaining }) => remaining)),
    int2Array(states.map(({ status }) => status)),
    int8Array(states.map(({ closedAt }) => closedAt)),
    int8Array(states.map(({ closedPosition }) => closedPosition)),
    textArray(states.map(({ closeReason }) => closeReason)),
  ];
}
