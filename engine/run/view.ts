/**
 * The read-only view of the engine's state, for all code outside the engine. Every answer is a copy of the state at
 * this moment: who keeps one over an await has what was so then, and never the engine's own objects, which change with
 * every command.
 */
import { formatUint64 } from '../records/integers.js';
import type { PlaceOrder } from '../records/commands.js';
import type { Event, RejectionCode } from '../records/events.js';
import type { MarketOutcome, Side } from '../records/fields.js';
import { isResolved } from '../rules/boundaries.js';
import { chainCursor } from '../rules/chain-cursor.js';
import { decide, nextDue, refusalByBook, refusalOf } from '../rules/decide.js';
import {
  FILLED, OPEN, findMarket, marketOf, marketOfToken, ownerOf,
  type Boundary, type ChainCursor, type Market, type OpenProposal, type OpenRelay, type QuickTerms, type State,
} from '../rules/state.js';
import type { Engine } from './stepping.js';
import { commitmentsOf, openOrdersOf, type Commitment, type OpenOrder } from './open-orders.js';
import { cancelledAllAt, hasOrders, switchOf, type SwitchView, type TraderOnChain } from './trader-requests.js';
import { unsettledFill, unsettledFills, type MatchedFill, type UnsettledFill } from './unsettled-fills.js';

export type { SwitchView };
export type { ChainCursor, Commitment, MatchedFill, OpenOrder, OpenProposal, OpenRelay, UnsettledFill };

export interface MarketView {
  readonly marketId: string;
  readonly chainId: number;
  /** Unix seconds. */
  readonly expiration: number;
  /** The market takes no more orders: MarketClosed has come, after its expiration or with its resolution. */
  readonly closed: boolean;
  /** The final outcome; undefined until the market is resolved. */
  readonly winner: MarketOutcome | undefined;
  /** ERC-1155 ids of the YES and the NO shares; undefined for a market that was opened without them. */
  readonly tokens: readonly [bigint, bigint] | undefined;
}

export interface OrderView {
  /** The log position of the order's PlaceOrder. */
  readonly orderNumber: number;
  readonly marketId: string;
  readonly chainId: number;
  /** Lower-case hex. */
  readonly trader: string;
  readonly side: Side;
  /** In 1e-6 shares, decimal. */
  readonly size: string;
  readonly remaining: string;
  readonly status: 'open' | 'filled' | 'cancelled';
  /** The last log position that the answer includes. */
  readonly asOf: number;
}

/** A quick market with what is known of its result; it ends at its `expiration`. */
export type QuickMarket = MarketView & { readonly quick: Readonly<QuickTerms> };

/** A time at which a price of an asset is needed. `best` is the best one so far. */
export type OpenBoundary = Pick<Readonly<Boundary>, 'asset' | 'time' | 'best' | 'missed'>;

/**
 * Answers within one turn of the event loop are of one state. Use an iterable only until the next turn; what it gives
 * may be kept.
 */
export interface EngineView {
  /** The number of decided commands, which is the log position of the next command. */
  readonly position: number;
  /** The digest of the history up to the last decided command; 32 bytes. */
  readonly digest: Uint8Array;
  /** The latest time in the history, in milliseconds since the Unix epoch; 0 while it is empty. */
  readonly time: number;
  /** When the clock has work to do next, in milliseconds since the Unix epoch; Infinity while there is no such work. */
  nextDue(): number;
  /** A market, open or closed. */
  market(marketId: string): MarketView | undefined;
  markets(): Iterable<MarketView>;
  /** The ids of the chain's markets, the newest first. Cheap when only the first ones are taken. */
  newestMarkets(chainId: number): Iterable<string>;
  /** Whether an ERC-1155 id (32 bytes as lower-case hex) belongs to a market's shares. */
  isKnownToken(token: string): boolean;
  /**
   * Undefined for an unknown order, and for an order that the engine has forgotten; the read models have forgotten
   * orders.
   */
  order(orderHash: string): OrderView | undefined;
  /**
   * Why the engine would reject this order as the next command; undefined when it would accept it, and where only the
   * engine can tell: whether it would match, and whether it comes too late while the history's time is not past its
   * `notAfter` yet. The order must not be known.
   */
  refusalOf(order: PlaceOrder): RejectionCode | undefined;
  /**
   * Why the book, as it is, stands in the way of an order that `refusalOf` does not refuse; undefined when it does not.
   */
  refusalByBook(order: PlaceOrder): RejectionCode | undefined;
  /**
   * The events that this order would cause as the next command, decided by the engine's own rules; the state stays as
   * it is.
   */
  outcomeIf(order: PlaceOrder): readonly Event[];
  /**
   * Until when the engine rejects the trader's new orders (`trader_suspended`), in milliseconds since the Unix epoch; 0
   * for never suspended.
   */
  suspendedUntil(trader: string): number;
  /**
   * The number of the trader's open orders in all markets. Orders that a sweep will cancel count until they are
   * cancelled.
   */
  openOrderCount(trader: string): number;
  /** The trader's switch on the chain; undefined where the trader has never asked for it. */
  switchOf(asked: TraderOnChain): SwitchView | undefined;
  /**
   * The log position of the signed CancelAll with this deadline; undefined when none took effect, or it is long over.
   */
  cancelledAllAt(asked: TraderOnChain & { readonly marketId: string; readonly deadline: string }): number | undefined;
  /**
   * Whether the trader has an open order in the market, or, with a zero id, on the chain, or one that would be open
   * again if a fill of it failed.
   */
  hasOrders(asked: TraderOnChain & { readonly marketId: string }): boolean;
  /** The trader of an order. Throws Error when the engine does not have the order in memory. */
  traderOf(orderHash: string): string;
  /** Every open order with its trader. */
  openOrders(): Iterable<OpenOrder & { readonly trader: string }>;
  /** What a trader's open orders and unsettled fills on a chain need. */
  commitments(asked: { readonly trader: string; readonly chainId: number }): Iterable<Commitment>;
  /** The number of any one order on the chain that the engine has in memory; undefined when there is none. */
  rememberedOrder(chainId: number): number | undefined;
  /** The number that the next fill gets. */
  readonly nextFill: number;
  /** The chain's unsettled fills with numbers from `from` on, ascending. Cheap when there are none. */
  unsettledFills(asked: { readonly chainId: number; readonly from: number }): Iterable<UnsettledFill>;
  /** The unsettled fill with this number on the chain, with its orders' hashes; undefined when there is none. */
  unsettledFill(asked: { readonly chainId: number; readonly fill: number }): MatchedFill | undefined;
  /**
   * A request to the relayer that has not ended; undefined for an unknown one, and for one that has ended: the read
   * models have those.
   */
  relay(requestId: string): OpenRelay | undefined;
  /** The chain's requests to the relayer that have not ended, oldest first. */
  openRelays(chainId: number): Iterable<OpenRelay>;
  /** The chain's proposed resolutions that have neither resolved their markets nor been rejected, oldest first. */
  openProposals(chainId: number): Iterable<OpenProposal>;
  /**
   * The chain's standard markets that are closed, neither resolved nor halved, and without an open proposal, in the
   * order of opening.
   */
  unproposedMarkets(chainId: number): Iterable<MarketView>;
  /** The chain's quick markets that the chain has not resolved, in the order of opening. */
  quickMarkets(chainId: number): Iterable<QuickMarket>;
  /**
   * The quick market with this id; undefined for an unknown id, for another kind of market, and once the chain has
   * resolved or halved it.
   */
  quickMarket(marketId: string): QuickMarket | undefined;
  /** The times at which a price of an asset is still needed, the earliest first. */
  openBoundaries(): readonly OpenBoundary[];
  /** How far a chain is recorded; undefined before the chain's first fact. */
  cursor(chainId: number): ChainCursor | undefined;
  /** Chains with recorded facts. */
  chains(): Iterable<number>;
}

export function viewOf(engine: Engine): EngineView {
  const { state } = engine;
  return {
    get position() { return state.position; },
    get digest() { return engine.digest; },
    get nextFill() { return state.nextFill; },
    get time() { return state.now; },
    nextDue: () => nextDue(state),
    market(marketId) {
      const market = findMarket(state, marketId);
      return market === undefined ? undefined : marketView(market);
    },
    markets: () => markets(state),
    newestMarkets: (chainId) => newestMarkets(state, chainId),
    isKnownToken: (token) => marketOfToken(state, token) !== undefined,
    order: (orderHash) => orderView(state, orderHash),
    refusalOf: (order) => refusalAhead(state, order),
    refusalByBook: (order) => refusalByBook(state, order),
    outcomeIf: (order) => decide(atTime(state, order.at), order, state.position),
    suspendedUntil: (trader) => state.traders[state.traderIndex.get(trader) ?? -1]?.latestDefault?.suspendedUntil ?? 0,
    openOrderCount: (trader) => state.traders[state.traderIndex.get(trader) ?? -1]?.openCount ?? 0,
    switchOf: (asked) => switchOf(state, asked),
    cancelledAllAt: (asked) => cancelledAllAt(state, asked),
    hasOrders: (asked) => hasOrders(state, asked),
    traderOf: (orderHash) => traderOf(state, orderHash),
    openOrders: () => openOrders(state),
    commitments: (asked) => commitmentsOf(state, asked),
    rememberedOrder: (chainId) => rememberedOrder(state, chainId),
    unsettledFills: (asked) => unsettledFills(state, asked),
    unsettledFill: (asked) => unsettledFill(state, asked),
    relay: (requestId) => state.relays.get(requestId),
    openRelays: (chainId) => openRelays(state, chainId),
    openProposals: (chainId) => openProposals(state, chainId),
    unproposedMarkets: (chainId) => unproposedMarkets(state, chainId),
    quickMarkets: (chainId) => quickMarkets(state, chainId),
    quickMarket: (marketId) => quickMarket(state, marketId),
    openBoundaries: () => state.openBoundaries.map(({ asset, time, best, missed }) => ({ asset, time, best, missed })),
    cursor: (chainId) => chainCursor(state, chainId),
    chains: () => state.chains.keys(),
  };
}

/** The same state at a later time of the history; for reading only. */
function atTime(state: State, at: number): State {
  return at <= state.now ? state : Object.create(state, { now: { value: at } }) as State;
}

/**
 * The last block whose facts are all recorded; undefined before the first one, and while facts of a later block are
 * being recorded.
 */
export function recordedBlock(view: Pick<EngineView, 'cursor'>, chainId: number): number | undefined {
  const { block, nextBlock, nextLog } = view.cursor(chainId) ?? {};
  return block !== undefined && nextBlock === block + 1 && nextLog === 0 ? block : undefined;
}

/** A copy for each order that comes in takes about 0.1 µs; the order itself takes 100 µs. */
function marketView({ marketId, chainId, expiration, closed, winner, tokens }: Market): MarketView {
  return { marketId, chainId, expiration, closed, winner, tokens };
}

function* markets(state: State): Generator<MarketView> {
  for (const market of state.markets) yield marketView(market);
}

function* newestMarkets({ markets: all }: State, chainId: number): Generator<string> {
  for (let index = all.length - 1; index >= 0; index--) {
    const market = all[index];
    if (market?.chainId === chainId) yield market.marketId;
  }
}

function orderView(state: State, orderHash: string): OrderView | undefined {
  const { orders, columns } = state;
  const slot = orders.find(orderHash);
  if (slot < 0) return undefined;
  const { marketId, chainId } = marketOf(state, slot);
  return {
    orderNumber: orders.number(slot), marketId, chainId, trader: ownerOf(state, slot).address, side: orders.side(slot),
    size: formatUint64(columns.sizeHi.get(slot), columns.sizeLo.get(slot)),
    remaining: orders.remaining(slot).toString(),
    status: statusOf(columns.status.get(slot)), asOf: state.position - 1,
  };
}

/**
 * A refusal because of `notAfter` is the last word only from a history that is past it: an order that this history does
 * not know can be accepted nowhere then. Before, another process may just have had it accepted.
 */
function refusalAhead(state: State, order: PlaceOrder): RejectionCode | undefined {
  const code = refusalOf(state, order, Math.max(state.now, order.at));
  return code === 'too_late' && order.notAfter !== undefined && state.now <= order.notAfter ? undefined : code;
}

function statusOf(status: number): OrderView['status'] {
  switch (status) {
    case OPEN: return 'open';
    case FILLED: return 'filled';
    default: return 'cancelled';
  }
}

function traderOf(state: State, orderHash: string): string {
  const slot = state.orders.find(orderHash);
  if (slot < 0) throw new Error(`order ${orderHash} is not known to the engine`);
  return ownerOf(state, slot).address;
}

function* openOrders(state: State): Generator<OpenOrder & { readonly trader: string }> {
  for (const { address: trader } of state.traders) {
    for (const order of openOrdersOf(state, trader)) yield { ...order, trader };
  }
}

function* openRelays(state: State, chainId: number): Generator<OpenRelay> {
  for (const relay of state.relays.values()) if (relay.chainId === chainId) yield relay;
}

function* openProposals(state: State, chainId: number): Generator<OpenProposal> {
  for (const proposal of state.proposals.values()) if (findMarket(state, proposal.marketId)?.chainId === chainId) yield proposal;
}

function* unproposedMarkets(state: State, chainId: number): Generator<MarketView> {
  for (const market of state.markets) {
    if (market.chainId !== chainId || !market.closed || market.quick !== undefined || isResolved(market)) continue;
    if (!state.proposals.has(market.marketId)) yield marketView(market);
  }
}

function* quickMarkets(state: State, chainId: number): Generator<QuickMarket> {
  for (const index of state.unresolvedQuick) {
    const market = state.markets[index];
    const quick = market?.chainId === chainId ? quickView(market) : undefined;
    if (quick !== undefined) yield quick;
  }
}

function quickView(market: Market): QuickMarket | undefined {
  const { quick } = market;
  return quick === undefined
    ? undefined
    : { ...marketView(market), quick: { ...quick, missed: new Set(quick.missed) } };
}

function quickMarket(state: State, marketId: string): QuickMarket | undefined {
  const market = findMarket(state, marketId);
  return market === undefined ? undefined : quickView(market);
}

function rememberedOrder(state: State, chainId: number): number | undefined {
  for (const slot of state.orders.slots()) {
    if (marketOf(state, slot).chainId === chainId) return state.orders.number(slot);
  }
  return undefined;
}
