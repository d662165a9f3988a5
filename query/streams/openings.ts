/** How a channel goes on after any position: the state at it, and the position of the channel's last message, from the read models. */
import { priceMessage, type Learnt, type Opening, type Unknown } from './channels.js';
import type { Channel } from './channel.js';
import type { OrderState } from './own-orders.js';
import { soleRow } from '../../engine/log/postgres/connection.js';
import { pastBook } from '../orders/past-book.js';
import { mustBeKept } from '../kept-history.js';
import { bytes, hex, tradesOf, type RowSource, type Statement } from '../statement.js';

/** What one reads from; the read models must include the position. */
export interface At {
  readonly db: RowSource;
  readonly position: number;
}

/**
 * SQL, `select position`: up to the position $2, of the channel's last fill that matched when its taker was placed. Their numbers grow with
 * the positions, which are the takers' numbers, so an index finds the first number after the position.
 */
const lastFill = (column: 'market_id' | 'buyer' | 'seller') => `
  select position from trades where ${tradesOf(column, '$1')} and position = taker_number and number < coalesce((
      select min(number) from trades where position = taker_number and taker_number = (
        select taker_number from trades where taker_number > $2::bigint and position = taker_number order by taker_number limit 1)
    ), ${Number.MAX_SAFE_INTEGER})
  order by number desc limit 1`;

/**
 * SQL: up to the position $2, of the last message that the tables of this name have for the channel $1. Up to there, all of a block's positions are
 * below that at which it was full. A later block may have older positions, too; so much of the log has to be read anyway.
 */
const lastNoted = (name: string, channel: string) => `
  greatest((select max(position) from ${name}_messages where ${channel} = $1::bytea and position <= $2::bigint),
    (select max(place) from ${name}_messages cross join lateral unnest(positions) place
      where ${channel} = $1::bytea and position > $2::bigint and place <= $2::bigint),
    (select max(place) from recent_${name}_messages cross join lateral unnest(positions) place where ${channel} = $1::bytea and place <= $2::bigint))`;

/** SQL: the position of the last message of the channel $1 that is removed: of those messages, it is the only one that a kept one can follow. */
const REMOVED = '(select position from message_ends where channel = $1::bytea)';

/** `$1` is the market, `$2` the position. */
const TRADES: Statement = { name: 'stream_trades', text: `
  select greatest(-1, ${lastNoted('trade', 'market_id')},
      (${lastFill('market_id')}), ${REMOVED}) as last,
    coalesce((
      select json_agg(trades.number) from unsettled_trades unsettled join trades on trades.number = unsettled.number
      where unsettled.market_id = $1::bytea and trades.position <= $2::bigint), '[]') as fills` };

/**
 * SQL: an order as it was after the position $2, for an order that was placed up to there; `orders` is `o`. It is taken back from how the order is
 * now, by what has happened to it since: fills that were over before may be removed.
 */
const STATE = `
  o.number, ${hex('o.order_hash')} as hash, ${hex('o.trader')} as trader, (o.remaining + later.reduced + fills.filled - fills.failed)::text as remaining,
  o.status = 2 and o.closed_position <= $2::bigint as cancelled, fills.unsettled::integer as unsettled`;

const STATE_FROM = `
  orders o cross join lateral (
    select coalesce(sum(reduced), 0) as reduced from reductions where order_number = o.number and position > $2::bigint
  ) later cross join lateral (
    select coalesce(sum(size) filter (where position > $2::bigint and settlement <> 3), 0) as filled,
      coalesce(sum(size) filter (where position <= $2::bigint and settlement = 3), 0) as failed,
      count(*) filter (where position <= $2::bigint) as unsettled
    from (
      select size, position, settlement, settled_position from trades where maker_number = o.number
      union all
      select size, position, settlement, settled_position from trades where taker_number = o.number) fill
    where settled_position is null or settled_position > $2::bigint
  ) fills`;

/** The trader's orders to which something can happen now, and so could at the position: those that are open or have unsettled fills. */
const ORDERS: Statement = { name: 'stream_orders', text: `
  with alive as (
    select number from open_orders where trader = $1::bytea
    union
    select case when (taker_side = 0) = (buyer = $1::bytea) then taker_number else maker_number end
    from trades where number in (select number from unsettled_trades where buyer = $1::bytea or seller = $1::bytea)
  )
  select greatest(-1, ${lastNoted('order', 'trader')},
      (select max(number) from open_orders where trader = $1::bytea and number <= $2::bigint),
      (${lastFill('buyer')}), (${lastFill('seller')}), ${REMOVED}) as last,
    coalesce((
      select json_agg(state) from (
        select ${STATE} from ${STATE_FROM} where o.number in (select number from alive) and o.number <= $2::bigint) state), '[]') as orders` };

const LEARN_ORDERS: Statement = { name: 'stream_learn_orders', text: `
  select ${STATE} from ${STATE_FROM}
  where o.number = any($1::bigint[]) and o.number <= $2::bigint and o.trader = any($3::bytea[])` };

const LEARN_FILLS: Statement = { name: 'stream_learn_fills', text: `
  select number, ${hex('market_id')} as market from trades
  where number = any($1::bigint[]) and position <= $2::bigint and (settled_position is null or settled_position > $2::bigint)` };

/** The last two prices, of which the first one is told to who begins here, if it is kept. */
const PRICES: Statement = { name: 'stream_prices', text: `
  select message.position, message.published_at_ms, message.at_ms, kept.price, kept.source
  from price_messages message left join prices kept on kept.position = message.position
  where message.asset = $1 and message.position <= $2::bigint order by message.position desc limit 2` };

const MARKETS: Statement = {
  name: 'stream_markets', text: 'select coalesce(max(position), -1) as last from market_messages where position <= $1::bigint',
};

/** The opening of the channel at the position. */
export async function openingAt(at: At, channel: Channel): Promise<Opening> {
  switch (channel.kind) {
    case 'book': {
      const { last, at: time, levels } = await pastBook(at.db, channel.marketId, at.position);
      return { kind: 'book', last, at: time, levels };
    }
    case 'trades': {
      const { last, fills } = await sole<{ last: string; fills: number[] }>(at, TRADES, [bytes(channel.marketId), at.position]);
      return { kind: 'trades', last: Number(last), fills };
    }
    case 'orders': {
      const { last, orders } = await sole<{ last: string; orders: OrderRow[] }>(at, ORDERS, [bytes(channel.trader), at.position]);
      return { kind: 'orders', last: Number(last), orders: orders.map(stateOf) };
    }
    case 'prices': return pricesAt(at, channel);
    case 'markets': return { kind: 'markets', last: Number((await sole<{ last: string }>(at, MARKETS, [at.position])).last) };
  }
}

async function sole<Row>({ db }: At, statement: Statement, values: readonly unknown[]): Promise<Row> {
  return soleRow(await db.rows<Row>(statement, values));
}

async function pricesAt({ db, position }: At, { asset, name }: Channel & { kind: 'prices' }): Promise<Opening> {
  type Row = { position: string; published_at_ms: string; at_ms: string; price: string | null; source: string | null };
  const [newest, before] = await db.rows<Row>(PRICES, [asset, position]);
  if (newest === undefined) return { kind: 'prices', last: -1, publishedAt: -1, newest: undefined };
  const [last, publishedAt] = [Number(newest.position), Number(newest.published_at_ms)];
  const { price, source } = newest;
  return {
    kind: 'prices', last, publishedAt,
    newest: price === null || source === null
      ? undefined
      : priceMessage(
          { name, last: Number(before?.position ?? -1) }, { position: last, at: Number(newest.at_ms) }, { asset, price, publishedAt, source }),
  };
}

interface OrderRow {
  readonly number: number | string;
  readonly hash: string;
  readonly trader: string;
  readonly remaining: string;
  readonly cancelled: boolean;
  readonly unsettled: number;
}

function stateOf({ number, remaining, ...rest }: OrderRow): OrderState {
  return { ...rest, number: Number(number), remaining: BigInt(remaining) };
}

/** What is found of the unknown, as it was after the position; orders of other traders are left out. Throws RequestError `history_removed`. */
export async function learnAt({ db, position }: At, { orders, fills }: Unknown, traders: readonly string[]): Promise<Learnt> {
  const [known, markets] = await Promise.all([
    orders.length === 0 ? [] : db.rows<OrderRow>(LEARN_ORDERS, [orders, position, traders.map(bytes)]),
    fills.length === 0 ? [] : db.rows<{ number: string; market: string }>(LEARN_FILLS, [fills, position]),
  ]);
  await mustBeKept(db, position);
  return {
    orders: known.map(stateOf), fills: markets.map(({ number, market }) => ({ fill: Number(number), marketId: market })),
  };
}
