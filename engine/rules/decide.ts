/** Decides what a command causes. Reads the state and changes nothing. Specification: docs/matching-rules.md. */
import type { CancelOrder, Command, OpenMarket, PlaceOrder } from '../records/commands.js';
import { nextBoundaryDue } from './boundaries.js';
import { knownFact } from './chain-cursor.js';
import { decideCancelAfter, decideCancelAll, decideCancelOrders, decideReduceOrder } from './decide-cancels.js';
import { decideCancelOrdersBelow, decideMarketFact, decideRecordTransfer, decideSyncPosition } from './decide-chain.js';
import { decideBoundary, decideRecordPrice, knownPrices, refusalOfQuick } from './decide-prices.js';
import { decideEndRelay, decideRequestRelay, decideSubmitRelay } from './decide-relay.js';
import { decideFailFill, decideSettleFill, decideSubmitSettlement } from './decide-settlement.js';
import { cancelled, rejected } from './cancelled.js';
import type { CancelReason, Event, MarketOpened, RejectionCode } from '../records/events.js';
import { MIN_LIFETIME_S, WORK_LIMIT } from './limits.js';
import { match, termBits, termsOf } from './match.js';
import {
  FILLED, OPEN, deathOf, findMarket, findNonce, findOrder, isOpenMarket, lives, marketOf, marketOfToken, ownerOf,
  sweptOrders,
  type State, type Sweep,
} from './state.js';
import { isBelowFloor } from './trader.js';
import { formatUint64, parseUint64, readUint64 } from '../records/integers.js';

/**
 * The events of the command at log position `position`, in order. The caller has called `advance` with the command's
 * time.
 */
export function decide(state: State, command: Command, position: number): Event[] {
  const known = 'fact' in command || command.kind === 'AdvanceChain' ? knownFact(state, command) : undefined;
  if (known !== undefined) return rejected('known_fact', known);
  switch (command.kind) {
    case 'PlaceOrder': return placeOrder(state, command, position);
    case 'CancelOrder': return cancelOrder(state, command);
    case 'CancelOrders': return decideCancelOrders(state, command);
    case 'CancelAll': return decideCancelAll(state, command, position);
    case 'CancelAfter': return decideCancelAfter(state, command);
    case 'ReduceOrder': return decideReduceOrder(state, command);
    case 'CancelOrdersBelow': return decideCancelOrdersBelow(state, command, position);
    case 'AdvanceClock': return advanceClock(state);
    case 'OpenMarket': return openMarket(state, command);
    case 'SubmitSettlement': return decideSubmitSettlement(state, command);
    case 'SettleFill': return decideSettleFill(state, command);
    case 'FailFill': return decideFailFill(state, command, position);
    case 'RecordTransfer': return decideRecordTransfer(state, command);
    case 'RecordRedemption': case 'RecordProposal': case 'RecordDispute': case 'RecordRejection': case 'ResolveMarket':
    case 'HalveMarket':
      return decideMarketFact(state, command);
    case 'SyncPosition': return decideSyncPosition(state, command);
    case 'RecordPrice': return decideRecordPrice(state, command);
    case 'RequestRelay': return decideRequestRelay(state, command);
    case 'SubmitRelay': return decideSubmitRelay(state, command);
    case 'EndRelay': return decideEndRelay(state, command);
    case 'AdvanceChain': {
      const { chainId, block, blockHash } = command;
      return [{ type: 'ChainAdvanced', v: 1, chainId, block, blockHash }];
    }
    case 'PassOverAnchor': {
      const { chainId, txHash, position: anchored, digest } = command;
      return [{ type: 'AnchorPassedOver', v: 1, chainId, txHash, position: anchored, digest }];
    }
  }
}

function openMarket(state: State, command: OpenMarket): Event[] {
  const {
    marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind, tokens, quick,
    ifOver,
  } = command;
  if (state.marketIndex.has(marketId)) return rejected('market_exists', marketId);
  if (tokens !== undefined && (tokens.yes === tokens.no || [tokens.yes, tokens.no].some(
    (token) => marketOfToken(state, token) !== undefined,
  ))) {
    return rejected('market_exists', marketId);
  }
  const isOver = expiration * 1_000 <= state.now;
  if (isOver && ifOver === 'reject') return rejected('invalid_expiration', marketId);
  const refusal = refusalOfQuick(state, command);
  if (refusal !== undefined) return rejected(refusal, marketId);
  const opened: MarketOpened = {
    type: 'MarketOpened', v: 2, marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind,
    quick: quick === undefined ? null : { asset: quick.asset, startTime: quick.startTime, endTime: expiration },
  };
  const events: Event[] = [opened];
  if (tokens !== undefined) events.push({ type: 'MarketTokenized', v: 1, marketId, yesToken: tokens.yes, noToken: tokens.no });
  if (isOver) events.push({ type: 'MarketClosed', v: 1, marketId });
  events.push(...knownPrices(state, opened, ifOver));
  return events;
}

function placeOrder(state: State, command: PlaceOrder, position: number): Event[] {
  const known = findOrder(state, command.orderHash);
  if (known >= 0) {
    return [{ type: 'OrderRepeated', v: 1, orderHash: command.orderHash, orderNumber: state.orders.number(known) }];
  }
  const refusal = refusalOf(state, command, state.now);
  if (refusal !== undefined) return rejected(refusal, command.orderHash);
  const events = effectOf(state, command, position);
  const byBook = refusalIn(events, command);
  return byBook === undefined ? events : rejected(byBook, command.orderHash);
}

/**
 * Why the book, as it is, stands in the way of an order that `refusalOf` does not refuse; undefined when it does not.
 */
export function refusalByBook(state: State, command: PlaceOrder): RejectionCode | undefined {
  return command.timeInForce === 'FOK' || command.postOnly === true ? refusalIn(effectOf(state, command, state.position), command) : undefined;
}

/** What the order causes when it is accepted, whatever its terms say of that. */
function effectOf(state: State, command: PlaceOrder, position: number): Event[] {
  const { orderHash, marketId, trader, side, outcome, price, size, nonce, expiration } = command;
  const events: Event[] = [{
    type: 'OrderAccepted', v: 1, orderHash, orderNumber: position, marketId, side, outcome, price, trader, size, nonce, expiration,
  }];
  const terms = termsOf(command);
  if (terms !== undefined) events.push({ type: 'OrderTermsSet', v: 1, orderHash, orderNumber: position, marketId, side, outcome, price, ...terms });
  match(state, {
    orderHash, number: position, market: state.markets[state.marketIndex.get(marketId)!]!,
    trader: state.traderIndex.get(trader) ?? -1, address: trader, side, outcome, price,
    remaining: parseUint64(size), terms: terms === undefined ? 0 : termBits(terms), sweeps: state.sweeps,
    workLeft: WORK_LIMIT,
  }, events);
  return events;
}

/**
 * Why an order may not have what it would cause, by its terms; undefined when it may. A remainder comes last, and never
 * rests here.
 */
function refusalIn(
  events: readonly Event[], { orderHash, timeInForce, postOnly }: PlaceOrder,
): RejectionCode | undefined {
  if (timeInForce === undefined && postOnly === undefined) return undefined;
  const last = events.at(-1);
  if (timeInForce === 'FOK' && last?.type === 'OrderCancelled' && last.orderHash === orderHash) return 'not_filled';
  return postOnly === true && events.some(({ type }) => type === 'FillMatched') ? 'would_match' : undefined;
}

/**
 * Why an order that is not known is rejected when it is decided at the engine's time `now`, whatever rests in its book;
 * undefined when it is accepted, or only the book is in its way.
 */
export function refusalOf(state: State, command: PlaceOrder, now: number): RejectionCode | undefined {
  if (command.size === '0') return 'invalid_size';
  if (Number(command.expiration) < Math.floor(command.at / 1_000) + MIN_LIFETIME_S) return 'invalid_expiration';
  if (now >= deathOf(command.expiration)) return 'invalid_expiration';
  if (command.notAfter !== undefined && now > command.notAfter) return 'too_late';
  const market = findMarket(state, command.marketId);
  if (market === undefined) return 'unknown_market';
  if (!isOpenMarket({ now }, market)) return 'market_closed';
  const index = state.traderIndex.get(command.trader);
  if (index === undefined) return undefined;
  const trader = state.traders[index]!;
  if (now < (trader.latestDefault?.suspendedUntil ?? 0)) return 'trader_suspended';
  const { halves } = state;
  readUint64(command.nonce, halves);
  const hi = halves[0]!;
  const lo = halves[1]!;
  if (isBelowFloor(trader, market.chainId, hi, lo)) return 'nonce_cancelled';
  return findNonce(state, { trader: index, hi, lo }) >= 0 ? 'duplicate_nonce' : undefined;
}

function cancelOrder(state: State, command: CancelOrder): Event[] {
  const { orders, columns } = state;
  const slot = findOrder(state, command.orderHash);
  if (slot < 0
    || marketOf(state, slot).marketId !== command.marketId
    || (command.fact !== undefined && marketOf(state, slot).chainId !== command.fact.chainId)
    || (command.side !== undefined && orders.side(slot) !== command.side)) return rejected('unknown_order', command.orderHash);
  if (command.trader !== undefined && command.trader !== ownerOf(state, slot).address) {
    return rejected('not_order_owner', command.orderHash);
  }
  switch (columns.status.get(slot)) {
    case OPEN: return [cancelled(state, slot, 'user')];
    case FILLED: return rejected('already_filled', command.orderHash);
    default: return [{
      type: 'CancelRepeated', v: 1, orderHash: command.orderHash, orderNumber: orders.number(slot),
      size: formatUint64(columns.sizeHi.get(slot), columns.sizeLo.get(slot)),
      remaining: orders.remaining(slot).toString(),
    }];
  }
}

function advanceClock(state: State): Event[] {
  const events: Event[] = [];
  const sweeps: Sweep[] = [...state.sweeps];
  for (const index of state.closings) {
    const market = state.markets[index]!;
    if (isOpenMarket(state, market) || events.length === WORK_LIMIT) break;
    events.push({ type: 'MarketClosed', v: 1, marketId: market.marketId });
    sweeps.push({ kind: 'market', market: index });
  }
  const gone = new Set<number>();
  const cancel = (slot: number, reason: CancelReason): void => {
    if (gone.has(slot)) return;
    gone.add(slot);
    events.push(cancelled(state, slot, reason));
  };
  for (const sweep of sweeps) {
    for (const slot of sweptOrders(state, sweep)) {
      if (events.length === WORK_LIMIT) return events;
      cancel(slot, sweep.kind === 'market' ? 'market_closed' : sweep.reason);
    }
  }
  for (const slot of state.deadlines.inOrder()) {
    if (lives(state, slot) || events.length === WORK_LIMIT) break;
    if (state.columns.status.get(slot) === OPEN) cancel(slot, 'expired');
  }
  return events.length > 0 ? events : decideBoundary(state);
}

/**
 * When the clock has work to do next, in milliseconds: an AdvanceClock at that time or later does the work. Infinity:
 * there is no work.
 */
export function nextDue(state: State): number {
  if (state.sweeps.length > 0) return state.now;
  const order = state.deadlines.first();
  const market = state.closings[0];
  return Math.min(
    nextBoundaryDue(state),
    order < 0 ? Infinity : state.columns.diesAt.get(order),
    state.armed[0]?.firesAt ?? Infinity,
    market === undefined ? Infinity : state.markets[market]!.expiration * 1_000,
  );
}
