/**
 * The engine's state as parts, which are JSON or arrays of numbers, and back; runs in Node and in a browser. Snapshots
 * only save time: a replay from position 0 gives the same state.
 */
import { Book, type BookDump } from '../book/book.js';
import type { HashIndex } from '../book/hash-index.js';
import { OrderPool } from '../book/order-pool.js';
import { openBoundariesOf } from '../rules/boundaries.js';
import { Deadlines } from '../rules/deadlines.js';
import type { Engine } from './stepping.js';
import { RULES_VERSION } from '../rules/limits.js';
import { PendingFills, type PendingFillChunk } from '../rules/pending-fills.js';
import {
  CANCELLED, FILLED, diesBefore, indexTokens, nonceHash, stateOf,
  type Boundary, type ChainCursor, type Market, type OpenProposal, type OpenRelay, type QuickTerms, type State, type Sweep,
} from '../rules/state.js';
import type { ArmedSwitch, Trader } from '../rules/trader.js';

/** The layout below, counted up with each change of it. A snapshot with another layout is not used. */
export const LAYOUT = 'pxsnap07';
/** Markets and traders per part: a text has an upper limit. */
const BLOCK = 10_000;

export type NumberArray = Int32Array | Uint32Array | Uint8Array | BigUint64Array;
export type NumberArrayConstructor<A extends NumberArray> = {
  new(buffer: ArrayBufferLike, byteOffset: number, length: number): A;
  readonly BYTES_PER_ELEMENT: number;
};

/** JSON, or numbers; the latter may be the engine's own, which change with its next step. */
export type SnapshotPart = string | NumberArray;

/** Gives the parts in the order in which they were joined. The state takes the arrays over, and changes them. */
export interface PartReader {
  json(): unknown;
  numbers<A extends NumberArray>(kind: NumberArrayConstructor<A>): A;
}

/** What is small: all but markets, traders, orders, deadlines and fills, which are parts of their own. */
interface Head {
  readonly rules: number;
  readonly position: number;
  readonly digest: readonly number[];
  readonly now: number;
  readonly nextFill: number;
  readonly chains: Entries<ChainCursor>;
  readonly relays: Entries<OpenRelay>;
  readonly proposals: Entries<OpenProposal>;
  readonly boundaries: readonly BoundaryDump[];
  readonly newestPrices: Entries<number>;
  readonly closings: readonly number[];
  readonly sweeps: readonly Sweep[];
  readonly armed: readonly ArmedSwitch[];
  readonly markets: number;
  readonly traders: number;
  readonly pool: { readonly high: number; readonly freeHead: number; readonly stride: number; readonly chunks: number; readonly columns: number };
  /** The chunks of the pending fills: their keys, and how many fills each has. */
  readonly fills: readonly (readonly [key: number, pending: number])[];
}

type Key = number | string;
/** What a map has, in its order. */
type Entries<V> = readonly (readonly [Key, V])[];

/**
 * What is undefined in the state is null. `words` are the lengths of the market's four arrays of levels; null for the
 * empty books that all finished markets share.
 */
type MarketDump = readonly [
  marketId: string, chainId: number, expiration: number, closed: boolean, winner: Market['winner'] | null, halved: boolean,
  quick: QuickDump | null, tokens: readonly [string, string] | null, words: Lengths | null,
];
type Lengths = readonly [yesBids: number, yesAsks: number, noBids: number, noAsks: number];
type QuickDump = readonly [
  asset: string, startTime: number, strike: QuickTerms['strike'] | null, end: QuickTerms['end'] | null, outcome: QuickTerms['outcome'] | null,
  missed: readonly ('start' | 'end')[],
];
type BoundaryDump = readonly [
  key: string, asset: string, time: number, best: Boundary['best'] | null, decided: boolean, missed: boolean, markets: readonly number[],
];
type TraderDump = readonly [
  address: string, firstOpen: number, lastOpen: number, openCount: number,
  floors: unknown, latestDefault: unknown, cleared: unknown, cancelAlls: unknown, switches: unknown,
];

/** A state and the digest of the history that led to it. */
export interface Restored {
  /** The next position. */
  readonly position: number;
  readonly state: State;
  readonly digest: Uint8Array;
}

/** The state's parts. Engines with the same history give the same parts. */
export function partsOf({ state, digest }: Pick<Engine, 'state' | 'digest'>): SnapshotPart[] {
  const { markets, traders } = state;
  const pool = state.orders.dump();
  const fills = [...state.fills.dump()];
  const head: Head = {
    rules: RULES_VERSION, position: state.position, digest: [...digest], now: state.now, nextFill: state.nextFill,
    chains: [...state.chains], relays: [...state.relays], proposals: [...state.proposals],
    boundaries: [...state.boundaries].map(([key, { asset, time, best, decided, missed, markets: own }]) => (
      [key, asset, time, best ?? null, decided, missed, own] as const)),
    newestPrices: [...state.newestPrices], closings: state.closings, sweeps: state.sweeps, armed: state.armed,
    markets: markets.length, traders: traders.length,
    pool: { high: pool.high, freeHead: pool.freeHead, stride: pool.stride, chunks: pool.chunks.length, columns: pool.columns.length },
    fills: fills.map(([key, { pending }]) => [key, pending] as const),
  };
  return [
    JSON.stringify(head),
    ...blocksOf(markets, (market) => dumpMarket(state, market)), ...blocksOf(traders, dumpTrader),
    levelsOf(state), ...pool.chunks, ...pool.columns, state.deadlines.dump(),
    ...fills.flatMap(([, { buySlots, sellSlots, prices, sizes, states }]) => [buySlots, sellSlots, prices, sizes, states]),
  ];
}

/** The state in parts of this layout; undefined when they were made by other rules. */
export function restoreParts(parts: PartReader): Restored | undefined {
  const head = parts.json() as Head;
  return head.rules === RULES_VERSION ? { position: head.position, state: restore(head, parts), digest: Uint8Array.from(head.digest) } : undefined;
}

/** Reads the parts in the order in which `partsOf` gives them. */
function restore(head: Head, parts: PartReader): State {
  const markets = readBlocks<MarketDump>(parts, head.markets);
  const traders = readBlocks<TraderDump>(parts, head.traders);
  const levels = parts.numbers(Int32Array);
  const { high, freeHead, stride, chunks, columns } = head.pool;
  const readInts = (count: number): Int32Array[] => Array.from({ length: count }, () => parts.numbers(Int32Array));
  const orders = OrderPool.restore({ high, freeHead, stride, chunks: readInts(chunks), columns: readInts(columns) });
  const fresh = stateOf(orders);
  const state: State = {
    ...fresh,
    position: head.position, now: head.now, nextFill: head.nextFill, sweeps: [...head.sweeps], armed: [...head.armed],
    closings: [...head.closings],
    markets: restoreMarkets(fresh, markets, levels),
    marketIndex: new Map(markets.map(([marketId], index) => [marketId, index])),
    chains: mapOf(head.chains), relays: mapOf(head.relays), proposals: mapOf(head.proposals), newestPrices: mapOf(head.newestPrices),
    boundaries: new Map(head.boundaries.map(([key, asset, time, best, decided, missed, own]) => (
      [key, { asset, time, best: best ?? undefined, decided, missed, markets: [...own] }]))),
    traders: traders.map(restoreTrader),
    traderIndex: new Map(traders.map(([address], index) => [address, index])),
    deadlines: Deadlines.restore(diesBefore(orders, fresh.columns), parts.numbers(Int32Array)),
    nonces: takenNonces(fresh),
    fills: PendingFills.restore(head.fills.map(([key, pending]) => [key, readFills(parts, pending)])),
  };
  for (const market of state.markets) {
    indexTokens(state, market);
    if (market.quick !== undefined) state.unresolvedQuick.add(market.index);
  }
  state.openBoundaries.push(...openBoundariesOf(state));
  return state;
}

/** The taken nonces follow from the orders. */
function takenNonces({ orders, columns }: Pick<State, 'orders' | 'columns'>): HashIndex {
  const { trader, nonceHi, nonceLo, status, unsettled } = columns;
  return orders.indexed(
    (slot) => nonceHash(trader.get(slot), nonceHi.get(slot), nonceLo.get(slot)),
    (slot) => status.get(slot) !== CANCELLED && !(status.get(slot) === FILLED && unsettled.get(slot) === 0));
}

function readFills(parts: PartReader, pending: number): PendingFillChunk {
  return {
    pending, buySlots: parts.numbers(Int32Array), sellSlots: parts.numbers(Int32Array), prices: parts.numbers(Uint32Array),
    sizes: parts.numbers(BigUint64Array), states: parts.numbers(Uint8Array),
  };
}

function dumpMarket({ noBooks }: State, market: Market): MarketDump {
  const { marketId, chainId, expiration, closed, winner, halved, quick, tokens, books } = market;
  return [
    marketId, chainId, expiration, closed, winner ?? null, halved, quick === undefined ? null : dumpQuick(quick),
    tokens === undefined ? null : [tokens[0].toString(16), tokens[1].toString(16)],
    books === noBooks ? null : books.flatMap((book) => lengthsOf(book.dump())) as unknown as Lengths,
  ];
}

function lengthsOf({ bids, asks }: BookDump): readonly number[] {
  return [bids.length, asks.length];
}

function dumpQuick({ asset, startTime, strike, end, outcome, missed }: QuickTerms): QuickDump {
  return [asset, startTime, strike ?? null, end ?? null, outcome ?? null, [...missed]];
}

/** The levels of all books, one market after the other: YES before NO, bids before asks. */
function levelsOf({ markets, noBooks }: State): Int32Array {
  const dumps = markets.flatMap(({ books }) => books === noBooks ? [] : books.map((book) => book.dump()));
  const all = new Int32Array(dumps.reduce((words, { bids, asks }) => words + bids.length + asks.length, 0));
  let at = 0;
  for (const levels of dumps.flatMap(({ bids, asks }) => [bids, asks])) {
    all.set(levels, at);
    at += levels.length;
  }
  return all;
}

function restoreMarkets({ orders, noBooks }: State, dumps: readonly MarketDump[], levels: Int32Array): Market[] {
  let at = 0;
  const take = (words: number): Int32Array => levels.subarray(at, at += words);
  return dumps.map(([marketId, chainId, expiration, closed, winner, halved, quick, tokens, words], index): Market => ({
    index, marketId, chainId, expiration, closed, winner: winner ?? undefined, halved, quick: quick === null ? undefined : restoreQuick(quick),
    tokens: tokens === null ? undefined : [BigInt(`0x${tokens[0]}`), BigInt(`0x${tokens[1]}`)],
    books: words === null
      ? noBooks
      : [
          Book.restore(orders, { bids: take(words[0]), asks: take(words[1]) }),
          Book.restore(orders, { bids: take(words[2]), asks: take(words[3]) }),
        ],
  }));
}

function restoreQuick([asset, startTime, strike, end, outcome, missed]: QuickDump): QuickTerms {
  return {
    asset, startTime, strike: strike ?? undefined, end: end ?? undefined, outcome: outcome ?? undefined, missed: new Set(missed),
  };
}

function dumpTrader(
  { address, firstOpen, lastOpen, openCount, floors, latestDefault, cleared, cancelAlls, switches }: Trader,
): TraderDump {
  return [
    address, firstOpen, lastOpen, openCount, entriesOf(floors), latestDefault ?? null, entriesOf(cleared), entriesOf(cancelAlls),
    entriesOf(switches),
  ];
}

function restoreTrader(
  [address, firstOpen, lastOpen, openCount, floors, latestDefault, cleared, cancelAlls, switches]: TraderDump, index: number,
): Trader {
  return {
    index, address, firstOpen, lastOpen, openCount, floors: optionalMap(floors),
    latestDefault: (latestDefault ?? undefined) as Trader['latestDefault'],
    cleared: optionalMap(cleared), cancelAlls: optionalMap(cancelAlls), switches: optionalMap(switches),
  };
}

function entriesOf<V>(map: ReadonlyMap<Key, V> | undefined): Entries<V> | null {
  return map === undefined ? null : [...map];
}

function mapOf<K extends Key, V>(entries: Entries<V>): Map<K, V> {
  return new Map(entries as readonly (readonly [K, V])[]);
}

function optionalMap<K extends Key, V>(entries: unknown): Map<K, V> | undefined {
  return entries === null ? undefined : mapOf(entries as Entries<V>);
}

function blocksOf<T>(all: readonly T[], dump: (one: T) => unknown): string[] {
  return Array.from({ length: Math.ceil(all.length / BLOCK) }, (_, block) => (
    JSON.stringify(all.slice(block * BLOCK, (block + 1) * BLOCK).map(dump))));
}

function readBlocks<T>(parts: PartReader, length: number): T[] {
  return Array.from({ length: Math.ceil(length / BLOCK) }, () => parts.json() as T[]).flat();
}
