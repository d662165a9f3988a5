/** The engine's state as everybody outside the engine sees it: questions with answers that are true now, and nothing that can change it. */
import { formatUint64 } from '../book/uint64.js';
import type { MarketOutcome, Side } from '../records/fields.js';
import { chainCursor } from '../rules/chain-cursor.js';
import { FILLED, OPEN, marketOf, marketOfToken, nextDue, type ChainCursor, type State } from '../rules/state.js';
import type { Engine } from './engine.js';
import { openOrdersOf, type OpenOrder } from './open-orders.js';
import { unsettledFills, type UnsettledFill } from './unsettled-fills.js';

export type { ChainCursor, OpenOrder, UnsettledFill };

export interface MarketView {
  readonly marketId: string;
  readonly chainId: number;
  /** Unix seconds. */
  readonly expiration: number;
  /** It takes no more orders: its expiration was seen to pass, or it is resolved. */
  readonly closed: boolean;
  /** The final outcome; undefined until the chain has it. */
  readonly winner: MarketOutcome | undefined;
  /** ERC-1155 ids of the YES and the NO shares; undefined where no chain has told them. */
  readonly tokens: readonly [string, string] | undefined;
}

export interface OrderView {
  /** The log position of its PlaceOrder. */
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
  /** The last log position that this includes. */
  readonly asOf: number;
}

/** Answers are of one moment when asked in one turn of the event loop. Iterables are read to their end, or left, before the next turn. */
export interface EngineView {
  /** Commands that are decided: the log position of the next one. */
  readonly position: number;
  /** The digest of the history up to the last decided command; 32 bytes. */
  readonly digest: Uint8Array;
  /** Milliseconds since the Unix epoch at which the clock has work to do; Infinity while there is none. */
  nextDue(): number;
  /** A market, open or closed. */
  market(marketId: string): MarketView | undefined;
  markets(): Iterable<MarketView>;
  /** Whether an ERC-1155 id (32 bytes as lower-case hex) is that of a market's shares. */
  isKnownToken(token: string): boolean;
  /** Undefined for an order that never was, or that the engine has forgotten: ask the read models then. */
  order(orderHash: string): OrderView | undefined;
  /** The trader of an order that the engine has in memory. Throws for another one. */
  traderOf(orderHash: string): string;
  /** Every open order with its trader. */
  openOrders(): Iterable<OpenOrder & { readonly trader: string }>;
  /** The number of some order on the chain that the engine has in memory; undefined when there is none. */
  rememberedOrder(chainId: number): number | undefined;
  /** The number that the next fill gets. */
  readonly nextFill: number;
  /** The chain's unsettled fills with numbers of `from` and higher, ascending. Costs next to nothing where there are none. */
  unsettledFills(asked: { readonly chainId: number; readonly from: number }): Iterable<UnsettledFill>;
  /** How far a chain is recorded; undefined before its first fact. */
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
    nextDue: () => nextDue(state),
    market: (marketId) => state.markets[state.marketIndex.get(marketId) ?? -1],
    markets: () => state.markets.values(),
    isKnownToken: (token) => marketOfToken(state, token) !== undefined,
    order: (orderHash) => orderView(state, orderHash),
    traderOf: (orderHash) => traderOf(state, orderHash),
    openOrders: () => openOrders(state),
    rememberedOrder: (chainId) => rememberedOrder(state, chainId),
    unsettledFills: (asked) => unsettledFills(state, asked),
    cursor: (chainId) => chainCursor(state, chainId),
    chains: () => state.chains.keys(),
  };
}

/** The last block whose facts are all recorded; undefined before the first, and while the facts of a later block come in. */
export function recordedBlock(view: Pick<EngineView, 'cursor'>, chainId: number): number | undefined {
  const { block, nextBlock, nextLog } = view.cursor(chainId) ?? {};
  return block !== undefined && nextBlock === block + 1 && nextLog === 0 ? block : undefined;
}

function orderView(state: State, orderHash: string): OrderView | undefined {
  const { orders, columns } = state;
  const slot = orders.find(orderHash);
  if (slot < 0) return undefined;
  const { marketId, chainId } = marketOf(state, slot);
  return {
    orderNumber: orders.number(slot), marketId, chainId, trader: traderAt(state, slot), side: orders.side(slot),
    size: formatUint64(columns.sizeHi.get(slot), columns.sizeLo.get(slot)), remaining: orders.remaining(slot).toString(),
    status: statusOf(columns.status.get(slot)), asOf: state.position - 1,
  };
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
  return traderAt(state, slot);
}

function traderAt(state: State, slot: number): string {
  return state.traders[state.columns.trader.get(slot)]!.address;
}

function* openOrders(state: State): Generator<OpenOrder & { readonly trader: string }> {
  for (const { address: trader } of state.traders) {
    for (const order of openOrdersOf(state, trader)) yield { ...order, trader };
  }
}

function rememberedOrder(state: State, chainId: number): number | undefined {
  for (const slot of state.orders.slots()) {
    if (marketOf(state, slot).chainId === chainId) return state.orders.number(slot);
  }
  return undefined;
}
