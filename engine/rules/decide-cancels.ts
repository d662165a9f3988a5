/** Decides what traders ask of several orders at once, of all of theirs, or of an order's size. */
import { formatUint64, parseUint64 } from '../records/integers.js';
import type { CancelAfter, CancelAll, CancelOrders, ReduceOrder } from '../records/commands.js';
import type { Event } from '../records/events.js';
import { ALL_MARKETS } from '../records/fields.js';
import { cancelled, rejected } from './cancelled.js';
import { WORK_LIMIT } from './limits.js';
import { CANCELLED, OPEN, findMarket, findOrder, marketOf, ownerOf, pulledOrders, type Pull, type State } from './state.js';
import { cancelAllKey } from './trader.js';

export function decideCancelOrders(state: State, { chainId, trader, orderHashes }: CancelOrders): Event[] {
  const slots = new Set(orderHashes.map((hash) => findOrder(state, hash)));
  const events: Event[] = [];
  for (const slot of slots) {
    if (slot < 0 || state.columns.status.get(slot) !== OPEN) continue;
    if (marketOf(state, slot).chainId === chainId && ownerOf(state, slot).address === trader) events.push(cancelled(state, slot, 'user'));
  }
  return events.length > 0 ? events : rejected('nothing_to_cancel', trader);
}

export function decideCancelAll(state: State, command: CancelAll, position: number): Event[] {
  const { chainId, trader: address, marketId } = command;
  const deadline = command.deadline ?? null;
  if (hasPassed(state, deadline)) return rejected('too_late', address);
  const market = findMarket(state, marketId);
  if (marketId !== ALL_MARKETS && market?.chainId !== chainId) return rejected('unknown_market', address);
  const trader = state.traders[state.traderIndex.get(address) ?? -1];
  const first = deadline === null ? undefined : trader?.cancelAlls?.get(cancelAllKey({ chainId, marketId, deadline }));
  if (first !== undefined) return [{ type: 'CancelAllRepeated', v: 1, chainId, trader: address, marketId, position: first.position }];
  const pull = trader === undefined
    ? undefined
    : clearingPull({ trader: trader.index, chainId, market: market?.index, before: position });
  const slots = pull === undefined ? [] : [...pulledOrders(state, pull)];
  return [
    { type: 'AllOrdersCancelled', v: 1, chainId, trader: address, marketId, orders: slots.length, deadline },
    ...slots.slice(0, WORK_LIMIT).map((slot) => cancelled(state, slot, 'user')),
  ];
}

/** The pull that cancels what a CancelAll has not cancelled yet. */
export function clearingPull({ market, ...terms }: {
  trader: number;
  chainId: number;
  market: number | undefined;
  before: number;
}): Pull {
  return { kind: 'trader', reason: 'user', ...terms, ...market === undefined ? {} : { market } };
}

export function decideCancelAfter(state: State, command: CancelAfter): Event[] {
  const { chainId, trader, seconds } = command;
  const deadline = command.deadline ?? null;
  if (hasPassed(state, deadline)) return rejected('too_late', trader);
  const latest = state.traders[state.traderIndex.get(trader) ?? -1]?.switches?.get(chainId)?.deadline;
  if (deadline !== null && latest !== undefined && parseUint64(deadline) < parseUint64(latest)) return rejected('outdated_request', trader);
  if (seconds === 0) return [{ type: 'CancelAfterDisarmed', v: 1, chainId, trader, deadline }];
  return [{ type: 'CancelAfterArmed', v: 1, chainId, trader, firesAt: state.now + seconds * 1_000, deadline }];
}

/** Whether a signed request's deadline, in Unix seconds, has passed. */
function hasPassed({ now }: State, deadline: string | null): boolean {
  return deadline !== null && Number(deadline) * 1_000 <= now;
}

export function decideReduceOrder(state: State, command: ReduceOrder): Event[] {
  const { orderHash } = command;
  const { orders, columns } = state;
  const slot = findOrder(state, orderHash);
  if (slot < 0) return rejected('unknown_order', orderHash);
  if (command.trader !== undefined && command.trader !== ownerOf(state, slot).address) return rejected('not_order_owner', orderHash);
  const present = formatUint64(columns.sizeHi.get(slot), columns.sizeLo.get(slot));
  const orderNumber = orders.number(slot);
  if (command.size === present) return [{ type: 'ReduceRepeated', v: 1, orderHash, orderNumber, size: present }];
  const size = parseUint64(command.size);
  const left = orders.remaining(slot);
  const filled = parseUint64(present) - left;
  const status = columns.status.get(slot);
  if (status === CANCELLED) {
    if (size > filled) return rejected('already_cancelled', orderHash);
    return [{ type: 'CancelRepeated', v: 1, orderHash, orderNumber, size: present, remaining: left.toString() }];
  }
  if (status !== OPEN) return rejected('already_filled', orderHash);
  if (size > filled + left) return rejected('not_reduced', orderHash);
  if (size <= filled) return [cancelled(state, slot, 'user')];
  return [{
    type: 'OrderReduced', v: 1, orderHash, orderNumber, marketId: marketOf(state, slot).marketId, side: orders.side(slot),
    outcome: orders.outcome(slot), price: orders.price(slot), size: command.size, remaining: (size - filled).toString(),
    reduced: (filled + left - size).toString(),
  }];
}
