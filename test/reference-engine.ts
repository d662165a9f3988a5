/** The matching engine again, slow and obvious, written from docs/matching-rules.md alone: what the real one is compared with. */
import { createHash } from 'node:crypto';
import type { Outcome } from '../engine/codec.js';
import type { CancelOrder, Command, FailFill, OpenMarket, PlaceOrder, SettleFill } from '../engine/commands.js';
import type { CancelReason, Event, FillMatched, RejectionCode } from '../engine/events.js';
import { BUY, NO, SELL, YES, type Side } from '../engine/fields.js';

const WORK_LIMIT = 2_500;
const EXPIRY_MARGIN_MS = 20_000n;

export interface ReferenceMarket {
  readonly id: string;
  readonly chainId: number;
  readonly expiration: bigint;
  closed: boolean;
}

export interface ReferenceOrder {
  readonly number: number;
  readonly placed: PlaceOrder;
  readonly size: bigint;
  readonly expiration: bigint;
  status: 'open' | 'filled' | 'cancelled';
  remaining: bigint;
  readonly fills: ReferenceFill[];
}

export interface ReferenceFill {
  readonly matched: FillMatched;
  readonly size: bigint;
  readonly maker: ReferenceOrder;
  readonly taker: ReferenceOrder;
  status: 'unsettled' | 'settled' | 'failed';
}

/** Orders on their way out: all of a closed market, or those that depend on what the culprit of a failed fill did not have. */
type Sweep = { readonly market: ReferenceMarket } | Pull;

interface Pull {
  readonly command: FailFill;
  readonly fill: ReferenceFill;
  /** The FailFill's position: younger orders are not pulled. */
  readonly before: number;
}

interface State {
  now: number;
  position: number;
  digest: Buffer;
  /** In order of opening. */
  readonly markets: Map<string, ReferenceMarket>;
  readonly orders: Map<string, ReferenceOrder>;
  readonly byNonce: Map<string, ReferenceOrder[]>;
  /** Open orders by market, outcome and side, in no order. */
  readonly books: Map<string, ReferenceOrder[]>;
  readonly fills: ReferenceFill[];
  sweeps: Sweep[];
}

/** One command's doing: the events so far, and the pieces of work that count against the limit. */
interface Turn {
  readonly events: Event[];
  work: number;
}

export interface ReferenceEngine {
  /** `data` are the command's recorded bytes. */
  step(command: Command, data: Uint8Array): { outcome: Outcome; text: string; digest: string };
  openOrders(): ReferenceOrder[];
  /** The last order of each hash, open or closed. */
  orders(): ReferenceOrder[];
  /** Every fill, by its number. */
  fills(): readonly ReferenceFill[];
  /** Open quantity by `levelKey`; no empty levels. */
  levels(): Map<string, bigint>;
}

/** Names a price level of one side of a book. */
export function levelKey(level: { marketId: string; outcome: number; side: Side; price: number }): string {
  return `${level.marketId} ${level.outcome} ${level.side} ${level.price}`;
}

export function createReferenceEngine(): ReferenceEngine {
  const state: State = {
    now: 0, position: 0, digest: Buffer.alloc(32), markets: new Map(), orders: new Map(), byNonce: new Map(), books: new Map(),
    fills: [], sweeps: [],
  };
  return {
    step(command, data) {
      const turn: Turn = { events: [], work: 0 };
      state.now = Math.max(state.now, command.at);
      state.sweeps = state.sweeps.filter((sweep) => sweptBy(state, sweep).length > 0);
      handle(state, turn, command);
      const outcome = { at: state.now, events: turn.events };
      const text = JSON.stringify(outcome);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(data.length);
      state.digest = createHash('sha256').update(state.digest).update(length).update(data).update(text, 'utf8').digest();
      state.position++;
      return { outcome, text, digest: `0x${state.digest.toString('hex')}` };
    },
    openOrders: () => openOrders(state),
    orders: () => [...state.orders.values()],
    fills: () => state.fills,
    levels() {
      const levels = new Map<string, bigint>();
      for (const order of openOrders(state)) {
        const key = levelKey(order.placed);
        levels.set(key, (levels.get(key) ?? 0n) + order.remaining);
      }
      return levels;
    },
  };
}

function handle(state: State, turn: Turn, command: Command): void {
  switch (command.kind) {
    case 'OpenMarket': openMarket(state, turn, command); break;
    case 'PlaceOrder': placeOrder(state, turn, command); break;
    case 'CancelOrder': cancelOrder(state, turn, command); break;
    case 'AdvanceClock': advanceClock(state, turn); break;
    case 'SettleFill': settleFill(state, turn, command); break;
    case 'FailFill': failFill(state, turn, command); break;
  }
}

function lives(state: State, expiration: bigint): boolean {
  return BigInt(state.now) < expiration * 1_000n - EXPIRY_MARGIN_MS;
}

function isOpen(state: State, market: ReferenceMarket): boolean {
  return BigInt(state.now) < market.expiration * 1_000n;
}

function hasUnsettledFill(order: ReferenceOrder): boolean {
  return order.fills.some((fill) => fill.status === 'unsettled');
}

/** The order of this hash, unless it was never accepted or is forgotten. */
function known(state: State, hash: string): ReferenceOrder | undefined {
  const order = state.orders.get(hash);
  if (order === undefined) return undefined;
  const forgotten = order.status !== 'open' && !lives(state, order.expiration) && !hasUnsettledFill(order);
  return forgotten ? undefined : order;
}

function openOrders(state: State): ReferenceOrder[] {
  return [...state.books.values()].flat();
}

const byNumber = (a: ReferenceOrder, b: ReferenceOrder) => a.number - b.number;
const bestFirst = (side: Side) => (a: ReferenceOrder, b: ReferenceOrder) =>
  (side === BUY ? b.placed.price - a.placed.price : a.placed.price - b.placed.price) || byNumber(a, b);

function bookKey(marketId: string, outcome: number, side: Side): string {
  return `${marketId} ${outcome} ${side}`;
}

function book(state: State, marketId: string, outcome: number, side: Side): ReferenceOrder[] {
  return state.books.get(bookKey(marketId, outcome, side)) ?? [];
}

function enterBook(state: State, order: ReferenceOrder): void {
  const { marketId, outcome, side } = order.placed;
  state.books.set(bookKey(marketId, outcome, side), [...book(state, marketId, outcome, side), order]);
}

function leaveBook(state: State, order: ReferenceOrder): void {
  const { marketId, outcome, side } = order.placed;
  state.books.set(bookKey(marketId, outcome, side), book(state, marketId, outcome, side).filter((other) => other !== order));
}

function reject(turn: Turn, code: RejectionCode, subject: string): void {
  turn.events.push({ type: 'CommandRejected', v: 1, code, subject });
}

/** The fields that every event about an order has, in the schemas' order. */
function naming(order: ReferenceOrder) {
  const { orderHash, marketId, side, outcome, price } = order.placed;
  return { orderHash, orderNumber: order.number, marketId, side, outcome, price };
}

function cancel(state: State, turn: Turn, order: ReferenceOrder, reason: CancelReason, rested: bigint): void {
  leaveBook(state, order);
  order.status = 'cancelled';
  turn.events.push({
    type: 'OrderCancelled', v: 1, ...naming(order), remaining: String(order.remaining), rested: String(rested), reason,
  });
}

function rest(turn: Turn, order: ReferenceOrder, size: bigint): void {
  turn.events.push({ type: 'OrderRested', v: 1, ...naming(order), size: String(size) });
}

function placeOrder(state: State, turn: Turn, command: PlaceOrder): void {
  const { orderHash, marketId, trader, nonce } = command;
  const size = BigInt(command.size);
  const expiration = BigInt(command.expiration);
  const repeated = known(state, orderHash);
  if (repeated !== undefined) {
    turn.events.push({ type: 'OrderRepeated', v: 1, orderHash, orderNumber: repeated.number });
    return;
  }
  if (size === 0n) return reject(turn, 'invalid_size', orderHash);
  if (expiration < BigInt(Math.floor(command.at / 1_000) + 60)) return reject(turn, 'invalid_expiration', orderHash);
  if (!lives(state, expiration)) return reject(turn, 'invalid_expiration', orderHash);
  const market = state.markets.get(marketId);
  if (market === undefined) return reject(turn, 'unknown_market', orderHash);
  if (!isOpen(state, market)) return reject(turn, 'market_closed', orderHash);
  const sameNonce = state.byNonce.get(`${trader} ${nonce}`) ?? [];
  const taken = sameNonce.some((other) => other.status === 'open' || (other.status === 'filled' && hasUnsettledFill(other)));
  if (taken) return reject(turn, 'duplicate_nonce', orderHash);

  const order: ReferenceOrder = {
    number: state.position, placed: command, size, expiration, status: 'open', remaining: size, fills: [],
  };
  state.orders.set(orderHash, order);
  state.byNonce.set(`${trader} ${nonce}`, [...sameNonce, order]);
  turn.events.push({
    type: 'OrderAccepted', v: 1, ...naming(order), trader, size: command.size, nonce, expiration: command.expiration,
  });
  matchThenRest(state, turn, order);
}

/** The order is open and off the book, with `remaining` to match; what remains then rests. */
function matchThenRest(state: State, turn: Turn, incoming: ReferenceOrder): void {
  const { marketId, outcome, side, price } = incoming.placed;
  const otherSide = side === BUY ? SELL : BUY;
  const met = book(state, marketId, outcome, otherSide)
    .filter(({ placed }) => (side === BUY ? placed.price <= price : placed.price >= price))
    .sort(bestFirst(otherSide));
  for (const resting of met) {
    if (incoming.remaining === 0n) break;
    if (turn.work === WORK_LIMIT) return cancel(state, turn, incoming, 'match_limit', 0n);
    turn.work++;
    if (isPulled(state, resting)) cancel(state, turn, resting, 'settlement_failed', resting.remaining);
    else if (!lives(state, resting.expiration)) cancel(state, turn, resting, 'expired', resting.remaining);
    else if (resting.placed.trader === incoming.placed.trader) cancel(state, turn, resting, 'self_trade', resting.remaining);
    else trade(state, turn, resting, incoming);
  }
  if (incoming.remaining === 0n) {
    incoming.status = 'filled';
    return;
  }
  enterBook(state, incoming);
  rest(turn, incoming, incoming.remaining);
}

function trade(state: State, turn: Turn, maker: ReferenceOrder, taker: ReferenceOrder): void {
  const size = maker.remaining < taker.remaining ? maker.remaining : taker.remaining;
  const { marketId, outcome, price } = maker.placed;
  const [buy, sell] = taker.placed.side === BUY ? [taker, maker] : [maker, taker];
  const matched: FillMatched = {
    type: 'FillMatched', v: 1, fill: state.fills.length, marketId, outcome, price, size: String(size),
    cost: String((size * BigInt(price) + 999_999n) / 1_000_000n), takerSide: taker.placed.side,
    makerNumber: maker.number, takerNumber: taker.number, buyer: buy.placed.trader, seller: sell.placed.trader,
  };
  const fill: ReferenceFill = { matched, size, maker, taker, status: 'unsettled' };
  state.fills.push(fill);
  for (const order of [maker, taker]) {
    order.fills.push(fill);
    order.remaining -= size;
  }
  if (maker.remaining === 0n) {
    maker.status = 'filled';
    leaveBook(state, maker);
  }
  turn.events.push(matched);
}

function cancelOrder(state: State, turn: Turn, command: CancelOrder): void {
  const { orderHash, marketId, side, trader } = command;
  const order = known(state, orderHash);
  if (order === undefined || order.placed.marketId !== marketId || (side !== undefined && order.placed.side !== side)) {
    return reject(turn, 'unknown_order', orderHash);
  }
  if (trader !== undefined && order.placed.trader !== trader) return reject(turn, 'not_order_owner', orderHash);
  switch (order.status) {
    case 'open': cancel(state, turn, order, 'user', order.remaining); break;
    case 'filled': reject(turn, 'already_filled', orderHash); break;
    case 'cancelled':
      turn.events.push({
        type: 'CancelRepeated', v: 1, orderHash, orderNumber: order.number, size: String(order.size), remaining: String(order.remaining),
      });
  }
}

function openMarket(state: State, turn: Turn, command: OpenMarket): void {
  const { marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind } = command;
  if (state.markets.has(marketId)) return reject(turn, 'market_exists', marketId);
  const market: ReferenceMarket = { id: marketId, chainId, expiration: BigInt(expiration), closed: false };
  if (!isOpen(state, market)) return reject(turn, 'invalid_expiration', marketId);
  state.markets.set(marketId, market);
  turn.events.push({
    type: 'MarketOpened', v: 1, marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind,
  });
}

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

function advanceClock(state: State, turn: Turn): void {
  const due = [...state.markets.values()].filter((market) => !market.closed && !isOpen(state, market))
    .sort((a, b) => compare(a.expiration, b.expiration));
  for (const market of due) {
    if (turn.work === WORK_LIMIT) return;
    turn.work++;
    market.closed = true;
    state.sweeps.push({ market });
    turn.events.push({ type: 'MarketClosed', v: 1, marketId: market.id });
  }
  for (const sweep of state.sweeps) {
    if (!cancelAll(state, turn, sweptBy(state, sweep), 'market' in sweep ? 'market_closed' : 'settlement_failed')) return;
  }
  const expired = openOrders(state).filter((order) => !lives(state, order.expiration))
    .sort((a, b) => compare(a.expiration, b.expiration) || byNumber(a, b));
  cancelAll(state, turn, expired, 'expired');
}

/** Cancels these in order as far as the work limit allows; false if some are left. */
function cancelAll(state: State, turn: Turn, orders: readonly ReferenceOrder[], reason: CancelReason): boolean {
  for (const order of orders) {
    if (turn.work === WORK_LIMIT) return false;
    turn.work++;
    cancel(state, turn, order, reason, order.remaining);
  }
  return true;
}

/** What a sweep still has to cancel, in its order. */
function sweptBy(state: State, sweep: Sweep): ReferenceOrder[] {
  if (!('market' in sweep)) return openOrders(state).filter((order) => pulls(state, sweep, order)).sort(byNumber);
  const { id } = sweep.market;
  return [YES, NO].flatMap((outcome) => [BUY, SELL].flatMap((side) => [...book(state, id, outcome, side)].sort(bestFirst(side))));
}

function isPulled(state: State, order: ReferenceOrder): boolean {
  return state.sweeps.some((sweep) => !('market' in sweep) && pulls(state, sweep, order));
}

function settleFill(state: State, turn: Turn, command: SettleFill): void {
  const fill = state.fills[command.fill];
  if (fill?.status !== 'unsettled') return reject(turn, 'unknown_fill', String(command.fill));
  fill.status = 'settled';
  turn.events.push({ ...fill.matched, type: 'FillSettled', txHash: command.txHash });
}

function failFill(state: State, turn: Turn, command: FailFill): void {
  const fill = state.fills[command.fill];
  if (fill?.status !== 'unsettled') return reject(turn, 'unknown_fill', String(command.fill));
  const { txHash, reason, culprit } = command;
  fill.status = 'failed';
  fill.maker.remaining += fill.size;
  fill.taker.remaining += fill.size;
  turn.events.push({ ...fill.matched, type: 'FillFailed', txHash, reason, culprit });

  const [buy, sell] = fill.taker.placed.side === BUY ? [fill.taker, fill.maker] : [fill.maker, fill.taker];
  const culprits = culprit === 'both' ? [buy, sell] : culprit === 'buyer' ? [buy] : [sell];
  for (const order of culprits) {
    if (order.status === 'cancelled') continue;
    turn.work++;
    cancel(state, turn, order, 'settlement_failed', order.status === 'open' ? order.remaining - fill.size : 0n);
  }
  const pull: Pull = { command, fill, before: state.position };
  if (!cancelAll(state, turn, sweptBy(state, pull), 'settlement_failed')) state.sweeps.push(pull);
  if (culprit !== 'both') giveBack(state, turn, culprit === 'buyer' ? sell : buy, fill.size);
}

/** Whether this open order depends on what the culprit of a failed fill did not have. */
function pulls(state: State, { command: { reason, culprit }, fill, before }: Pull, { number, placed }: ReferenceOrder): boolean {
  if (number >= before) return false;
  const { marketId, outcome, buyer, seller } = fill.matched;
  const sameChain = state.markets.get(placed.marketId)!.chainId === state.markets.get(marketId)!.chainId;
  if (reason === 'buyer_insufficient_balance' || reason === 'buyer_insufficient_allowance') {
    return culprit === 'buyer' && placed.trader === buyer && placed.side === BUY && sameChain;
  }
  if (culprit !== 'seller' || placed.trader !== seller || placed.side !== SELL) return false;
  if (reason === 'seller_not_approved') return sameChain;
  return reason === 'seller_insufficient_shares' && placed.marketId === marketId && placed.outcome === outcome;
}

/** What a failed fill does for the innocent order. */
function giveBack(state: State, turn: Turn, order: ReferenceOrder, size: bigint): void {
  const reinstated: Event = { type: 'OrderReinstated', v: 1, ...naming(order), size: String(size) };
  if (order.status === 'cancelled') return;
  if (order.status === 'open') {
    turn.events.push(reinstated);
    rest(turn, order, size);
    return;
  }
  if (!lives(state, order.expiration)) return cancel(state, turn, order, 'expired', 0n);
  if (!isOpen(state, state.markets.get(order.placed.marketId)!)) return cancel(state, turn, order, 'market_closed', 0n);
  order.status = 'open';
  turn.events.push(reinstated);
  matchThenRest(state, turn, order);
}
