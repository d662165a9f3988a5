/**
 * The channels of the streams as one pure fold: from the outcomes to the messages of the channels that are read. A message and its `previous`
 * depend on the history alone, so every reader of a channel gets the same ones, from whatever position it began.
 */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Event, MarketOpened, PriceRecorded } from '../../engine/records/events.js';
import { shownText } from '../../engine/records/market-text.js';
import { createBooks, type BookOpening } from './books.js';
import type { Channel } from './channel.js';
import { Message } from './message.js';
import { createOwnOrders, type OrdersOpening, type OrderState, type OwnOrders } from './own-orders.js';
import { quoted, textOf, type Fields, type Telling, type Thread } from './thread.js';

/** A market's unsettled fills at a position, at least those that ever settle or fail after it. */
export interface TradesOpening {
  readonly kind: 'trades';
  readonly last: number;
  readonly fills: readonly number[];
}

export interface PricesOpening {
  readonly kind: 'prices';
  readonly last: number;
  /** When the newest price was published, in milliseconds; -1 without one. */
  readonly publishedAt: number;
  /** Its message, as long as the price is kept. */
  readonly newest: Message | undefined;
}

interface Prices extends Thread {
  publishedAt: number;
  newest: Message | undefined;
}

export interface MarketsOpening {
  readonly kind: 'markets';
  readonly last: number;
}

/** What a channel needs to be told from a position on: the position of its last message up to there, and the state at it. */
export type Opening = BookOpening | TradesOpening | OrdersOpening | PricesOpening | MarketsOpening;

/** What outcomes name that the fold does not know, because it happened before its channels were opened. */
export interface Unknown {
  /** Numbers of orders, of which some are of other traders. */
  readonly orders: readonly number[];
  /** Numbers of fills, of which some are of other markets or were settled before. */
  readonly fills: readonly number[];
}

/** The same, found. */
export interface Learnt {
  readonly orders: readonly OrderState[];
  readonly fills: readonly { readonly fill: number; readonly marketId: string }[];
}

export interface Channels {
  has(channel: Channel): boolean;
  /** Tells a channel from here on. `opening`: at the position of the last outcome that was folded. */
  add(channel: Channel, opening: Opening): void;
  /** Tells it no more; returns how another fold that is at the same position goes on with it. */
  remove(channel: Channel): Opening;
  /** The messages of one outcome, of which `unknown` names nothing that was not looked up. Throws Error when it contradicts those before. */
  fold(position: number, outcome: CommandOutcome): Message[];
  unknown(outcomes: readonly CommandOutcome[]): Unknown;
  learn(learnt: Learnt): void;
  /** What a reader who begins here gets first: the books of a market, or the newest price of an asset. */
  snapshot(channel: Channel): Message | undefined;
}

/** An opening at a position before the first outcome. */
export function emptyOpening({ kind }: Channel): Opening {
  switch (kind) {
    case 'book': return { kind, last: -1, at: 0, levels: new Map() };
    case 'trades': return { kind, last: -1, fills: [] };
    case 'orders': return { kind, last: -1, orders: [] };
    case 'prices': return { kind, last: -1, publishedAt: -1, newest: undefined };
    case 'markets': return { kind, last: -1 };
  }
}

export function createChannels(): Channels {
  const names = new Set<string>();
  const books = createBooks();
  const orders = createOwnOrders();
  const trades = createTrades();
  const prices = new Map<string, Prices>();
  let markets: Thread | undefined;

  return {
    has: ({ name }) => names.has(name),
    add(channel, opening) {
      const { name } = channel;
      names.add(name);
      if (channel.kind === 'book' && opening.kind === 'book') books.add(name, channel.marketId, opening);
      else if (channel.kind === 'trades' && opening.kind === 'trades') trades.add(name, channel.marketId, opening);
      else if (channel.kind === 'orders' && opening.kind === 'orders') orders.add(name, channel.trader, opening);
      else if (channel.kind === 'prices' && opening.kind === 'prices') prices.set(channel.asset, { name, ...opening });
      else if (channel.kind === 'markets' && opening.kind === 'markets') markets = { name, last: opening.last };
      else throw new Error(`${name} does not open as ${opening.kind}`);
    },
    remove(channel) {
      const { kind, name } = channel;
      if (!names.delete(name)) throw new Error(`nobody reads ${name}`);
      switch (kind) {
        case 'book': return books.remove(channel.marketId);
        case 'trades': return trades.remove(channel.marketId);
        case 'orders': return orders.remove(channel.trader);
        case 'prices': {
          const { last = -1, publishedAt = -1, newest } = prices.get(channel.asset) ?? {};
          prices.delete(channel.asset);
          return { kind, last, publishedAt, newest };
        }
        case 'markets': {
          const { last = -1 } = markets ?? {};
          markets = undefined;
          return { kind, last };
        }
      }
    },
    fold(position, { at, events }) {
      const telling: Telling = { position, at, messages: [] };
      for (const event of events) {
        books.take(event);
        orders.take(event, telling);
        trades.take(event, telling);
        if (event.type === 'PriceRecorded') tellPrice(prices.get(event.asset), event, telling);
        else if (markets !== undefined) tellMarket(markets, event, telling);
      }
      orders.end();
      books.end(telling);
      return telling.messages;
    },
    unknown: (outcomes) => unknownTo(orders, trades, outcomes),
    learn(learnt) {
      orders.learn(learnt.orders);
      trades.learn(learnt.fills);
    },
    snapshot(channel) {
      switch (channel.kind) {
        case 'book': return books.snapshot(channel.marketId);
        case 'prices': return prices.get(channel.asset)?.newest;
        default: return undefined;
      }
    },
  };
}

function unknownTo(orders: OwnOrders, trades: ReturnType<typeof createTrades>, outcomes: readonly CommandOutcome[]): Unknown {
  const placed = new Set<number>();
  const unknown = { orders: new Set<number>(), fills: new Set<number>() };
  for (const event of outcomes.flatMap(({ events }) => events)) {
    if (event.type === 'OrderAccepted') placed.add(event.orderNumber);
    for (const number of orders.unknown(event)) if (!placed.has(number)) unknown.orders.add(number);
    for (const fill of trades.unknown(event)) unknown.fills.add(fill);
  }
  return { orders: [...unknown.orders], fills: [...unknown.fills] };
}

function say(thread: Thread, telling: Telling, type: string, fields: Fields): void {
  telling.messages.push(new Message(thread.name, telling.position, textOf(thread, telling, type, fields)));
  thread.last = telling.position;
}

/** The channels `trades:{marketId}`. */
function createTrades() {
  const markets = new Map<string, Thread & { readonly fills: Set<number> }>();
  /** The unsettled fills of all of them. */
  const marketOf = new Map<number, string>();

  const keep = (fill: number, marketId: string): void => {
    const market = markets.get(marketId);
    if (market === undefined) return;
    market.fills.add(fill);
    marketOf.set(fill, marketId);
  };
  const settled = (event: Event & { type: 'FillSettled' | 'FillFailed' }, telling: Telling): void => {
    const market = markets.get(event.marketId);
    if (market === undefined) return;
    market.fills.delete(event.fill);
    marketOf.delete(event.fill);
    say(market, telling, 'settlement', {
      fill: event.fill, settlementStatus: quoted(event.type === 'FillSettled' ? 'confirmed' : 'failed'), txHash: quoted(event.txHash),
      ...event.type === 'FillFailed' && { reason: quoted(event.reason) },
    });
  };

  return {
    add(name: string, marketId: string, { last, fills }: TradesOpening): void {
      markets.set(marketId, { name, last, fills: new Set() });
      for (const fill of fills) keep(fill, marketId);
    },
    remove(marketId: string): TradesOpening {
      const { last = -1, fills = new Set<number>() } = markets.get(marketId) ?? {};
      markets.delete(marketId);
      for (const fill of fills) marketOf.delete(fill);
      return { kind: 'trades', last, fills: [...fills] };
    },
    take(event: Event, telling: Telling): void {
      if (markets.size === 0) return;
      if (event.type === 'FillMatched') {
        const market = markets.get(event.marketId);
        if (market === undefined) return;
        keep(event.fill, event.marketId);
        const { fill, price, size, outcome, takerSide } = event;
        say(market, telling, 'trade', { fill, price, size, outcome, buyer: quoted(event.buyer), seller: quoted(event.seller), takerSide });
      } else if (event.type === 'SettlementSubmitted') {
        for (const fill of event.fills) {
          const market = markets.get(marketOf.get(fill) ?? '');
          if (market !== undefined) say(market, telling, 'settlement', { fill, settlementStatus: quoted('pending'), txHash: quoted(event.txHash) });
        }
      } else if (event.type === 'FillSettled' || event.type === 'FillFailed') settled(event, telling);
    },
    unknown: (event: Event): readonly number[] => (
      event.type === 'SettlementSubmitted' && markets.size > 0 ? event.fills.filter((fill) => !marketOf.has(fill)) : []),
    learn(learnt: Learnt['fills']): void { for (const { fill, marketId } of learnt) keep(fill, marketId); },
  };
}

/** As in the price stream: a price that was published before the one shown is not news. */
function tellPrice(thread: Prices | undefined, event: PriceRecorded, telling: Telling): void {
  if (thread === undefined || event.publishedAt <= thread.publishedAt) return;
  thread.publishedAt = event.publishedAt;
  say(thread, telling, 'price', priceFields(event));
  thread.newest = telling.messages.at(-1);
}

/** The message of a price that was recorded before; `last`: as the thread's before it. */
export function priceMessage(thread: Thread, telling: Omit<Telling, 'messages'>, price: PriceFields): Message {
  return new Message(thread.name, telling.position, textOf(thread, telling, 'price', priceFields(price)));
}

type PriceFields = Pick<PriceRecorded, 'asset' | 'price' | 'publishedAt' | 'source'>;

function priceFields({ asset, price, publishedAt, source }: PriceFields): Fields {
  return { asset: quoted(asset), price, priceUSD: inUsd(price), timestamp: publishedAt, source: quoted(source) };
}

/** A price in units of 1e-8 as an exact number of dollars, without zeros at its end. */
function inUsd(price: string): string {
  const digits = price.padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`.replace(/\.?0+$/, '');
}

/** The channel `markets`. */
function tellMarket(thread: Thread, event: Event, telling: Telling): void {
  if (event.type === 'MarketOpened') {
    say(thread, telling, 'opened', openedFields(event));
    return;
  }
  const market = 'marketId' in event ? { marketId: quoted(event.marketId) } : {};
  switch (event.type) {
    case 'MarketClosed': say(thread, telling, 'expired', market); break;
    case 'ResolutionProposed':
      say(thread, telling, 'proposed', {
        ...market, assertionId: quoted(event.assertionId), proposer: quoted(event.proposer), proposedOutcome: event.outcome,
        bondAmount: quoted(event.bond), assertionTime: event.assertionTime, expirationTime: event.expirationTime,
      });
      break;
    case 'ResolutionDisputed':
      say(thread, telling, 'disputed', { ...market, assertionId: quoted(event.assertionId), disputer: quoted(event.disputer) });
      break;
    case 'ResolutionRejected': say(thread, telling, 'rejected', { ...market, assertionId: quoted(event.assertionId) }); break;
    case 'MarketResolved': say(thread, telling, 'resolved', { ...market, winningOutcome: event.winningOutcome }); break;
    case 'MarketHalved': say(thread, telling, 'halved', market); break;
    default:
  }
}

function openedFields(event: MarketOpened): Fields {
  return {
    marketId: quoted(event.marketId), question: JSON.stringify(shownText(event).question), category: quoted(event.category),
    contractAddress: quoted(event.contractAddress), maker: quoted(event.maker), expiration: event.expiration, chainId: event.chainId,
    kind: quoted(event.marketKind), ...event.quick !== null && { asset: quoted(event.quick.asset), startTime: event.quick.startTime },
  };
}
