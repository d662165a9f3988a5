/** The positions of the `orders` projection at which the streams have messages about a trader's orders. */
import { byteaArray, int8Array, rowsFrom } from '../columns.js';
import type { Query } from '../projection.js';

/**
 * Each position at which something happened to one of the trader's orders, but for those that other tables have:
 * `open_orders` where an open order was placed, and `trades` where a taker was placed and met the trader's orders. So an
 * order that rests costs no row here, and no index of `orders` by trader.
 */
export const ORDER_MESSAGES = `
create table order_messages (
  trader bytea not null,
  position bigint not null,
  primary key (trader, position)
)`;

const ADD = {
  name: 'write_order_messages', text: `insert into order_messages (trader, position) ${rowsFrom(1, 'trader bytea, position bigint')}`,
};

const REMOVE = {
  name: 'remove_order_messages',
  text: `
    delete from order_messages using ${rowsFrom(1, 'trader bytea, position bigint')} gone
    where order_messages.trader = gone.trader and order_messages.position = gone.position`,
};

/** A row; `number` is the position, which for an order that was placed there is its number. */
export interface OrderMessage {
  readonly trader: string;
  readonly number: number;
}

export async function writeOrderMessages(
  { added, removed }: Readonly<Record<'added' | 'removed', readonly OrderMessage[]>>, query: Query,
): Promise<void> {
  // Postgres runs them in this order.
  await Promise.all([
    removed.length === 0 ? undefined : query(REMOVE, columns(removed)),
    added.length === 0 ? undefined : query(ADD, columns(added)),
  ]);
}

function columns(rows: readonly OrderMessage[]): unknown[] {
  return [byteaArray(rows.map(({ trader }) => trader)), int8Array(rows.map(({ number }) => number))];
}
