/** The reference engine's orders: placed, matched, cancelled. */
import type { CancelOrder, PlaceOrder } from '../../engine/records/commands.js';
import type { FillMatched, OrderTermsSet } from '../../engine/records/events.js';
import { BUY, SELL } from '../../engine/records/fields.js';
import {
  bestFirst, book, cancel, chainOf, enterBook, hasUnsettledFill, isNonceCancelled, isOpen, isSuspended, known, leaveBook, lives, naming, reasonOf,
  reject, rest, sweepOn, WORK_LIMIT, type ReferenceFill, type ReferenceOrder, type State, type Turn,
} from './state.js';

export function placeOrder(state: State, turn: Turn, command: PlaceOrder): void {
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
  if (command.notAfter !== undefined && state.now > command.notAfter) return reject(turn, 'too_late', orderHash);
  const market = state.markets.get(marketId);
  if (market === undefined) return reject(turn, 'unknown_market', orderHash);
  if (!isOpen(state, market)) return reject(turn, 'market_closed', orderHash);
  if (isSuspended(state, trader)) return reject(turn, 'trader_suspended', orderHash);
  if (isNonceCancelled(state, command)) return reject(turn, 'nonce_cancelled', orderHash);
  const sameNonce = state.byNonce.get(`${trader} ${nonce}`) ?? [];
  const taken = sameNonce.some((other) => other.status === 'open' || (other.status === 'filled' && hasUnsettledFill(other)));
  if (taken) return reject(turn, 'duplicate_nonce', orderHash);

  const order: ReferenceOrder = {
    number: state.position, placed: command, size, expiration, status: 'open', remaining: size, fills: [],
  };
  const { left, takes } = foreseen(state, turn, order);
  if (command.timeInForce === 'FOK' && left > 0n) return reject(turn, 'not_filled', orderHash);
  if (command.postOnly === true && takes) return reject(turn, 'would_match', orderHash);
  state.orders.set(orderHash, order);
  state.byNonce.set(`${trader} ${nonce}`, [...sameNonce, order]);
  turn.events.push({
    type: 'OrderAccepted', v: 1, ...naming(order), trader, size: command.size, nonce, expiration: command.expiration,
  });
  const { timeInForce = 'GTC', postOnly = false, notAfter = null, selfTrade = 'cancel_older' }: Partial<Terms> = command;
  if (timeInForce !== 'GTC' || postOnly || notAfter !== null || selfTrade !== 'cancel_older') {
    turn.events.push({ type: 'OrderTermsSet', v: 1, ...naming(order), timeInForce, postOnly, notAfter, selfTrade });
  }
  matchThenRest(state, turn, order);
}

type Terms = Pick<OrderTermsSet, 'timeInForce' | 'postOnly' | 'notAfter' | 'selfTrade'>;

/** What matching the order would come to, without doing it: how much of it would be left, and whether it would make a fill. */
export function foreseen(state: State, { work }: Turn, incoming: ReferenceOrder): { readonly left: bigint; readonly takes: boolean } {
  let left = incoming.remaining;
  let done = work;
  for (const resting of met(state, incoming)) {
    if (left === 0n || done === WORK_LIMIT) break;
    const isGone = sweepOn(state, resting) !== undefined || !lives(state, resting.expiration);
    if (!isGone && endsIncoming(incoming, resting)) break;
    done++;
    if (isGone || resting.placed.trader === incoming.placed.trader) continue;
    left -= resting.remaining < left ? resting.remaining : left;
  }
  return { left, takes: left < incoming.remaining };
}

/** The resting orders that the incoming one meets, in their order. */
function met(state: State, { placed: { marketId, outcome, side, price } }: ReferenceOrder): ReferenceOrder[] {
  const otherSide = side === BUY ? SELL : BUY;
  return book(state, marketId, outcome, otherSide)
    .filter(({ placed }) => (side === BUY ? placed.price <= price : placed.price >= price))
    .sort(bestFirst(otherSide));
}

/** Whether the incoming order is the one that is cancelled where it meets an order of its own trader. */
function endsIncoming(incoming: ReferenceOrder, resting: ReferenceOrder): boolean {
  const { trader, selfTrade } = incoming.placed;
  return resting.placed.trader === trader && selfTrade === 'cancel_newer' && incoming.number > resting.number;
}

/** The order is open and off the book, with `remaining` to match; what remains then rests. */
export function matchThenRest(state: State, turn: Turn, incoming: ReferenceOrder): void {
  for (const resting of met(state, incoming)) {
    if (incoming.remaining === 0n) break;
    if (turn.work === WORK_LIMIT) return cancel(state, turn, incoming, 'match_limit', 0n);
    turn.work++;
    const sweep = sweepOn(state, resting);
    if (sweep !== undefined) cancel(state, turn, resting, reasonOf(sweep), resting.remaining);
    else if (!lives(state, resting.expiration)) cancel(state, turn, resting, 'expired', resting.remaining);
    else if (endsIncoming(incoming, resting)) return cancel(state, turn, incoming, 'self_trade', 0n);
    else if (resting.placed.trader === incoming.placed.trader) cancel(state, turn, resting, 'self_trade', resting.remaining);
    else trade(state, turn, resting, incoming);
  }
  if (incoming.remaining === 0n) {
    incoming.status = 'filled';
    return;
  }
  if (incoming.placed.timeInForce !== undefined) return cancel(state, turn, incoming, 'time_in_force', 0n);
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

export function cancelOrder(state: State, turn: Turn, command: CancelOrder): void {
  const { orderHash, marketId, side, trader, fact } = command;
  const order = known(state, orderHash);
  if (order === undefined || order.placed.marketId !== marketId || (side !== undefined && order.placed.side !== side)) {
    return reject(turn, 'unknown_order', orderHash);
  }
  if (fact !== undefined && fact.chainId !== chainOf(state, marketId)) return reject(turn, 'unknown_order', orderHash);
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
