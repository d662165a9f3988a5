/** The engine's state as bytes and back. Snapshots only save time: a replay from position 0 gives the same state. */
import { createHash } from 'node:crypto';
import { deserialize, serialize } from 'node:v8';
import { Book, type BookDump } from '../book/book.js';
import { OrderPool, type OrderPoolDump } from '../book/order-pool.js';
import { openBoundariesOf } from '../rules/boundaries.js';
import { Deadlines } from '../rules/deadlines.js';
import type { Engine } from './stepping.js';
import { RULES_VERSION } from '../rules/limits.js';
import { PendingFills } from '../rules/pending-fills.js';
import {
  CANCELLED, FILLED, OPEN, diesBefore, indexTokens, nonceHash, ownerOf, stateOf,
  type Boundary, type ChainCursor, type Market, type OpenProposal, type OpenRelay, type State, type Sweep,
} from '../rules/state.js';
import type { ArmedSwitch, Trader } from '../rules/trader.js';

/** The version of the layout below. A snapshot with another layout is not used. */
const FORMAT = 6;
const CHECKSUM_BYTES = 32;

interface Dump {
  readonly format: number;
  readonly rules: number;
  readonly position: number;
  readonly digest: Uint8Array;
  readonly now: number;
  readonly nextFill: number;
  /** By index. */
  readonly markets: readonly MarketDump[];
  readonly chains: ReadonlyMap<number, ChainCursor>;
  readonly relays: ReadonlyMap<string, OpenRelay>;
  readonly proposals: ReadonlyMap<string, OpenProposal>;
  readonly boundaries: ReadonlyMap<string, Boundary>;
  readonly newestPrices: ReadonlyMap<string, number>;
  readonly closings: readonly number[];
  readonly traders: readonly Trader[];
  readonly orders: OrderPoolDump;
  readonly deadlines: unknown;
  readonly fills: unknown;
  readonly sweeps: readonly Sweep[];
  readonly armed: readonly ArmedSwitch[];
}

/**
 * A market as an array: an object would repeat its keys 70,000 times. `books` is undefined for the empty books that all
 * finished markets share.
 */
type MarketDump = readonly [
  marketId: string, chainId: number, expiration: number, closed: boolean, winner: Market['winner'], halved: boolean, quick: Market['quick'],
  tokens: Market['tokens'], books: readonly [BookDump, BookDump] | undefined,
];

/** A state and the digest of the history that led to it. */
export interface Restored {
  readonly state: State;
  readonly digest: Uint8Array;
}

/** The snapshot's bytes: a SHA-256 checksum, then the state. Engines with the same history encode equal states. */
export function encodeSnapshot(engine: Engine): Buffer {
  const { state, digest } = engine;
  const dump: Dump = {
    format: FORMAT, rules: RULES_VERSION, position: state.position, digest: Uint8Array.from(digest), now: state.now, nextFill: state.nextFill,
    markets: state.markets.map((market) => dumpMarket(state, market)),
    chains: state.chains, relays: state.relays, proposals: state.proposals, boundaries: state.boundaries,
    newestPrices: state.newestPrices,
    closings: state.closings, traders: state.traders, orders: state.orders.dump(), deadlines: state.deadlines.dump(),
    fills: state.fills.dump(),
    sweeps: state.sweeps, armed: state.armed,
  };
  const body = serialize(dump);
  return Buffer.concat([createHash('sha256').update(body).digest(), body]);
}

/** The state in a snapshot's bytes; undefined when the bytes are damaged or have another layout or other rules. */
export function decodeSnapshot(data: Buffer): Restored | undefined {
  const body = data.subarray(CHECKSUM_BYTES);
  if (!createHash('sha256').update(body).digest().equals(data.subarray(0, CHECKSUM_BYTES))) return undefined;
  const dump = deserialize(body) as Dump;
  return dump.format === FORMAT && dump.rules === RULES_VERSION
    ? { state: restore(dump), digest: Buffer.from(dump.digest) }
    : undefined;
}

function restore(dump: Dump): State {
  const orders = OrderPool.restore(dump.orders);
  const fresh = stateOf(orders);
  const state: State = {
    ...fresh,
    position: dump.position, now: dump.now, nextFill: dump.nextFill, sweeps: [...dump.sweeps], armed: [...dump.armed],
    closings: [...dump.closings],
    markets: dump.markets.map((market, index) => restoreMarket(fresh, market, index)),
    marketIndex: new Map(dump.markets.map(([marketId], index) => [marketId, index])),
    chains: new Map(dump.chains),
    relays: new Map(dump.relays),
    boundaries: new Map(dump.boundaries),
    newestPrices: new Map(dump.newestPrices),
    proposals: new Map(dump.proposals),
    traders: dump.traders.map((trader) => ({ ...trader, openCount: 0 })),
    traderIndex: new Map(dump.traders.map((trader) => [trader.address, trader.index])),
    deadlines: Deadlines.restore(diesBefore(orders, fresh.columns), dump.deadlines),
    fills: PendingFills.restore(dump.fills),
  };
  for (const market of state.markets) {
    indexTokens(state, market);
    if (market.quick !== undefined) state.unresolvedQuick.add(market.index);
  }
  state.openBoundaries.push(...openBoundariesOf(state));
  for (const slot of orders.slots()) {
    const { trader, nonceHi, nonceLo, status } = state.columns;
    if (status.get(slot) === OPEN) ownerOf(state, slot).openCount++;
    if (holdsNonce(state, slot)) {
      state.nonces.insert(nonceHash(trader.get(slot), nonceHi.get(slot), nonceLo.get(slot)), slot);
    }
  }
  return state;
}

function dumpMarket({ noBooks }: State, market: Market): MarketDump {
  const { marketId, chainId, expiration, closed, winner, halved, quick, tokens, books } = market;
  return [
    marketId, chainId, expiration, closed, winner, halved, quick, tokens,
    books === noBooks ? undefined : [books[0].dump(), books[1].dump()],
  ];
}

function restoreMarket({ orders, noBooks }: State, dump: MarketDump, index: number): Market {
  const [marketId, chainId, expiration, closed, winner, halved, quick, tokens, dumps] = dump;
  const books = dumps === undefined
    ? noBooks
    : [Book.restore(orders, dumps[0]), Book.restore(orders, dumps[1])] as const;
  return { index, marketId, chainId, expiration, closed, winner, halved, quick, tokens, books };
}

function holdsNonce(state: State, slot: number): boolean {
  const status = state.columns.status.get(slot);
  return status !== CANCELLED && !(status === FILLED && state.columns.unsettled.get(slot) === 0);
}
