/**
 * Applies events to the traders: their lists of open orders, floors, defaults, switches, and what they have cancelled
 * as a whole.
 */
import { readUint64 } from '../records/integers.js';
import type { AllOrdersCancelled, CancelAfterArmed, CancelAfterDisarmed, NonceFloorRaised, TraderDefaulted } from '../records/events.js';
import { ALL_MARKETS } from '../records/fields.js';
import { clearingPull } from './decide-cancels.js';
import { floorPull } from './decide-chain.js';
import { WORK_LIMIT } from './limits.js';
import type { State } from './state.js';
import { cancelAllKey, type Clearing, type Trader } from './trader.js';

/** The trader with this address, who is added if new. */
export function traderOf(state: State, address: string): Trader {
  const known = state.traderIndex.get(address);
  if (known !== undefined) return state.traders[known]!;
  const { length: index } = state.traders;
  const trader: Trader = {
    index, address, firstOpen: -1, lastOpen: -1, openCount: 0, floors: undefined, latestDefault: undefined,
    cleared: undefined,
    cancelAlls: undefined, switches: undefined,
  };
  state.traders.push(trader);
  state.traderIndex.set(address, trader.index);
  return trader;
}

/**
 * Puts an order into its trader's list of open orders, by number. A new order goes to the end; a reopened order goes
 * further forward.
 */
export function linkOpen(state: State, trader: Trader, slot: number): void {
  const { orders, columns } = state;
  const number = orders.number(slot);
  let previous = trader.lastOpen;
  while (previous >= 0 && orders.number(previous) > number) previous = columns.previousOpen.get(previous) - 1;
  const next = previous < 0 ? trader.firstOpen : columns.nextOpen.get(previous) - 1;
  join(state, trader, previous, slot);
  join(state, trader, slot, next);
  trader.openCount++;
}

/** Takes an order off its trader's list of open orders. */
export function unlinkOpen(state: State, slot: number): void {
  const { columns } = state;
  const trader = state.traders[columns.trader.get(slot)]!;
  join(state, trader, columns.previousOpen.get(slot) - 1, columns.nextOpen.get(slot) - 1);
  trader.openCount--;
}

/** Makes `next` follow `previous` in the trader's list; -1 stands for the list's ends. */
function join(state: State, trader: Trader, previous: number, next: number): void {
  const { columns } = state;
  if (previous < 0) trader.firstOpen = next;
  else columns.nextOpen.set(previous, next + 1);
  if (next < 0) trader.lastOpen = previous;
  else columns.previousOpen.set(next, previous + 1);
}

/** Before each command: what is due by its time. The orders that a switch cancels are those before this command. */
export function fireSwitches(state: State): void {
  const { armed, now, position: before } = state;
  for (let first = armed[0]; first !== undefined && first.firesAt <= now; first = armed[0]) {
    const { trader, chainId } = first;
    armed.shift();
    state.sweeps.push({ kind: 'trader', reason: 'cancel_after', trader, before, chainId });
    const owner = state.traders[trader];
    if (owner !== undefined) clear(owner, chainId, { before, reason: 'cancel_after' });
  }
}

function clear(trader: Trader, of: number | string, clearing: Clearing): void {
  trader.cleared ??= new Map();
  trader.cleared.set(of, clearing);
}

/** NonceFloorRaised. */
export function raiseFloor(state: State, { chainId, trader: address, belowNonce }: NonceFloorRaised): void {
  const trader = traderOf(state, address);
  const { halves } = state;
  readUint64(belowNonce, halves);
  const below = { hi: halves[0]!, lo: halves[1]! };
  trader.floors ??= new Map();
  trader.floors.set(chainId, below);
  state.sweeps.push(floorPull({ trader: trader.index, chainId, below, before: state.position }));
}

/** AllOrdersCancelled: orders that the command has no work left for are the sweep's. */
export function cancelAll(
  state: State, { chainId, trader: address, marketId, orders, deadline }: AllOrdersCancelled,
): void {
  const trader = traderOf(state, address);
  const { position, now } = state;
  const isAll = marketId === ALL_MARKETS;
  const market = state.marketIndex.get(marketId);
  // A sweep that finds nothing would make the clock write a command.
  if (orders > WORK_LIMIT) state.sweeps.push(clearingPull({ trader: trader.index, chainId, market, before: position }));
  clear(trader, isAll ? chainId : marketId, { before: position, reason: 'user' });
  if (deadline === null) return;
  trader.cancelAlls ??= new Map();
  for (const [key, request] of trader.cancelAlls) if (Number(request.deadline) * 1_000 <= now) trader.cancelAlls.delete(key);
  trader.cancelAlls.set(cancelAllKey({ chainId, marketId, deadline }), { position, deadline });
}

/** CancelAfterArmed and CancelAfterDisarmed. A request that is not signed leaves the highest deadline as it is. */
export function setSwitch(state: State, event: CancelAfterArmed | CancelAfterDisarmed): void {
  const { chainId, deadline } = event;
  const trader = traderOf(state, event.trader);
  trader.switches ??= new Map();
  trader.switches.set(chainId, { deadline: deadline ?? trader.switches.get(chainId)?.deadline });
  const { armed } = state;
  const before = armed.findIndex((each) => each.trader === trader.index && each.chainId === chainId);
  if (before >= 0) armed.splice(before, 1);
  if (event.type === 'CancelAfterDisarmed') return;
  let place = armed.length;
  while ((armed[place - 1]?.firesAt ?? 0) > event.firesAt) place--;
  armed.splice(place, 0, { trader: trader.index, chainId, firesAt: event.firesAt });
}

/** TraderDefaulted. */
export function countDefault(state: State, { trader, defaults: count, suspendedUntil }: TraderDefaulted): void {
  traderOf(state, trader).latestDefault = {
    count, at: state.now, nextFill: state.nextFill, suspendedUntil: suspendedUntil ?? 0,
  };
}
