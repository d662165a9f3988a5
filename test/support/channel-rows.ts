/** The tables that say where the channels of the streams have messages, made from the messages themselves. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import { channelsOf } from '../../query/streams/channel.js';
import { createChannels, emptyOpening } from '../../query/streams/channels.js';
import type { Rows } from './projected.js';

/** The rows in the order of `readTables`; `isOpen` says whether the order of this number is open after all of the outcomes. */
export function channelRows(outcomes: readonly CommandOutcome[], isOpen: (number: number) => boolean): Rows {
  const fold = createChannels();
  for (const channel of channelsOf(namesIn(outcomes))) fold.add(channel, emptyOpening(channel));
  const rows = new Map<string, { readonly table: string; readonly row: Record<string, unknown> }>();
  const placed: { readonly name: string; readonly number: number }[] = [];
  for (const [n, outcome] of outcomes.entries()) {
    for (const { channel, text } of fold.fold(n, outcome).map((message) => ({ channel: message.channel, text: message.json(false) }))) {
      const [kind = '', key] = channel.split(':');
      const position = String(n);
      switch (kind) {
        case 'orders': {
          const { type, fill } = JSON.parse(text) as Message;
          if (type === 'accepted') placed.push({ name: `${channel},${n})`, number: n });
          if (type !== 'filled' || !isOfTaker(outcome, n, fill)) rows.set(`${channel},${n})`, { table: 'order_messages', row: { trader: key, position } });
          break;
        }
        case 'trades': {
          const { type, fill } = JSON.parse(text) as Message;
          if (type !== 'trade' || !isOfTaker(outcome, n, fill)) rows.set(`${channel},${n})`, { table: 'trade_messages', row: { market_id: key, position } });
          break;
        }
        case 'markets': rows.set(`${channel},${n})`, { table: 'market_messages', row: { position } }); break;
        case 'prices': {
          const { timestamp } = JSON.parse(text) as { readonly timestamp: number };
          rows.set(`${channel},${n})`, {
            table: 'price_messages', row: { asset: key, position, published_at_ms: String(timestamp), at_ms: String(outcome.at) },
          });
        }
      }
    }
  }
  // Where the trader placed an order that is open, the open orders say so.
  for (const { name, number } of placed) if (isOpen(number)) rows.delete(name);
  const sorted = [...rows].sort(([a], [b]) => a < b ? -1 : 1).map(([, each]) => each);
  const of = (table: string) => sorted.filter((each) => each.table === table).map(({ row }) => row);
  return Object.fromEntries(['order_messages', 'trade_messages', 'market_messages', 'price_messages'].map((table) => [table, of(table)]));
}

interface Message {
  readonly type: string;
  readonly fill?: number;
}

/** Whether the fill's taker was placed at this position: then the trades say so. */
function isOfTaker({ events }: CommandOutcome, position: number, fill: number | undefined): boolean {
  return events.some((event) => event.type === 'FillMatched' && event.fill === fill && event.takerNumber === position);
}

function namesIn(outcomes: readonly CommandOutcome[]): string[] {
  const names = outcomes.flatMap(({ events }) => events.flatMap((event) => [
    ...'marketId' in event ? [`trades:${event.marketId}`] : [],
    ...event.type === 'OrderAccepted' ? [`orders:${event.trader}`] : [],
    ...'buyer' in event ? [`orders:${event.buyer}`, `orders:${event.seller}`] : [],
    ...event.type === 'PriceRecorded' ? [`prices:${event.asset}`] : [],
  ]));
  return [...new Set([...names, 'markets'])].slice(0, 50);
}
