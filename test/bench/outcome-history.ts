/** A seeded history of outcomes for the read models' bench: orders that rest, orders that cross a few of them, cancels, settled fills. */
import type { CommandOutcome as RecordedEvents } from '../../engine/records/codec.js';
import type { Event, FillMatched, OrderAccepted } from '../../engine/records/events.js';
import { BUY, SELL, type MarketOutcome, type Side } from '../../engine/records/fields.js';
import { createDice } from '../support/random-commands.js';

interface Resting {
  readonly order: OrderAccepted;
  left: bigint;
}

const hex = (value: number, digits: number) => `0x${value.toString(16).padStart(digits, '0')}`;
const spread = (n: number, digits: number) => hex(Math.imul(n + 1, 0x9e3779b1) >>> 0, 8).padEnd(digits + 2, 'ab0f');
/** The id of the nth market. */
export const marketOf = (n: number): string => spread(n, 64);
/** The address of the nth trader. */
export const traderOf = (n: number): string => spread(n, 40);
/** The time of the outcome at a position, in milliseconds. */
export const timeOf = (position: number): number => 1_700_000_000_000 + 2 * position;

/** How many fills one transaction settles. */
const BATCH = 50;

/** How far a history is that another one goes on from: the numbers of its next outcome and of its next fill. */
export interface Before {
  readonly position: number;
  readonly fill: number;
}

/**
 * `markets` openings and then 40 % adds, 25 % crossing orders, 20 % fills that settle, a transaction now and then, 15 % cancels, two
 * milliseconds apart. With `after`, it goes on from a history that has the openings, and whose orders it leaves alone.
 */
export function outcomeHistory({ seed, length, markets, traders, after }: {
  seed: number; length: number; markets: number; traders: number; after?: Before;
}): RecordedEvents[] {
  const { below } = createDice(seed);
  const books = Array.from({ length: markets * 4 }, (): Resting[] => []);
  const unsettled: FillMatched[] = [];
  let fills = after?.fill ?? 0;
  let sent = 0;

  const accept = (number: number, market: number, side: Side, outcome: MarketOutcome): OrderAccepted => orderOf(number, {
    market, side, outcome, price: 400_000 + 1_000 * below(200), trader: below(traders), shares: 1 + below(500),
  });

  const place = (number: number, crosses: boolean): Event[] => {
    const [market, side, outcome] = [below(markets), below(2) === 0 ? BUY : SELL, below(2) as MarketOutcome];
    const order = accept(number, market, side, outcome);
    const events: Event[] = [order];
    let left = BigInt(order.size);
    const makers = books[market * 4 + outcome * 2 + (1 - side)]!;
    for (let n = 1 + below(3); crosses && left > 0n && makers.length > 0 && n > 0; n--) {
      const place = below(makers.length);
      const maker = makers[place]!;
      const size = maker.left < left ? maker.left : left;
      const fill = fillOf(fills++, { maker: maker.order, taker: order, size });
      events.push(fill);
      unsettled.push(fill);
      left -= size;
      maker.left -= size;
      if (maker.left === 0n) makers.splice(place, 1);
    }
    if (left > 0n) {
      events.push({ ...named(order), type: 'OrderRested', size: String(left) });
      books[market * 4 + outcome * 2 + side]!.push({ order, left });
    }
    return events;
  };
  const cancel = (): Event[] => {
    const book = books[below(books.length)]!;
    if (book.length === 0) return [{ type: 'CommandRejected', v: 1, code: 'unknown_order', subject: spread(0, 64) }];
    const { order, left } = book.splice(below(book.length), 1)[0]!;
    return [{ ...named(order), type: 'OrderCancelled', remaining: String(left), rested: String(left), reason: 'user' }];
  };
  const settle = (): Event[] => {
    if (sent === 0 && unsettled.length >= BATCH) {
      sent = BATCH;
      const numbers = unsettled.slice(0, BATCH).map(({ fill }) => fill);
      return [{ type: 'SettlementSubmitted', v: 1, chainId: 31_337, txHash: transactionOf(numbers[0]!), fills: numbers }];
    }
    if (sent === 0) return cancel();
    sent--;
    const fill = unsettled.shift()!;
    return [{ ...fill, type: 'FillSettled', txHash: transactionOf(fill.fill) }];
  };
  return Array.from({ length }, (_, n) => {
    const number = n + (after?.position ?? 0);
    const at = timeOf(number);
    if (number < markets) return { at, events: [openingOf(number)] };
    const kind = below(20);
    return { at, events: kind < 13 ? place(number, kind < 5) : kind < 17 ? settle() : cancel() };
  });
}

/**
 * `markets` openings and then trades, by fifties: an order that rests and one that takes it whole, a transaction, and its settlements. Any two
 * traders meet in any market.
 */
export function settledTrades({ seed, trades, markets, traders }: {
  seed: number; trades: number; markets: number; traders: number;
}): RecordedEvents[] {
  const { below } = createDice(seed);
  const histories: Event[][] = Array.from({ length: markets }, (_, market) => [openingOf(market)]);
  for (let first = 0; first < trades; first += BATCH) {
    const fills = Array.from({ length: BATCH }, (_, n) => {
      const side = below(2) === 0 ? BUY : SELL;
      const terms = { market: below(markets), outcome: below(2) as MarketOutcome, price: 400_000 + 1_000 * below(200), shares: 1 + below(500) };
      const trader = below(traders);
      const maker = orderOf(histories.length, { ...terms, side, trader });
      const taker = orderOf(histories.length + 1, { ...terms, side: side === BUY ? SELL : BUY, trader: (trader + 1 + below(traders - 1)) % traders });
      const fill = fillOf(first + n, { maker, taker, size: BigInt(maker.size) });
      histories.push([maker, { ...named(maker), type: 'OrderRested', size: maker.size }], [taker, fill]);
      return fill;
    });
    const txHash = transactionOf(first);
    histories.push([{ type: 'SettlementSubmitted', v: 1, chainId: 31_337, txHash, fills: fills.map(({ fill }) => fill) }]);
    for (const fill of fills) histories.push([{ ...fill, type: 'FillSettled', txHash }]);
  }
  return histories.map((events, position) => ({ at: timeOf(position), events }));
}

function orderOf(number: number, { market, trader, shares, ...terms }: Pick<OrderAccepted, 'side' | 'outcome' | 'price'> & {
  readonly market: number; readonly trader: number; readonly shares: number;
}): OrderAccepted {
  return {
    type: 'OrderAccepted', v: 1, orderHash: spread(number, 64), orderNumber: number, marketId: marketOf(market), trader: traderOf(trader),
    size: String(1_000_000 * shares), nonce: String(number), expiration: '1900000000', ...terms,
  };
}

function named({ orderHash, orderNumber, marketId, side, outcome, price }: OrderAccepted) {
  return { v: 1 as const, orderHash, orderNumber, marketId, side, outcome, price };
}

function fillOf(fill: number, { maker, taker, size }: { maker: OrderAccepted; taker: OrderAccepted; size: bigint }): FillMatched {
  const buys = taker.side === BUY;
  return {
    type: 'FillMatched', v: 1, fill, marketId: maker.marketId, outcome: maker.outcome, price: maker.price, size: String(size),
    cost: String((size * BigInt(maker.price) + 999_999n) / 1_000_000n), takerSide: taker.side, makerNumber: maker.orderNumber,
    takerNumber: taker.orderNumber, buyer: buys ? taker.trader : maker.trader, seller: buys ? maker.trader : taker.trader,
  };
}

const transactionOf = (fill: number) => spread(1_000_000 + Math.floor(fill / BATCH), 64);

function openingOf(market: number): Event {
  return {
    type: 'MarketOpened', v: 2, marketId: marketOf(market), question: `Question ${market}?`, description: '', category: 'general',
    contractAddress: spread(market, 40), maker: traderOf(0), expiration: 1_900_000_000, chainId: 31_337, marketKind: 'standard', quick: null,
  };
}
