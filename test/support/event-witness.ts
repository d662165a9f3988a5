/** Rebuilds orders, fills and levels from events alone, and fails as soon as they contradict each other or the matching rules. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import type {
  Event, FillFailed, FillMatched, FillSettled, MarketOpened, MarketTokenized, OrderAccepted, OrderTermsSet, RelayEnded, RelayRequested,
  RelaySubmitted,
} from '../../engine/records/events.js';
import { BUY, SELL, type Side } from '../../engine/records/fields.js';
import { levelKey, type ReferenceEngine } from '../reference/engine.js';

interface WitnessedOrder {
  readonly accepted: OrderAccepted;
  status: 'open' | 'filled' | 'cancelled';
  remaining: bigint;
  /** What stands on the book. */
  rested: bigint;
  terms?: OrderTermsSet;
}

export interface Witness {
  /** What the command at the next position caused. Throws an AssertionError if it breaks an invariant. */
  see(command: Command, outcome: CommandOutcome): void;
  /** Totals over the whole history: shares conserved, levels as their orders. Slow. */
  audit(): void;
  /** Fails unless the reference engine's state is exactly what the events say. Slow. */
  agreeWith(engine: ReferenceEngine): void;
}

interface Level {
  size: bigint;
  readonly orders: Set<WitnessedOrder>;
}

interface Scene {
  position: number;
  now: number;
  readonly orders: Map<number, WitnessedOrder>;
  readonly fills: { readonly matched: FillMatched; status: 'unsettled' | 'settled' | 'failed' }[];
  /** Levels that are not empty, by market, outcome and side, then by price. */
  readonly sides: Map<string, Map<number, Level>>;
  readonly markets: Map<string, WitnessedMarket>;
  /** Nonce floors by chain and trader. */
  readonly floors: Map<string, bigint>;
  /** By trader: until when new orders are rejected, in milliseconds. */
  readonly suspensions: Map<string, number>;
  /** Chains to the last block that was advanced to. */
  readonly blocks: Map<number, number>;
  /** Open requests to the relayer. */
  readonly relays: Map<string, RelayRequested>;
}

interface WitnessedMarket {
  readonly opened: MarketOpened;
  closed: boolean;
  resolved: boolean;
  tokens: readonly string[];
  /** What a quick market's prices were set to. */
  readonly prices: Map<'start' | 'end', string>;
}

export function createWitness(): Witness {
  const scene: Scene = {
    position: 0, now: 0, orders: new Map(), fills: [], sides: new Map(), markets: new Map(), floors: new Map(), suspensions: new Map(),
    blocks: new Map(), relays: new Map(),
  };
  return {
    see(command, outcome) {
      equal(outcome.at, Math.max(scene.now, command.at), 'the engine\'s time is the highest of any command');
      scene.now = outcome.at;
      ok(outcome.events.length > 0 || command.kind === 'AdvanceClock', 'a command has an answer');
      if (outcome.events.some(({ type }) => type === 'CommandRejected')) equal(outcome.events.length, 1, 'a rejection stands alone');
      const touched = new Map<string, { marketId: string; outcome: number }>();
      let incoming: WitnessedOrder | undefined;
      for (const event of outcome.events) {
        incoming = seeEvent(scene, event, incoming) ?? incoming;
        if ('outcome' in event) touched.set(bookKey(event), event);
      }
      if (incoming !== undefined) {
        equal(incoming.rested, incoming.status === 'open' ? incoming.remaining : 0n, 'an open order rests with all that remains, a closed one not');
        if (incoming.terms?.timeInForce === 'FOK') equal(incoming.status, 'filled', 'a FOK order is filled at once');
      }
      for (const book of touched.values()) checkBook(scene, book);
      scene.position++;
    },
    audit: () => { audit(scene); },
    agreeWith: (engine) => { agree(scene, engine); },
  };
}

function bookKey({ marketId, outcome }: { marketId: string; outcome: number }): string {
  return `${marketId} ${outcome}`;
}

function orderOf(scene: Scene, event: { orderNumber: number; orderHash: string }): WitnessedOrder {
  const order = scene.orders.get(event.orderNumber);
  ok(order !== undefined, `order ${event.orderNumber} was accepted`);
  equal(event.orderHash, order.accepted.orderHash);
  if ('price' in event) {
    for (const name of ['marketId', 'side', 'outcome', 'price'] as const) equal(event[name as 'price'], order.accepted[name]);
  }
  return order;
}

function sideKey({ marketId, outcome, side }: { marketId: string; outcome: number; side: Side }): string {
  return `${marketId} ${outcome} ${side}`;
}

function levelsOf(scene: Scene, side: { marketId: string; outcome: number; side: Side }): Map<number, Level> {
  return scene.sides.get(sideKey(side)) ?? new Map<number, Level>();
}

function moveLevel(scene: Scene, order: WitnessedOrder, by: bigint): void {
  const { price } = order.accepted;
  const levels = levelsOf(scene, order.accepted);
  scene.sides.set(sideKey(order.accepted), levels);
  const level = levels.get(price) ?? { size: 0n, orders: new Set() };
  level.size += by;
  order.rested += by;
  ok(level.size >= 0n, 'a level is never negative');
  ok(order.rested >= 0n && order.rested <= order.remaining, 'no more rests than remains');
  if (order.rested === 0n) level.orders.delete(order);
  else level.orders.add(order);
  equal(level.orders.size === 0, level.size === 0n, 'a level has orders as long as it has a size');
  if (level.size === 0n) levels.delete(price);
  else levels.set(price, level);
}

/** Returns the order that is being matched from this event on. */
function seeEvent(scene: Scene, event: Event, incoming: WitnessedOrder | undefined): WitnessedOrder | undefined {
  switch (event.type) {
    case 'OrderAccepted': {
      equal(event.orderNumber, scene.position, 'an order\'s number is its position');
      ok(isOpen(scene, event.marketId), 'the market is open');
      ok(!isNonceCancelled(scene, event), 'the nonce is not cancelled');
      ok(scene.now >= (scene.suspensions.get(event.trader) ?? 0), 'the trader is not suspended');
      const order: WitnessedOrder = { accepted: event, status: 'open', remaining: BigInt(event.size), rested: 0n };
      scene.orders.set(event.orderNumber, order);
      return order;
    }
    case 'OrderReinstated': {
      const order = orderOf(scene, event);
      ok(order.status !== 'cancelled', 'a cancelled order stays so');
      if (order.status === 'filled') ok(isOpen(scene, event.marketId) && !isNonceCancelled(scene, order.accepted), 'what comes back may stand on the book');
      equal(order.remaining - order.rested, BigInt(event.size), 'what the failed fill gave back is not on the book yet');
      order.status = 'open';
      return order;
    }
    case 'OrderTermsSet': {
      const order = orderOf(scene, event);
      equal(order, incoming, 'an order has its terms from the beginning');
      ok(event.notAfter === null || scene.now <= event.notAfter, 'an order is not accepted after its time');
      order.terms = event;
      return;
    }
    case 'OrderRested': {
      const order = orderOf(scene, event);
      ok((order.terms?.timeInForce ?? 'GTC') === 'GTC', 'only a GTC order rests');
      equal(order, incoming, 'only the incoming order comes to rest');
      equal(order.status, 'open');
      moveLevel(scene, order, BigInt(event.size));
      equal(order.rested, order.remaining, 'all that remains of an open order rests');
      return;
    }
    case 'OrderCancelled': {
      const order = orderOf(scene, event);
      ok(order.status !== 'cancelled', 'an order is cancelled once');
      equal(BigInt(event.rested), order.rested);
      equal(BigInt(event.remaining), order.remaining);
      order.status = 'cancelled';
      moveLevel(scene, order, -order.rested);
      return;
    }
    case 'FillMatched': seeFill(scene, event, incoming); return;
    case 'FillSettled': case 'FillFailed': seeSettlement(scene, event); return;
    case 'OrderRepeated': orderOf(scene, event); return;
    case 'CancelRepeated': {
      const order = orderOf(scene, event);
      deepEqual([order.status, order.accepted.size, String(order.remaining)], ['cancelled', event.size, event.remaining]);
      return;
    }
    case 'CommandRejected': return;
    case 'RelayRequested': case 'RelaySubmitted': case 'RelayEnded': seeRelay(scene, event); return;
    default: seeChain(scene, event);
  }
}

type ChainEvent = Exclude<Event, { type: `Order${string}` | `Fill${string}` | `Relay${string}` | 'CancelRepeated' | 'CommandRejected' }>;

type QuickEvent = Extract<Event, { type: 'StrikePriceSet' | 'EndPriceSet' | 'PriceMissed' | 'QuickMarketDecided' }>;

function seeQuick({ markets }: Scene, event: QuickEvent): void {
  const { opened: { quick }, resolved, prices } = markets.get(event.marketId)!;
  ok(quick !== null && !resolved, 'only an unresolved quick market has prices');
  if (event.type === 'QuickMarketDecided') {
    const [strike, end] = [prices.get('start')!, prices.get('end')!];
    equal(event.winningOutcome, BigInt(end) >= BigInt(strike) ? 0 : 1, 'the higher price wins, and a tie is YES');
    return;
  }
  const boundary = event.type === 'PriceMissed' ? event.boundary : event.type === 'StrikePriceSet' ? 'start' : 'end';
  ok(!prices.has(boundary), 'a price is set once, and not missed then');
  if (event.type === 'PriceMissed') return;
  const sinceMs = event.publishedAt - 1_000 * (boundary === 'start' ? quick.startTime : quick.endTime);
  ok(sinceMs >= 0 && sinceMs <= 15_000, 'a price is of the market\'s start or end');
  prices.set(boundary, event.price);
}

function seeChain(scene: Scene, event: ChainEvent): void {
  if ('marketId' in event && event.type !== 'MarketOpened') ok(scene.markets.has(event.marketId), 'the market was opened');
  switch (event.type) {
    case 'MarketOpened':
      ok(!scene.markets.has(event.marketId), 'a market is opened once');
      scene.markets.set(event.marketId, { opened: event, closed: false, resolved: false, tokens: [], prices: new Map() });
      return;
    case 'MarketTokenized': seeTokens(scene, event); return;
    case 'MarketClosed': {
      const market = scene.markets.get(event.marketId)!;
      ok(!market.closed, 'a market is closed once');
      market.closed = true;
      return;
    }
    case 'MarketResolved': case 'MarketHalved': {
      const market = scene.markets.get(event.marketId)!;
      ok(market.closed && !market.resolved, 'a market is resolved or halved once, and then closed');
      market.resolved = true;
      return;
    }
    case 'StrikePriceSet': case 'EndPriceSet': case 'PriceMissed': case 'QuickMarketDecided': seeQuick(scene, event); return;
    case 'NonceFloorRaised': {
      const key = `${event.chainId} ${event.trader}`;
      ok(BigInt(event.belowNonce) > (scene.floors.get(key) ?? 0n), 'a floor only rises');
      scene.floors.set(key, BigInt(event.belowNonce));
      return;
    }
    case 'TraderDefaulted':
      equal(event.suspendedUntil === null, event.defaults === 1, 'the first default suspends nobody, each further one does');
      scene.suspensions.set(event.trader, event.suspendedUntil ?? 0);
      return;
    case 'SettlementSubmitted': ok(event.fills.some((fill) => scene.fills[fill]?.status === 'unsettled'), 'there is something to settle'); return;
    case 'SharesTransferred': ok(BigInt(event.amount) > 0n && scene.markets.get(event.marketId)!.tokens.length === 2, 'shares have tokens'); return;
    case 'ChainAdvanced':
      ok(event.block > (scene.blocks.get(event.chainId) ?? -1), 'a chain only grows');
      scene.blocks.set(event.chainId, event.block);
      return;
    default:
  }
}

function seeRelay({ relays }: Scene, event: RelayRequested | RelaySubmitted | RelayEnded): void {
  const { requestId } = event;
  if (event.type === 'RelayRequested') {
    ok(!relays.has(requestId), 'a request is open once');
    relays.set(requestId, event);
    return;
  }
  const requested = relays.get(requestId);
  ok(requested !== undefined, 'only an open request goes on');
  for (const name of Object.keys(requested) as (keyof RelayRequested)[]) if (name !== 'type') deepEqual(event[name], requested[name]);
  if (event.type === 'RelayEnded') relays.delete(requestId);
}

function seeTokens(scene: Scene, { marketId, yesToken, noToken }: MarketTokenized): void {
  const tokens = [yesToken, noToken];
  const taken = [...scene.markets.values()].flatMap((market) => market.tokens);
  ok(yesToken !== noToken && !tokens.some((token) => taken.includes(token)), 'a token is shares of one outcome of one market');
  scene.markets.get(marketId)!.tokens = tokens;
}

function isOpen(scene: Scene, marketId: string): boolean {
  const { opened, closed } = scene.markets.get(marketId)!;
  return !closed && scene.now < opened.expiration * 1_000;
}

function isNonceCancelled(scene: Scene, { marketId, trader, nonce }: OrderAccepted): boolean {
  const { chainId } = scene.markets.get(marketId)!.opened;
  return BigInt(nonce) < (scene.floors.get(`${chainId} ${trader}`) ?? 0n);
}

function seeFill(scene: Scene, event: FillMatched, incoming: WitnessedOrder | undefined): void {
  equal(event.fill, scene.fills.length, 'fill numbers are dense');
  scene.fills.push({ matched: event, status: 'unsettled' });
  const maker = scene.orders.get(event.makerNumber)!;
  const taker = scene.orders.get(event.takerNumber)!;
  equal(taker, incoming, 'the taker is the incoming order');
  ok(taker.terms?.postOnly !== true, 'a post-only order never takes');
  equal(event.takerSide, taker.accepted.side);
  equal(maker.accepted.side, taker.accepted.side === BUY ? SELL : BUY);
  equal(event.price, maker.accepted.price, 'a trade is at the resting order\'s price');
  const [buy, sell] = taker.accepted.side === BUY ? [taker, maker] : [maker, taker];
  deepEqual([event.buyer, event.seller], [buy.accepted.trader, sell.accepted.trader]);
  ok(event.buyer !== event.seller, 'nobody trades with himself');
  deepEqual([bookKey(maker.accepted), bookKey(taker.accepted)], [bookKey(event), bookKey(event)]);

  const size = BigInt(event.size);
  const cost = BigInt(event.cost);
  ok(size > 0n && size === (maker.remaining < taker.remaining ? maker.remaining : taker.remaining));
  ok(cost * 1_000_000n >= size * BigInt(sell.accepted.price), 'the seller gets his limit');
  ok((cost - 1n) * 1_000_000n < size * BigInt(buy.accepted.price), 'the buyer pays his limit, less than one unit of rounding apart');
  equal(cost, (size * BigInt(event.price) + 999_999n) / 1_000_000n);
  for (const { accepted } of [maker, taker]) {
    ok(BigInt(scene.now) < BigInt(accepted.expiration) * 1_000n - 20_000n, 'both orders live');
  }
  ok(isOpen(scene, event.marketId), 'the market is open');
  for (const { accepted } of [maker, taker]) ok(!isNonceCancelled(scene, accepted), 'no order with a cancelled nonce trades');
  checkPriority(scene, maker);
  moveLevel(scene, maker, -size);
  maker.remaining -= size;
  taker.remaining -= size;
  for (const order of [maker, taker]) if (order.remaining === 0n) order.status = 'filled';
}

function checkPriority(scene: Scene, maker: WitnessedOrder): void {
  const { side, price, orderNumber } = maker.accepted;
  const levels = levelsOf(scene, maker.accepted);
  equal(price, side === BUY ? Math.max(...levels.keys()) : Math.min(...levels.keys()), 'no better price was passed over');
  for (const other of levels.get(price)!.orders) ok(other.accepted.orderNumber >= orderNumber, 'no older order was passed over');
}

function seeSettlement(scene: Scene, event: FillSettled | FillFailed): void {
  const fill = scene.fills[event.fill];
  ok(fill?.status === 'unsettled', 'a fill is settled once');
  const { matched } = fill;
  for (const name of Object.keys(matched) as (keyof FillMatched)[]) if (name !== 'type') equal(event[name], matched[name]);
  fill.status = event.type === 'FillSettled' ? 'settled' : 'failed';
  if (event.type === 'FillSettled') return;
  for (const number of [event.makerNumber, event.takerNumber]) scene.orders.get(number)!.remaining += BigInt(event.size);
}

function checkBook(scene: Scene, book: { marketId: string; outcome: number }): void {
  const bid = Math.max(0, ...levelsOf(scene, { ...book, side: BUY }).keys());
  const ask = Math.min(1_000_000, ...levelsOf(scene, { ...book, side: SELL }).keys());
  ok(bid < ask, `the book of ${bookKey(book)} is crossed: bid ${bid}, ask ${ask}`);
}

function audit(scene: Scene): void {
  const filled = new Map<number, bigint>();
  const traded = new Map<string, bigint>();
  const add = <K>(sums: Map<K, bigint>, key: K, by: bigint) => sums.set(key, (sums.get(key) ?? 0n) + by);
  for (const { matched, status } of scene.fills) {
    if (status === 'failed') continue;
    const size = BigInt(matched.size);
    add(filled, matched.makerNumber, size);
    add(filled, matched.takerNumber, size);
    add(traded, bookKey(matched), size);
  }
  const bought = new Map<string, bigint>();
  const sold = new Map<string, bigint>();
  const resting = new Map<string, bigint>();
  for (const [number, { accepted, status, remaining, rested }] of scene.orders) {
    const size = BigInt(accepted.size);
    equal((filled.get(number) ?? 0n) + remaining, size, 'filled + remaining = size');
    equal(rested, status === 'open' ? remaining : 0n);
    equal(remaining === 0n, status === 'filled');
    if (remaining < size) add(accepted.side === BUY ? bought : sold, bookKey(accepted), size - remaining);
    if (status === 'open') add(resting, levelKey(accepted), remaining);
  }
  deepEqual(sorted(bought), sorted(traded), 'every share bought was traded');
  deepEqual(sorted(sold), sorted(traded), 'every share sold was traded');
  deepEqual(sorted(levelSizes(scene)), sorted(resting), 'a level is the sum of its orders');
}

function levelSizes(scene: Scene): Map<string, bigint> {
  return new Map([...scene.sides].flatMap(([side, levels]) => [...levels].map(([price, { size }]) => [`${side} ${price}`, size] as const)));
}

function sorted<V>(map: Map<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function agree(scene: Scene, engine: ReferenceEngine): void {
  deepEqual(sorted(levelSizes(scene)), sorted(engine.levels()));
  deepEqual(
    engine.orders().map(({ number, status, remaining }) => ({ number, status, remaining })),
    engine.orders().map(({ number }) => {
      const { status, remaining } = scene.orders.get(number)!;
      return { number, status, remaining };
    }),
  );
  deepEqual(engine.fills().map(({ status }) => status), scene.fills.map(({ status }) => status));
}
