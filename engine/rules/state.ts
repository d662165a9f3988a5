/**
 * The engine's state: markets, traders, orders and fills, with functions that read it for decisions. Only evolve.ts
 * changes the state.
 */
import { Book } from '../book/book.js';
import type { Column } from '../book/order-record.js';
import { HashIndex, mix32 } from '../book/hash-index.js';
import { OrderPool } from '../book/order-pool.js';
import { Deadlines } from './deadlines.js';
import type { RecordPrice } from '../records/commands.js';
import { NO, YES, type Claim, type MarketOutcome, type RelayAction, type Side } from '../records/fields.js';
import { EXPIRY_MARGIN_MS } from './limits.js';
import { PendingFills } from './pending-fills.js';
import { isBelow, type ArmedSwitch, type Clearing, type Nonce, type Trader } from './trader.js';

/** An order's `status`. Filled and cancelled orders are closed. */
export const OPEN = 0;
export const FILLED = 1;
export const CANCELLED = 2;

export interface Market {
  readonly index: number;
  readonly marketId: string;
  readonly chainId: number;
  readonly expiration: number;
  /** The market takes no more orders: MarketClosed has come, after its expiration or with its resolution. */
  closed: boolean;
  /** The final outcome; undefined until the market is resolved. */
  winner: MarketOutcome | undefined;
  /** The chain pays each share one half: the market has ended without a winner. */
  halved: boolean;
  /** What a quick market is about; undefined for others, and once the chain has resolved or halved the market. */
  quick: QuickTerms | undefined;
  /** ERC-1155 ids of the YES and the NO shares; undefined for a market that was opened without them. */
  tokens: readonly [bigint, bigint] | undefined;
  /**
   * The YES book and the NO book; the state's `noBooks` once the market is closed and its last order is off the book.
   */
  books: BookPair;
}

/** The YES book and the NO book of a market. */
export type BookPair = readonly [Book, Book];

/** A price that a source has published. `publishedAt` is in milliseconds since the Unix epoch. */
export type RecordedPrice = Pick<RecordPrice, 'source' | 'rank' | 'price' | 'publishedAt'>;

/** A price that counts for a quick market. */
export type CountedPrice = Omit<RecordedPrice, 'rank'>;

/** A time at which quick markets on an asset start or end. They all have the same price there. */
export interface Boundary {
  readonly asset: string;
  /** Unix seconds. */
  readonly time: number;
  /** The best observation so far; undefined until there is one. */
  best: RecordedPrice | undefined;
  /** `best` counts: later observations change nothing. */
  decided: boolean;
  /** No observation came in time. One that comes later still counts. */
  missed: boolean;
  /** Indices of the markets, in the order of opening. */
  readonly markets: number[];
}

/** A quick market's asset and start, and what is known of its result. It ends at the market's expiration. */
export interface QuickTerms {
  readonly asset: string;
  /** Unix seconds. */
  readonly startTime: number;
  /** The prices at the start and at the end; undefined until they are set. */
  strike: CountedPrice | undefined;
  end: CountedPrice | undefined;
  /** Undefined until both prices are set. */
  outcome: MarketOutcome | undefined;
  /** Prices that did not come in time, and have not come since. */
  readonly missed: Set<'start' | 'end'>;
}

/** The market and market outcome that an ERC-1155 id stands for. */
export interface TokenMarket {
  readonly market: Market;
  readonly outcome: MarketOutcome;
}

/** Orders that are to be cancelled, a bounded number per command. */
export type Sweep = { readonly kind: 'market'; readonly market: number } | Pull;

/**
 * A trader's open orders with numbers below `before` that depend on an asset that the trader turned out not to have
 * (`settlement_failed`), whose nonces the trader has cancelled on the chain, or all of which the trader has cancelled
 * (`user`), or which the trader's switch cancels (`cancel_after`).
 */
export interface Pull {
  readonly kind: 'trader';
  readonly reason: 'settlement_failed' | 'user' | 'cancel_after';
  readonly trader: number;
  readonly before: number;
  readonly chainId: number;
  /** Absent: orders of both sides. */
  readonly side?: Side;
  /** Only orders of this market and outcome; absent: orders of every market on the chain. */
  readonly only?: { readonly market: number; readonly outcome: MarketOutcome };
  /** Only orders of the market with this index; absent: of every market on the chain. */
  readonly market?: number;
  /** Only orders with lower nonces; absent: orders with any nonce. */
  readonly below?: Nonce;
}

/** How far a chain is recorded: the chain event of a new fact is at (nextBlock, nextLog) or later. */
export interface ChainCursor {
  readonly nextBlock: number;
  readonly nextLog: number;
  /**
   * The block of the last AdvanceChain, and its hash; absent until the first AdvanceChain. Facts of later blocks may be
   * recorded already.
   */
  readonly block?: number;
  readonly blockHash?: string;
}

/** A request to the relayer that has not ended. */
export interface OpenRelay {
  readonly requestId: string;
  readonly chainId: number;
  readonly action: RelayAction;
  readonly owner: string;
  readonly claims: readonly Claim[];
  /** The hashes of the transactions that were submitted for the request, in order. */
  readonly txHashes: readonly string[];
}

/** A proposed resolution that counts: it has neither resolved its market nor been rejected. */
export interface OpenProposal {
  readonly marketId: string;
  readonly assertionId: string;
  /** When its dispute window ends, in seconds since the Unix epoch. */
  readonly expirationTime: number;
  readonly disputed: boolean;
}

/** Values per order that the engine needs and the book does not. */
export interface OrderColumns {
  readonly trader: Column;
  readonly sizeHi: Column;
  readonly sizeLo: Column;
  readonly nonceHi: Column;
  readonly nonceLo: Column;
  /** When the order stops living, in milliseconds since the Unix epoch; at most 2^53. */
  readonly diesAt: Column;
  readonly status: Column;
  readonly unsettled: Column;
  /** 1 once the deadline has passed and the slot is kept only until the order's last fill settles. */
  readonly overdue: Column;
  /** Neighbours in the trader's list of open orders, as slot + 1; 0 means no neighbour. */
  readonly previousOpen: Column;
  readonly nextOpen: Column;
  /** The bits of `termBits`. */
  readonly terms: Column;
}

export interface State {
  /** The log position of the next command. */
  position: number;
  /** Milliseconds since the Unix epoch: the highest `at` of any command so far. */
  now: number;
  readonly markets: Market[];
  readonly marketIndex: Map<string, number>;
  /** Twice the market's index, plus the outcome, by ERC-1155 id. Small, since markets accumulate for ever. */
  readonly tokens: Map<bigint, number>;
  readonly chains: Map<number, ChainCursor>;
  /** Requests to the relayer that have not ended, by id, oldest first. */
  readonly relays: Map<string, OpenRelay>;
  /** Where quick markets start and end, by asset and time. */
  readonly boundaries: Map<string, Boundary>;
  /** Those that a market waits for, the earliest first, of equal ones that of the first asset in alphabetical order. */
  readonly openBoundaries: Boundary[];
  /** When the newest price of each asset was published, in milliseconds. */
  readonly newestPrices: Map<string, number>;
  /** What all markets that are over have for books. */
  readonly noBooks: BookPair;
  /**
   * The indices of the quick markets that the chain has not resolved, in the order of opening: few of all that there
   * have been.
   */
  readonly unresolvedQuick: Set<number>;
  /** Proposals that count, by market. No decision depends on them: they are there for the view. */
  readonly proposals: Map<string, OpenProposal>;
  /** Indices of markets that are not closed, by expiration and then by index. */
  readonly closings: number[];
  readonly traders: Trader[];
  readonly traderIndex: Map<string, number>;
  readonly orders: OrderPool;
  readonly columns: OrderColumns;
  /** Taken nonces: (trader, nonce) to slot. */
  readonly nonces: HashIndex;
  readonly deadlines: Deadlines;
  readonly fills: PendingFills;
  nextFill: number;
  sweeps: Sweep[];
  /** The armed switches, the earliest first, of equal ones the first armed. */
  readonly armed: ArmedSwitch[];
  /** The slot of the order that is being matched: FillMatched's taker. */
  incoming: number;
  /**
   * A scratch array for reading decimal text as [hi, lo] without an allocation. Its content is valid only right after a
   * read.
   */
  readonly halves: Uint32Array;
}

/** The state before the first command. */
export function emptyState(): State {
  return stateOf(new OrderPool());
}

/**
 * A state around a pool that has no orders yet, or that was restored from a snapshot; then the caller fills in the
 * rest.
 */
export function stateOf(orders: OrderPool): State {
  const columns: OrderColumns = {
    trader: orders.column(Uint32Array),
    sizeHi: orders.column(Uint32Array),
    sizeLo: orders.column(Uint32Array),
    nonceHi: orders.column(Uint32Array),
    nonceLo: orders.column(Uint32Array),
    diesAt: orders.column(Float64Array),
    status: orders.column(Uint8Array),
    unsettled: orders.column(Uint32Array),
    overdue: orders.column(Uint8Array),
    previousOpen: orders.column(Uint32Array),
    nextOpen: orders.column(Uint32Array),
    terms: orders.column(Uint8Array),
  };
  return {
    position: 0, now: 0, markets: [], marketIndex: new Map(), tokens: new Map(), chains: new Map(), relays: new Map(),
    proposals: new Map(), boundaries: new Map(), openBoundaries: [], newestPrices: new Map(),
    noBooks: [new Book(orders), new Book(orders)],
    unresolvedQuick: new Set(), closings: [], traders: [], traderIndex: new Map(), orders, columns,
    nonces: new HashIndex(), deadlines: new Deadlines(diesBefore(orders, columns)), fills: new PendingFills(),
    nextFill: 0, sweeps: [], armed: [],
    incoming: -1, halves: new Uint32Array(2),
  };
}

/** Orders by when they stop living, then by number. */
export function diesBefore(orders: OrderPool, columns: OrderColumns): (a: number, b: number) => boolean {
  return (a, b) => {
    const difference = columns.diesAt.get(a) - columns.diesAt.get(b);
    return difference === 0 ? orders.number(a) < orders.number(b) : difference < 0;
  };
}

/**
 * When an order with this expiration (Unix seconds, decimal) stops living, in milliseconds; at most 2^53, a time that
 * is never reached.
 */
export function deathOf(expiration: string): number {
  return Math.min(Number(expiration) * 1_000 - EXPIRY_MARGIN_MS, Number.MAX_SAFE_INTEGER + 1);
}

export function isOpenMarket({ now }: Pick<State, 'now'>, market: Market): boolean {
  return !market.closed && now < market.expiration * 1_000;
}

/** Adds a market's tokens to the index, if it has any. */
export function indexTokens({ tokens }: State, { tokens: own, index }: Market): void {
  own?.forEach((token, outcome) => tokens.set(token, 2 * index + outcome));
}

/**
 * The market and outcome of an ERC-1155 id (32 bytes as lower-case hex with `0x`); undefined when it belongs to no
 * known market.
 */
export function marketOfToken(state: State, token: string): TokenMarket | undefined {
  const place = state.tokens.get(BigInt(token)) ?? -1;
  const market = state.markets[Math.floor(place / 2)];
  return market === undefined ? undefined : { market, outcome: place % 2 === YES ? YES : NO };
}

export function lives(state: State, slot: number): boolean {
  return state.now < state.columns.diesAt.get(slot);
}

/** The slot of an order that is known and not forgotten, or -1. A forgotten order may still be in memory. */
export function findOrder(state: State, orderHash: string): number {
  const slot = state.orders.find(orderHash);
  return slot >= 0 && !isForgotten(state, slot) ? slot : -1;
}

/**
 * A closed order is forgotten when its deadline has passed, so that it cannot be placed again, and it has no unsettled
 * fill.
 */
export function isForgotten(state: State, slot: number): boolean {
  const { status, unsettled } = state.columns;
  return status.get(slot) !== OPEN && unsettled.get(slot) === 0 && !lives(state, slot);
}

export function nonceHash(trader: number, hi: number, lo: number): number {
  return mix32(mix32(mix32(trader) ^ hi) ^ lo);
}

/** The slot of the order that has this nonce of the trader, or -1. */
export function findNonce(state: State, nonce: Nonce & { readonly trader: number }): number {
  const { trader, nonceHi, nonceLo } = state.columns;
  const hash = nonceHash(nonce.trader, nonce.hi, nonce.lo);
  for (let slot = state.nonces.first(hash); slot >= 0; slot = state.nonces.after(hash, slot)) {
    if (trader.get(slot) === nonce.trader && nonceHi.get(slot) === nonce.hi && nonceLo.get(slot) === nonce.lo) {
      return slot;
    }
  }
  return -1;
}

/**
 * Why an order that comes back is cancelled: the trader, or the trader's switch, has cancelled all orders since it was
 * placed.
 */
export function clearedBy(state: State, slot: number): Clearing['reason'] | undefined {
  const { cleared } = ownerOf(state, slot);
  if (cleared === undefined) return undefined;
  const { chainId, marketId } = marketOf(state, slot);
  const number = state.orders.number(slot);
  return [cleared.get(chainId), cleared.get(marketId)]
    .find((clearing) => clearing !== undefined && number < clearing.before)?.reason;
}

/** The market with this id, open or closed; undefined for an unknown id. */
export function findMarket(state: State, marketId: string): Market | undefined {
  return state.markets[state.marketIndex.get(marketId) ?? -1];
}

/** The market of an order: its index is the order's book number in the pool. */
export function marketOf(state: State, slot: number): Market {
  return state.markets[state.orders.book(slot)]!;
}

/** The trader of an order. */
export function ownerOf(state: State, slot: number): Trader {
  return state.traders[state.columns.trader.get(slot)]!;
}

export function bookOf(state: State, slot: number): Book {
  return marketOf(state, slot).books[state.orders.outcome(slot)];
}

/** Whether a pull cancels an open order. */
export function isPulledBy(state: State, pull: Pull, slot: number): boolean {
  const { orders, columns } = state;
  if (columns.trader.get(slot) !== pull.trader || orders.number(slot) >= pull.before) return false;
  if (pull.side !== undefined && orders.side(slot) !== pull.side) return false;
  if (pull.below !== undefined && !isBelow(columns.nonceHi.get(slot), columns.nonceLo.get(slot), pull.below)) {
    return false;
  }
  const market = marketOf(state, slot);
  if (pull.market !== undefined && market.index !== pull.market) return false;
  return pull.only === undefined
    ? market.chainId === pull.chainId
    : market.index === pull.only.market && orders.outcome(slot) === pull.only.outcome;
}

/**
 * The resting orders of a market in sweeping order: YES before NO, BUY before SELL, best price first, then lowest
 * number.
 */
export function* restingOrders(state: State, market: Market): Generator<number> {
  for (const book of market.books) {
    for (const side of [0, 1] as const) {
      for (let rank = 0; rank < book.levels(side); rank++) {
        for (let slot = book.firstAt(side, rank); slot >= 0; slot = state.orders.next(slot)) yield slot;
      }
    }
  }
}

/** The open orders that a pull cancels, lowest number first. */
export function* pulledOrders(state: State, pull: Pull): Generator<number> {
  for (let slot = state.traders[pull.trader]!.firstOpen; slot >= 0; slot = state.columns.nextOpen.get(slot) - 1) {
    if (isPulledBy(state, pull, slot)) yield slot;
  }
}

/** The orders that a sweep still has to cancel, in the sweep's order. */
export function sweptOrders(state: State, sweep: Sweep): Generator<number> {
  return sweep.kind === 'market' ? restingOrders(state, state.markets[sweep.market]!) : pulledOrders(state, sweep);
}
