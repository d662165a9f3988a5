/**
 * Applies events to the state. Only this module changes the state, in the same way for live commands, replay and
 * recovery.
 */
import { freeBoundaries, isResolved, joinBoundary, keptBoundary, leaveOpen, servedBy } from './boundaries.js';
import { Book } from '../book/book.js';
import { highWord, lowWord, parseUint64, readUint64 } from '../records/integers.js';
import { pullOf } from './decide-settlement.js';
import { cancelAll, countDefault, fireSwitches, linkOpen, raiseFloor, setSwitch, traderOf, unlinkOpen } from './evolve-traders.js';
import type {
  EndPriceSet, Event, FillFailed, FillMatched, FillSettled, MarketHalved, MarketOpened, MarketResolved, MarketTokenized,
  OrderAccepted,
  OrderCancelled, OrderReduced, OrderRested, PriceMissed, PriceRecorded, RelayRequested, RelaySubmitted,
  ResolutionDisputed,
  ResolutionProposed, ResolutionRejected, StrikePriceSet,
} from '../records/events.js';
import { BUY } from '../records/fields.js';
import { KEPT_RELAY_TRANSACTIONS } from './limits.js';
import { termBits } from './match.js';
import {
  CANCELLED, FILLED, OPEN, bookOf, deathOf, indexTokens, lives, nonceHash, sweptOrders,
  type Boundary, type Market, type QuickTerms, type State, type Sweep,
} from './state.js';

/** An event contradicts the engine's state. The engine stops, because every later outcome could be wrong. */
export class InconsistentHistory extends Error {
  constructor(what: string) {
    super(`the history contradicts the engine's state: ${what}`);
    this.name = 'InconsistentHistory';
  }
}

/** Sets the time, before each command: frees closed orders whose deadline has passed, and ends finished sweeps. */
export function advance(state: State, at: number): void {
  if (at > state.now) state.now = at;
  const { deadlines, columns } = state;
  for (let slot = deadlines.first(); slot >= 0; slot = deadlines.first()) {
    if (columns.status.get(slot) === OPEN || lives(state, slot)) break;
    deadlines.pop();
    columns.overdue.set(slot, 1);
    freeIfDone(state, slot);
  }
  fireSwitches(state);
  if (state.sweeps.length > 0) state.sweeps = state.sweeps.filter((sweep) => !endSweep(state, sweep));
}

/**
 * Ends the sweep if it would find no order. An order never rests in a closed market again, so the market needs no books
 * of its own then.
 */
function endSweep(state: State, sweep: Sweep): boolean {
  if (sweptOrders(state, sweep).next().done !== true) return false;
  const market = sweep.kind === 'market' ? state.markets[sweep.market] : undefined;
  if (market !== undefined) market.books = state.noBooks;
  return true;
}

/** Applies one event. Events of a command come in order, after `advance` and before the next command. */
export function evolve(state: State, event: Event): void {
  switch (event.type) {
    case 'MarketOpened': return openMarket(state, event);
    case 'MarketTokenized': return tokenizeMarket(state, event);
    case 'MarketClosed': return closeMarket(state, marketNamed(state, event.marketId));
    case 'MarketResolved': return resolveMarket(state, event);
    case 'MarketHalved': return halveMarket(state, event);
    case 'PriceRecorded': return recordPrice(state, event);
    case 'StrikePriceSet': case 'EndPriceSet': return setPrice(state, event);
    case 'QuickMarketDecided': quickNamed(state, event.marketId).outcome = event.winningOutcome; return;
    case 'PriceMissed': return missPrice(state, event);
    case 'OrderAccepted': return acceptOrder(state, event);
    case 'OrderTermsSet': state.columns.terms.set(slotOf(state, event), termBits(event)); return;
    case 'OrderRested': return restOrder(state, event);
    case 'FillMatched': return applyFill(state, event);
    case 'OrderCancelled': return cancelOrder(state, event);
    case 'OrderReduced': return reduceOrder(state, event);
    case 'AllOrdersCancelled': return cancelAll(state, event);
    case 'CancelAfterArmed': case 'CancelAfterDisarmed': return setSwitch(state, event);
    case 'NonceFloorRaised': return raiseFloor(state, event);
    case 'FillSettled': return settleFill(state, event);
    case 'FillFailed': return failFill(state, event);
    case 'TraderDefaulted': return countDefault(state, event);
    case 'OrderReinstated': return reinstate(state, slotOf(state, event));
    case 'RelayRequested': return requestRelay(state, event);
    case 'RelaySubmitted': return submitRelay(state, event);
    case 'RelayEnded': state.relays.delete(event.requestId); return;
    case 'ResolutionProposed': return propose(state, event);
    case 'ResolutionDisputed': return dispute(state, event);
    case 'ResolutionRejected': return reject(state, event);
    case 'OrderRepeated': case 'CancelRepeated': case 'CancelAllRepeated': case 'ReduceRepeated': case 'CommandRejected':
    case 'SettlementSubmitted': case 'SharesTransferred': case 'PositionRedeemed': case 'PositionSynced':
    case 'ChainAdvanced': case 'AnchorPassedOver':
      return;
  }
}

/**
 * The slot of an event's order. Consecutive events are mostly about the incoming order, which is recognised by its
 * number without a search.
 */
function slotOf(state: State, event: { readonly orderHash: string; readonly orderNumber: number }): number {
  if (state.incoming >= 0 && state.orders.number(state.incoming) === event.orderNumber) return state.incoming;
  const slot = state.orders.find(event.orderHash);
  if (slot < 0) throw new InconsistentHistory(`order ${event.orderHash} is not known`);
  return slot;
}

function openMarket(state: State, event: MarketOpened): void {
  const { marketId, chainId, expiration, quick } = event;
  const index = state.markets.length;
  state.markets.push({
    index, marketId, chainId, expiration, closed: false, winner: undefined, halved: false, tokens: undefined,
    quick: quick === null ? undefined : quickTerms(quick),
    books: [new Book(state.orders), new Book(state.orders)],
  });
  state.marketIndex.set(marketId, index);
  let place = state.closings.length;
  while (place > 0 && state.markets[state.closings[place - 1]!]!.expiration > expiration) place--;
  state.closings.splice(place, 0, index);
  if (quick === null) return;
  const { asset, startTime, endTime } = quick;
  state.unresolvedQuick.add(index);
  freeBoundaries(state);
  for (const time of [startTime, endTime]) joinBoundary(state, { asset, time, market: index });
}

function quickTerms({ asset, startTime }: NonNullable<MarketOpened['quick']>): QuickTerms {
  return { asset, startTime, strike: undefined, end: undefined, outcome: undefined, missed: new Set() };
}

function recordPrice(state: State, { asset, ...observation }: PriceRecorded): void {
  const { source, rank, price, publishedAt } = observation;
  const newest = state.newestPrices.get(asset);
  if (newest === undefined || publishedAt > newest) state.newestPrices.set(asset, publishedAt);
  for (const boundary of servedBy(state, { asset, rank, publishedAt })) boundary.best = {
    source, rank, price, publishedAt,
  };
}

function setPrice(state: State, { type, marketId, source, price, publishedAt }: StrikePriceSet | EndPriceSet): void {
  const quick = quickNamed(state, marketId);
  const isStart = type === 'StrikePriceSet';
  quick[isStart ? 'strike' : 'end'] = { source, price, publishedAt };
  quick.missed.delete(isStart ? 'start' : 'end');
  const boundary = boundaryOf(state, marketId, isStart ? 'start' : 'end');
  boundary.decided = true;
  leaveOpen(state, boundary);
}

function missPrice(state: State, { marketId, boundary }: PriceMissed): void {
  quickNamed(state, marketId).missed.add(boundary);
  boundaryOf(state, marketId, boundary).missed = true;
}

function boundaryOf(state: State, marketId: string, which: 'start' | 'end'): Boundary {
  const { expiration } = marketNamed(state, marketId);
  const { asset, startTime } = quickNamed(state, marketId);
  const boundary = keptBoundary(state, asset, which === 'start' ? startTime : expiration);
  if (boundary === undefined) throw new InconsistentHistory(`market ${marketId} has no ${which}`);
  return boundary;
}

function quickNamed(state: State, marketId: string): QuickTerms {
  const { quick } = marketNamed(state, marketId);
  if (quick === undefined) throw new InconsistentHistory(`market ${marketId} is not a quick one`);
  return quick;
}

function marketNamed(state: State, marketId: string): Market {
  return state.markets[state.marketIndex.get(marketId)!]!;
}

function tokenizeMarket(state: State, { marketId, yesToken, noToken }: MarketTokenized): void {
  const market = marketNamed(state, marketId);
  market.tokens = [BigInt(yesToken), BigInt(noToken)];
  indexTokens(state, market);
}

function closeMarket(state: State, market: Market): void {
  market.closed = true;
  state.closings.splice(state.closings.indexOf(market.index), 1);
  state.sweeps.push({ kind: 'market', market: market.index });
}

function resolveMarket(state: State, { marketId, winningOutcome }: MarketResolved): void {
  const market = marketNamed(state, marketId);
  market.winner = winningOutcome;
  endMarket(state, market);
}

function halveMarket(state: State, { marketId }: MarketHalved): void {
  const market = marketNamed(state, marketId);
  market.halved = true;
  endMarket(state, market);
}

/** Forgets what is only of use until the chain has resolved the market. */
function endMarket(state: State, market: Market): void {
  const { marketId, index, quick, expiration } = market;
  state.proposals.delete(marketId);
  if (quick === undefined) return;
  state.unresolvedQuick.delete(index);
  for (const time of [quick.startTime, expiration]) {
    const boundary = keptBoundary(state, quick.asset, time);
    if (boundary !== undefined) leaveOpen(state, boundary);
  }
  market.quick = undefined;
}

function propose(state: State, { marketId, assertionId, expirationTime }: ResolutionProposed): void {
  if (!isResolved(marketNamed(state, marketId))) {
    state.proposals.set(marketId, { marketId, assertionId, expirationTime, disputed: false });
  }
}

/** Only a market's latest proposal is kept. */
function dispute(state: State, { marketId, assertionId }: ResolutionDisputed): void {
  const proposal = state.proposals.get(marketId);
  if (proposal?.assertionId === assertionId) state.proposals.set(marketId, { ...proposal, disputed: true });
}

function reject(state: State, { marketId, assertionId }: ResolutionRejected): void {
  if (state.proposals.get(marketId)?.assertionId === assertionId) state.proposals.delete(marketId);
}

function acceptOrder(state: State, event: OrderAccepted): void {
  const { orders, columns } = state;
  const slot = orders.allocate(event.orderHash);
  const trader = traderOf(state, event.trader);
  const { side, outcome, price, orderNumber: number } = event;
  orders.describe(slot, { book: state.marketIndex.get(event.marketId)!, side, outcome, price, number });
  const { halves } = state;
  readUint64(event.size, halves);
  orders.setRemaining(slot, halves[0]!, halves[1]!);
  columns.sizeHi.set(slot, halves[0]!);
  columns.sizeLo.set(slot, halves[1]!);
  readUint64(event.nonce, halves);
  columns.nonceHi.set(slot, halves[0]!);
  columns.nonceLo.set(slot, halves[1]!);
  columns.trader.set(slot, trader.index);
  columns.diesAt.set(slot, deathOf(event.expiration));
  columns.status.set(slot, OPEN);
  state.nonces.insert(nonceHashOf(state, slot), slot);
  state.deadlines.push(slot);
  linkOpen(state, trader, slot);
  state.incoming = slot;
}

function restOrder(state: State, event: OrderRested): void {
  const slot = slotOf(state, event);
  if (state.orders.resting(slot)) {
    const { halves } = state;
    readUint64(event.size, halves);
    bookOf(state, slot).increase(slot, halves[0]!, halves[1]!);
  } else {
    bookOf(state, slot).rest(slot);
  }
}

/**
 * The maker is always the oldest order of the best level on the other side: earlier events have removed the orders
 * before it.
 */
function applyFill(state: State, event: FillMatched): void {
  const { orders, incoming } = state;
  const book = bookOf(state, incoming);
  const makerSide = event.takerSide === BUY ? 1 : 0;
  const maker = book.levels(makerSide) > 0 ? book.firstAt(makerSide, 0) : -1;
  if (maker < 0 || orders.number(maker) !== event.makerNumber || orders.number(incoming) !== event.takerNumber) {
    throw new InconsistentHistory(`fill ${event.fill} does not name the first orders in line`);
  }
  const size = parseUint64(event.size);
  book.reduce(maker, highWord(size), lowWord(size));
  const filled = {
    maker: !orders.resting(maker), incoming: !orders.subtractRemaining(incoming, highWord(size), lowWord(size)),
  };
  const [buySlot, sellSlot] = event.takerSide === BUY ? [incoming, maker] : [maker, incoming];
  state.fills.add(event.fill, { buySlot, sellSlot, price: event.price, size, takerSide: event.takerSide });
  state.nextFill = event.fill + 1;
  countFill(state, maker, filled.maker);
  countFill(state, incoming, filled.incoming);
}

function countFill(state: State, slot: number, filled: boolean): void {
  const { columns } = state;
  columns.unsettled.set(slot, columns.unsettled.get(slot) + 1);
  if (!filled) return;
  columns.status.set(slot, FILLED);
  unlinkOpen(state, slot);
}

function cancelOrder(state: State, event: OrderCancelled): void {
  const { columns } = state;
  const slot = slotOf(state, event);
  const status = columns.status.get(slot);
  if (state.orders.resting(slot)) bookOf(state, slot).remove(slot);
  if (status === OPEN) unlinkOpen(state, slot);
  const { halves } = state;
  readUint64(event.remaining, halves);
  state.orders.setRemaining(slot, halves[0]!, halves[1]!);
  state.nonces.remove(nonceHashOf(state, slot), slot);
  columns.status.set(slot, CANCELLED);
  freeIfDone(state, slot);
}

function reduceOrder(state: State, event: OrderReduced): void {
  const { columns } = state;
  const slot = slotOf(state, event);
  const [reduced, size] = [parseUint64(event.reduced), parseUint64(event.size)];
  bookOf(state, slot).reduce(slot, highWord(reduced), lowWord(reduced));
  columns.sizeHi.set(slot, highWord(size));
  columns.sizeLo.set(slot, lowWord(size));
}

function settleFill(state: State, event: FillSettled): void {
  const pending = state.fills.get(event.fill)!;
  state.fills.delete(event.fill);
  const { columns } = state;
  for (const slot of [pending.buySlot, pending.sellSlot]) {
    const unsettled = columns.unsettled.get(slot) - 1;
    columns.unsettled.set(slot, unsettled);
    if (unsettled > 0) continue;
    if (columns.status.get(slot) === FILLED) state.nonces.remove(nonceHashOf(state, slot), slot);
    freeIfDone(state, slot);
  }
}

/**
 * Gives the size back to both orders. An open order is on the book, so it gets the size with the OrderRested or
 * OrderCancelled that follows. A filled order keeps its nonce: the next event reopens or cancels it.
 */
function failFill(state: State, event: FillFailed): void {
  const pending = state.fills.get(event.fill)!;
  const pull = pullOf(state, event, state.position);
  if (pull !== undefined) state.sweeps.push(pull);
  state.fills.delete(event.fill);
  const { orders, columns } = state;
  for (const slot of [pending.buySlot, pending.sellSlot]) {
    columns.unsettled.set(slot, columns.unsettled.get(slot) - 1);
    if (columns.status.get(slot) === OPEN) continue;
    orders.addRemaining(slot, highWord(pending.size), lowWord(pending.size));
    if (columns.status.get(slot) === CANCELLED) freeIfDone(state, slot);
  }
}

function reinstate(state: State, slot: number): void {
  state.incoming = slot;
  if (state.columns.status.get(slot) === OPEN) return;
  state.columns.status.set(slot, OPEN);
  linkOpen(state, state.traders[state.columns.trader.get(slot)]!, slot);
}

function requestRelay(state: State, { requestId, chainId, action, owner, claims }: RelayRequested): void {
  state.relays.set(requestId, { requestId, chainId, action, owner, claims, txHashes: [] });
}

/** A transaction that is submitted again keeps its place. */
function submitRelay(state: State, { requestId, txHash }: RelaySubmitted): void {
  const relay = state.relays.get(requestId);
  if (relay === undefined) throw new InconsistentHistory(`request ${requestId} to the relayer is not open`);
  if (relay.txHashes.includes(txHash)) return;
  state.relays.set(requestId, { ...relay, txHashes: [...relay.txHashes.slice(1 - KEPT_RELAY_TRANSACTIONS), txHash] });
}

/** Frees the slot of a closed order whose deadline has passed and whose fills are all settled. */
function freeIfDone(state: State, slot: number): void {
  const { columns } = state;
  if (columns.overdue.get(slot) === 0 || columns.unsettled.get(slot) > 0) return;
  state.orders.free(slot);
}

function nonceHashOf(state: State, slot: number): number {
  const { trader, nonceHi, nonceLo } = state.columns;
  return nonceHash(trader.get(slot), nonceHi.get(slot), nonceLo.get(slot));
}
