/** What the reference engine knows, and the questions and answers that its rules share: slow and obvious. */
import type { CancelOrdersBelow, FailFill, PlaceOrder, RecordPrice, RequestRelay } from '../../engine/records/commands.js';
import type { AllOrdersCancelled, CancelReason, Event, FillMatched, RejectionCode } from '../../engine/records/events.js';
import { BUY, NO, SELL, YES, type MarketOutcome, type Side } from '../../engine/records/fields.js';

export const WORK_LIMIT = 2_500;
const EXPIRY_MARGIN_MS = 20_000n;

export interface ReferenceMarket {
  readonly id: string;
  readonly chainId: number;
  readonly expiration: bigint;
  closed: boolean;
  winner?: MarketOutcome;
  halved: boolean;
  readonly quick: ReferenceQuick | undefined;
  readonly tokens: readonly string[];
}

/** A time at which quick markets on an asset start or end, shared by them. */
export interface ReferenceBoundary {
  readonly asset: string;
  readonly time: number;
  /** In order of opening. */
  readonly markets: ReferenceMarket[];
  best?: RecordPrice;
  decided: boolean;
  missed: boolean;
}

export interface ReferenceQuick {
  readonly start: ReferenceBoundary;
  readonly end: ReferenceBoundary;
  strike?: RecordPrice;
  endPrice?: RecordPrice;
}

export interface ReferenceOrder {
  readonly number: number;
  readonly placed: PlaceOrder;
  size: bigint;
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

/**
 * Orders on their way out: all of a closed market, those that depend on what the culprit of a failed fill did not have, those
 * whose nonces are cancelled, or those that their trader has cleared.
 */
export type Sweep = { readonly market: ReferenceMarket } | Pull | CancelOrdersBelow | Clearing;

/** All of a trader's orders on a chain, or in one market of it, with numbers below `before`. */
export interface Clearing {
  readonly trader: string;
  readonly chainId: number;
  readonly marketId?: string;
  readonly before: number;
  readonly reason: 'user' | 'cancel_after';
  /** What a CancelAll has caused. */
  readonly asked?: AllOrdersCancelled;
}

/** A request for a trader's switch that took effect. */
export interface ReferenceSwitch {
  readonly trader: string;
  readonly chainId: number;
  readonly deadline: string | undefined;
  /** Absent: not armed, or no longer by this request. */
  firesAt?: number;
}

export interface Pull {
  readonly command: FailFill;
  readonly fill: ReferenceFill;
  /** The FailFill's position: younger orders are not pulled. */
  readonly before: number;
}

export interface ReferenceDefault {
  readonly trader: string;
  readonly at: number;
  /** Of the trader's, each within a day of the one before. */
  readonly count: number;
  /** Those that had been matched. */
  readonly fills: ReadonlySet<ReferenceFill>;
  /** Until then the trader is suspended; null: the trader is not. */
  readonly until: number | null;
}

export interface State {
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
  /** The cursors: by chain, the lowest place of a new fact. */
  readonly cursors: Map<number, { block: number; log: number }>;
  /** By chain and trader. */
  readonly floors: Map<string, bigint>;
  /** Every default that counted, the oldest first. */
  readonly defaults: ReferenceDefault[];
  /** The oldest first. */
  readonly clearings: Clearing[];
  /** In the order of the requests. */
  readonly switches: ReferenceSwitch[];
  /** Open requests to the relayer, by id. */
  readonly relays: Map<string, RequestRelay>;
  /** When the newest price of each asset was published. */
  readonly newestPrices: Map<string, number>;
  readonly boundaries: ReferenceBoundary[];
}

/** One command's doing: the events so far, and the pieces of work that count against the limit. */
export interface Turn {
  readonly events: Event[];
  work: number;
}

export function emptyState(): State {
  return {
    now: 0, position: 0, digest: Buffer.alloc(32), markets: new Map(), orders: new Map(), byNonce: new Map(), books: new Map(),
    fills: [], sweeps: [], cursors: new Map(), floors: new Map(), defaults: [], clearings: [], switches: [],
    relays: new Map(), newestPrices: new Map(), boundaries: [],
  };
}

export function lives(state: State, expiration: bigint): boolean {
  return BigInt(state.now) < expiration * 1_000n - EXPIRY_MARGIN_MS;
}

export function isOpen(state: State, market: ReferenceMarket): boolean {
  return !market.closed && BigInt(state.now) < market.expiration * 1_000n;
}

export function hasUnsettledFill(order: ReferenceOrder): boolean {
  return order.fills.some((fill) => fill.status === 'unsettled');
}

/** The trader's nonce floor on a chain. */
export function floorOf(state: State, chainId: number, trader: string): bigint {
  return state.floors.get(`${chainId} ${trader}`) ?? 0n;
}

/** Whether the trader has cancelled the nonce of this order. */
export function isNonceCancelled(state: State, { marketId, trader, nonce }: PlaceOrder): boolean {
  return BigInt(nonce) < floorOf(state, chainOf(state, marketId), trader);
}

/** Whether a default has suspended the trader. */
export function isSuspended(state: State, trader: string): boolean {
  return state.defaults.some((each) => each.trader === trader && each.until !== null && state.now < each.until);
}

export function chainOf(state: State, marketId: string): number {
  return state.markets.get(marketId)!.chainId;
}

/** The order of this hash, unless it was never accepted or is forgotten. */
export function known(state: State, hash: string): ReferenceOrder | undefined {
  const order = state.orders.get(hash);
  if (order === undefined) return undefined;
  const forgotten = order.status !== 'open' && !lives(state, order.expiration) && !hasUnsettledFill(order);
  return forgotten ? undefined : order;
}

export function openOrders(state: State): ReferenceOrder[] {
  return [...state.books.values()].flat();
}

export const byNumber = (a: ReferenceOrder, b: ReferenceOrder) => a.number - b.number;
export const bestFirst = (side: Side) => (a: ReferenceOrder, b: ReferenceOrder) =>
  (side === BUY ? b.placed.price - a.placed.price : a.placed.price - b.placed.price) || byNumber(a, b);

function bookKey(marketId: string, outcome: number, side: Side): string {
  return `${marketId} ${outcome} ${side}`;
}

export function book(state: State, marketId: string, outcome: number, side: Side): ReferenceOrder[] {
  return state.books.get(bookKey(marketId, outcome, side)) ?? [];
}

export function enterBook(state: State, order: ReferenceOrder): void {
  const { marketId, outcome, side } = order.placed;
  state.books.set(bookKey(marketId, outcome, side), [...book(state, marketId, outcome, side), order]);
}

export function leaveBook(state: State, order: ReferenceOrder): void {
  const { marketId, outcome, side } = order.placed;
  state.books.set(bookKey(marketId, outcome, side), book(state, marketId, outcome, side).filter((other) => other !== order));
}

export function reject(turn: Turn, code: RejectionCode, subject: string): void {
  turn.events.push({ type: 'CommandRejected', v: 1, code, subject });
}

/** The fields that every event about an order has, in the schemas' order. */
export function naming(order: ReferenceOrder) {
  const { orderHash, marketId, side, outcome, price } = order.placed;
  return { orderHash, orderNumber: order.number, marketId, side, outcome, price };
}

export function cancel(state: State, turn: Turn, order: ReferenceOrder, reason: CancelReason, rested: bigint): void {
  leaveBook(state, order);
  order.status = 'cancelled';
  turn.events.push({
    type: 'OrderCancelled', v: 1, ...naming(order), remaining: String(order.remaining), rested: String(rested), reason,
  });
}

export function rest(turn: Turn, order: ReferenceOrder, size: bigint): void {
  turn.events.push({ type: 'OrderRested', v: 1, ...naming(order), size: String(size) });
}

/** Cancels these in order as far as the work limit allows; false if some are left. */
export function cancelAll(state: State, turn: Turn, orders: readonly ReferenceOrder[], reason: CancelReason): boolean {
  for (const order of orders) {
    if (turn.work === WORK_LIMIT) return false;
    turn.work++;
    cancel(state, turn, order, reason, order.remaining);
  }
  return true;
}

/** Whether a sweep still has something to cancel. */
export function hasMore(state: State, sweep: Sweep): boolean {
  if (!('market' in sweep)) return openOrders(state).some((order) => takes(state, sweep, order));
  const { id } = sweep.market;
  return [YES, NO].some((outcome) => [BUY, SELL].some((side) => book(state, id, outcome, side).length > 0));
}

/** What a sweep still has to cancel, in its order. */
export function sweptBy(state: State, sweep: Sweep): ReferenceOrder[] {
  if (!('market' in sweep)) return openOrders(state).filter((order) => takes(state, sweep, order)).sort(byNumber);
  const { id } = sweep.market;
  return [YES, NO].flatMap((outcome) => [BUY, SELL].flatMap((side) => [...book(state, id, outcome, side)].sort(bestFirst(side))));
}

export function reasonOf(sweep: Sweep): CancelReason {
  if ('market' in sweep) return 'market_closed';
  if ('reason' in sweep) return sweep.reason;
  return 'kind' in sweep ? 'user' : 'settlement_failed';
}

/** Whether a clearing is about this order. */
export function clears(state: State, { trader, chainId, marketId, before }: Clearing, { number, placed }: ReferenceOrder): boolean {
  if (placed.trader !== trader || number >= before) return false;
  return marketId === undefined ? chainOf(state, placed.marketId) === chainId : placed.marketId === marketId;
}

/** The first trader's sweep that takes this open order. */
export function sweepOn(state: State, order: ReferenceOrder): Sweep | undefined {
  return state.sweeps.find((sweep) => !('market' in sweep) && takes(state, sweep, order));
}

function takes(state: State, sweep: Pull | CancelOrdersBelow | Clearing, order: ReferenceOrder): boolean {
  if ('reason' in sweep) return clears(state, sweep, order);
  if (!('kind' in sweep)) return pulls(state, sweep, order);
  const { marketId, trader, nonce } = order.placed;
  return trader === sweep.trader && chainOf(state, marketId) === sweep.chainId && BigInt(nonce) < BigInt(sweep.belowNonce);
}

/** Whether this open order depends on what the culprit of a failed fill did not have. */
function pulls(state: State, { command: { reason, culprit }, fill, before }: Pull, { number, placed }: ReferenceOrder): boolean {
  if (number >= before) return false;
  const { marketId, outcome, buyer, seller } = fill.matched;
  const sameChain = chainOf(state, placed.marketId) === chainOf(state, marketId);
  if (reason === 'buyer_insufficient_balance' || reason === 'buyer_insufficient_allowance') {
    return culprit === 'buyer' && placed.trader === buyer && placed.side === BUY && sameChain;
  }
  if (culprit !== 'seller' || placed.trader !== seller || placed.side !== SELL) return false;
  if (reason === 'seller_not_approved') return sameChain;
  return reason === 'seller_insufficient_shares' && placed.marketId === marketId && placed.outcome === outcome;
}
