/** What traders ask of several of their orders at once, of all of them, or of an order's size, in the reference engine. */
import type { CancelAfter, CancelAll, CancelOrders, ReduceOrder } from '../../engine/records/commands.js';
import type { AllOrdersCancelled, CancelReason } from '../../engine/records/events.js';
import {
  byNumber, cancel, cancelAll as cancelEach, chainOf, clears, known, naming, openOrders, reject, type Clearing, type ReferenceOrder, type State,
  type Turn,
} from './state.js';

const EVERYWHERE = `0x${'0'.repeat(64)}`;

export function cancelOrders(state: State, turn: Turn, { chainId, trader, orderHashes }: CancelOrders): void {
  for (const hash of orderHashes) {
    const order = known(state, hash);
    if (order?.status !== 'open' || order.placed.trader !== trader || chainOf(state, order.placed.marketId) !== chainId) continue;
    cancel(state, turn, order, 'user', order.remaining);
  }
  if (turn.events.length === 0) reject(turn, 'nothing_to_cancel', trader);
}

export function cancelAll(state: State, turn: Turn, command: CancelAll): void {
  const { chainId, trader, marketId, deadline } = command;
  if (isOver(state, deadline)) return reject(turn, 'too_late', trader);
  if (marketId !== EVERYWHERE && state.markets.get(marketId)?.chainId !== chainId) return reject(turn, 'unknown_market', trader);
  const first = state.clearings.find(({ asked }) => asked !== undefined && asked.deadline !== null && asked.deadline === deadline
    && asked.trader === trader && asked.chainId === chainId && asked.marketId === marketId);
  if (first !== undefined) {
    turn.events.push({ type: 'CancelAllRepeated', v: 1, chainId, trader, marketId, position: first.before });
    return;
  }
  const asked: AllOrdersCancelled = { type: 'AllOrdersCancelled', v: 1, chainId, trader, marketId, orders: 0, deadline: deadline ?? null };
  const clearing: Clearing = {
    trader, chainId, ...marketId === EVERYWHERE ? {} : { marketId }, before: state.position, reason: 'user', asked,
  };
  const orders = openOrders(state).filter((order) => clears(state, clearing, order)).sort(byNumber);
  asked.orders = orders.length;
  state.clearings.push(clearing);
  turn.events.push(asked);
  if (!cancelEach(state, turn, orders, 'user')) state.sweeps.push(clearing);
}

export function cancelAfter(state: State, turn: Turn, command: CancelAfter): void {
  const { chainId, trader, seconds, deadline } = command;
  if (isOver(state, deadline)) return reject(turn, 'too_late', trader);
  const earlier = state.switches.filter((each) => each.trader === trader && each.chainId === chainId);
  if (deadline !== undefined && earlier.some((each) => each.deadline !== undefined && BigInt(each.deadline) > BigInt(deadline))) {
    return reject(turn, 'outdated_request', trader);
  }
  for (const each of earlier) delete each.firesAt;
  const firesAt = state.now + 1_000 * seconds;
  state.switches.push({ trader, chainId, deadline, ...seconds === 0 ? {} : { firesAt } });
  if (seconds === 0) turn.events.push({ type: 'CancelAfterDisarmed', v: 1, chainId, trader, deadline: deadline ?? null });
  else turn.events.push({ type: 'CancelAfterArmed', v: 1, chainId, trader, firesAt, deadline: deadline ?? null });
}

/** Before every command: the switches whose time has come. */
export function fire(state: State): void {
  const due = state.switches.filter(({ firesAt = Infinity }) => firesAt <= state.now).sort((a, b) => (a.firesAt ?? 0) - (b.firesAt ?? 0));
  for (const each of due) {
    delete each.firesAt;
    const clearing: Clearing = { trader: each.trader, chainId: each.chainId, before: state.position, reason: 'cancel_after' };
    state.clearings.push(clearing);
    state.sweeps.push(clearing);
  }
}

export function reduceOrder(state: State, turn: Turn, { orderHash, trader, size: text }: ReduceOrder): void {
  const order = known(state, orderHash);
  if (order === undefined) return reject(turn, 'unknown_order', orderHash);
  if (trader !== undefined && trader !== order.placed.trader) return reject(turn, 'not_order_owner', orderHash);
  const size = BigInt(text);
  const filled = order.size - order.remaining;
  const head = { v: 1 as const, orderHash, orderNumber: order.number, size: String(order.size) };
  if (size === order.size) turn.events.push({ type: 'ReduceRepeated', ...head });
  else if (order.status === 'cancelled') {
    if (size > filled) reject(turn, 'already_cancelled', orderHash);
    else turn.events.push({ type: 'CancelRepeated', ...head, remaining: String(order.remaining) });
  } else if (order.status === 'filled') reject(turn, 'already_filled', orderHash);
  else if (size > order.size) reject(turn, 'not_reduced', orderHash);
  else if (size <= filled) cancel(state, turn, order, 'user', order.remaining);
  else {
    const reduced = String(order.size - size);
    order.size = size;
    order.remaining = size - filled;
    turn.events.push({ type: 'OrderReduced', v: 1, ...naming(order), size: text, remaining: String(order.remaining), reduced });
  }
}

function isOver({ now }: State, deadline: string | undefined): boolean {
  return deadline !== undefined && BigInt(now) >= BigInt(deadline) * 1_000n;
}

/** Why an order that would be open again is not: the latest clearing of its chain, or else that of its market. */
export function clearedBy(state: State, order: ReferenceOrder): CancelReason | undefined {
  const about = state.clearings.filter((clearing) => clears(state, clearing, order));
  return (about.findLast(({ marketId }) => marketId === undefined) ?? about.at(-1))?.reason;
}
