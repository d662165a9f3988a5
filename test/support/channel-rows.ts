/** The tables that say where the channels of the streams have messages, made from the messages themselves. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import { channelsOf } from '../../query/streams/channel.js';
import { createChannels, emptyOpening } from '../../query/streams/channels.js';
import type { Rows } from './projected.js';

/** The rows in the order of `readTables`. */
export function channelRows(outcomes: readonly CommandOutcome[]): Rows {
  const fold = createChannels();
  for (const channel of channelsOf(namesIn(outcomes))) fold.add(channel, emptyOpening(channel));
  const rows = new Map<string, { readonly table: string; readonly row: Record<string, unknown> }>();
  const noted: Record<'orders' | 'trades', Map<string, Noted[]>> = { orders: new Map(), trades: new Map() };
  const open = new Map<string, number>();
  const note = (kind: keyof typeof noted, key: string, of: Noted): void => { noted[kind].set(key, [...noted[kind].get(key) ?? [], of]); };
  for (const [n, outcome] of outcomes.entries()) {
    for (const { channel, text } of fold.fold(n, outcome).map((message) => ({ channel: message.channel, text: message.json(false) }))) {
      const [kind = '', key = ''] = channel.split(':');
      switch (kind) {
        case 'orders': {
          const message = JSON.parse(text) as OrderMessage;
          for (const place of placesOf(message, { key, n, outcome, open })) {
            if (place !== n || !isNoted(noted.orders.get(key), n)) note('orders', key, { place, at: n });
          }
          break;
        }
        case 'trades': {
          const { type, fill } = JSON.parse(text) as Message;
          if ((type !== 'trade' || !isOfTaker(outcome, n, fill)) && !isNoted(noted.trades.get(key), n)) note('trades', key, { place: n, at: n });
          break;
        }
        case 'markets': rows.set(`${channel},${n})`, { table: 'market_messages', row: { position: String(n) } }); break;
        case 'prices': {
          const { timestamp } = JSON.parse(text) as { readonly timestamp: number };
          rows.set(`${channel},${n})`, {
            table: 'price_messages', row: { asset: key, position: String(n), published_at_ms: String(timestamp), at_ms: String(outcome.at) },
          });
        }
      }
    }
  }
  const sorted = [...rows].sort(([a], [b]) => a < b ? -1 : 1).map(([, each]) => each);
  const of = (table: string) => sorted.filter((each) => each.table === table).map(({ row }) => row);
  return {
    market_messages: of('market_messages'), price_messages: of('price_messages'),
    ...blockRows('order', 'trader', noted.orders), ...blockRows('trade', 'market_id', noted.trades),
  };
}

/** A position of a channel's message, and that at which it became known. */
interface Noted {
  readonly place: number;
  readonly at: number;
}

const BLOCK = 16;

function isNoted(noted: readonly Noted[] | undefined, place: number): boolean {
  return noted?.some((each) => each.place === place) ?? false;
}

/** What becomes known by a message of a trader: its position, and where the order was placed that it closes. */
function placesOf({ type, fill, orderHash, remainingSize }: OrderMessage, { key, n, outcome, open }: {
  readonly key: string; readonly n: number; readonly outcome: CommandOutcome; readonly open: Map<string, number>;
}): number[] {
  const placedHere = outcome.events.some((event) => event.type === 'OrderAccepted' && event.trader === key);
  const ofTaker = type === 'filled' && isOfTaker(outcome, n, fill);
  const placed = open.get(orderHash);
  if (type === 'accepted' || type === 'reinstated') {
    open.set(orderHash, numberOf(outcome, orderHash));
  }
  const closes = placed !== undefined && (type === 'cancelled' || (type === 'filled' && remainingSize === 0));
  if (closes) open.delete(orderHash);
  return [...type === 'accepted' || placedHere || ofTaker ? [] : [n], ...closes && !(ofTaker && placed === n) ? [placed] : []];
}

function numberOf({ events }: CommandOutcome, orderHash: string): number {
  const [number] = events.flatMap((event) => 'orderHash' in event && 'orderNumber' in event && event.orderHash === orderHash ? [event.orderNumber] : []);
  if (number === undefined) throw new Error(`no event names the order ${orderHash}`);
  return number;
}

/** The positions of each channel in blocks, and the rest of them. */
function blockRows(name: string, channel: string, noted: ReadonlyMap<string, readonly Noted[]>): Rows {
  const sorted = [...noted].sort(([a], [b]) => a < b ? -1 : 1);
  const positions = (all: readonly Noted[]) => all.map(({ place }) => String(place));
  const inBlocks = sorted.map(([key, all]) => ({ key, ...blocksOf(all) }));
  return {
    [`${name}_messages`]: inBlocks.flatMap(({ key, blocks }) => blocks
      .map((block) => ({ [channel]: key, position: String(block.at(-1)!.at), positions: positions(block) }))
      .sort((a, b) => `${String(a['position'])},` < `${String(b['position'])},` ? -1 : 1)),
    [`recent_${name}_messages`]: inBlocks.map(({ key, rest }) => ({ [channel]: key, positions: positions(rest) })),
  };
}

/** Sixteen make a block, with all others of the last one's outcome. */
function blocksOf(all: readonly Noted[]): { readonly blocks: readonly (readonly Noted[])[]; readonly rest: readonly Noted[] } {
  const blocks: Noted[][] = [];
  let rest: Noted[] = [];
  for (const [i, each] of all.entries()) {
    rest.push(each);
    if (rest.length < BLOCK || all[i + 1]?.at === each.at) continue;
    blocks.push(rest);
    rest = [];
  }
  return { blocks, rest };
}

interface Message {
  readonly type: string;
  readonly fill?: number;
}

interface OrderMessage extends Message {
  readonly orderHash: string;
  readonly remainingSize: number;
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
