/**
 * Decides what a chain's facts about a fill cause: the fill is settled, or it failed and the innocent order gets its
 * size back.
 */
import { cancelled, rejected } from './cancelled.js';
import type { FailFill, SettleFill, SubmitSettlement } from '../records/commands.js';
import { costOf } from '../records/amounts.js';
import type { CancelReason, Event, FillFailed, TraderDefaulted } from '../records/events.js';
import { BUY, SELL, type FailureReason } from '../records/fields.js';
import { DEFAULT_MEMORY_MS, FIRST_SUSPENSION_MS, LONGEST_SUSPENSION_MS, WORK_LIMIT } from './limits.js';
import { match, NEVER_RESTS, POST_ONLY } from './match.js';
import type { PendingFill } from './pending-fills.js';
import {
  CANCELLED, FILLED, OPEN, clearedBy, isOpenMarket, lives, marketOf, ownerOf, pulledOrders, type Pull, type State,
} from './state.js';
import { isBelowFloor } from './trader.js';

export function decideSettleFill(state: State, command: SettleFill): Event[] {
  const pending = unsettled(state, command.fill, command.fact?.chainId);
  if (pending === undefined) return rejected('unknown_fill', String(command.fill));
  return [{ type: 'FillSettled', v: 1, ...fieldsOf(state, command.fill, pending), txHash: command.txHash }];
}

export function decideFailFill(state: State, command: FailFill, position: number): Event[] {
  const pending = unsettled(state, command.fill, command.fact?.chainId);
  if (pending === undefined) return rejected('unknown_fill', String(command.fill));
  const { txHash, reason, culprit } = command;
  const failed: FillFailed = { type: 'FillFailed', v: 1, ...fieldsOf(state, command.fill, pending), txHash, reason, culprit };
  const events: Event[] = [failed, ...defaultOf(state, command, pending)];
  if (culprit !== 'seller') cancelCulprit(state, pending.buySlot, pending.size, events);
  if (culprit !== 'buyer') cancelCulprit(state, pending.sellSlot, pending.size, events);
  const pull = pullOf(state, failed, position);
  if (pull !== undefined) {
    for (const slot of pulledOrders(state, pull)) {
      if (events.length > WORK_LIMIT) break;
      if (slot === pending.buySlot || slot === pending.sellSlot) continue;
      events.push(cancelled(state, slot, 'settlement_failed'));
    }
  }
  if (culprit !== 'both') {
    giveBack(state, { slot: culprit === 'buyer' ? pending.sellSlot : pending.buySlot, size: pending.size, pull }, events);
  }
  return events;
}

/** What a trader can bring about alone: the culprit of such a failure did not keep what the match had promised. */
const DEFAULTS: ReadonlySet<FailureReason> = new Set([
  'buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'transfer_rejected',
]);

/** The culprit's default; none when the failure is nobody's doing, or has the same cause as the default before. */
function defaultOf(
  state: State, { fill, countDefault, reason, culprit }: FailFill, { buySlot, sellSlot }: PendingFill,
): TraderDefaulted[] {
  if (!countDefault || culprit === 'both' || !DEFAULTS.has(reason)) return [];
  const { address: trader, latestDefault: latest } = ownerOf(state, culprit === 'buyer' ? buySlot : sellSlot);
  if (latest !== undefined && fill < latest.nextFill) return [];
  const defaults = latest !== undefined && state.now - latest.at <= DEFAULT_MEMORY_MS ? latest.count + 1 : 1;
  const suspendedUntil = defaults < 2 ? null : state.now + suspensionMs(defaults);
  return [{ type: 'TraderDefaulted', v: 1, trader, defaults, suspendedUntil }];
}

function suspensionMs(defaults: number): number {
  return Math.min(FIRST_SUSPENSION_MS * 2 ** (defaults - 2), LONGEST_SUSPENSION_MS);
}

export function decideSubmitSettlement(state: State, { chainId, txHash, fills }: SubmitSettlement): Event[] {
  if (!fills.some((fill) => unsettled(state, fill, chainId) !== undefined)) return rejected('unknown_fill', txHash);
  return [{ type: 'SettlementSubmitted', v: 1, chainId, txHash, fills }];
}

/** The fill, if it is unsettled and, where a chain is given, its market is on that chain. */
function unsettled(state: State, fill: number, chainId: number | undefined): PendingFill | undefined {
  const pending = state.fills.get(fill);
  if (pending === undefined || chainId === undefined) return pending;
  return marketOf(state, pending.buySlot).chainId === chainId ? pending : undefined;
}

/**
 * The pull of the culprit's other orders that need the asset that the culprit does not have; undefined when there is
 * none.
 */
export function pullOf(state: State, failed: FillFailed, position: number): Pull | undefined {
  const market = state.markets[state.marketIndex.get(failed.marketId)!]!;
  const base = { kind: 'trader', reason: 'settlement_failed', before: position, chainId: market.chainId } as const;
  const buyer = () => state.traderIndex.get(failed.buyer)!;
  const seller = () => state.traderIndex.get(failed.seller)!;
  switch (failed.reason) {
    case 'buyer_insufficient_balance':
    case 'buyer_insufficient_allowance':
      return failed.culprit === 'buyer' ? { ...base, trader: buyer(), side: BUY } : undefined;
    case 'seller_not_approved':
      return failed.culprit === 'seller' ? { ...base, trader: seller(), side: SELL } : undefined;
    case 'seller_insufficient_shares':
      return failed.culprit === 'seller'
        ? { ...base, trader: seller(), side: SELL, only: { market: market.index, outcome: failed.outcome } }
        : undefined;
    default: return undefined;
  }
}

function fieldsOf(state: State, fill: number, pending: PendingFill) {
  const { orders } = state;
  const { buySlot, sellSlot, price, size, takerSide } = pending;
  const [taker, maker] = takerSide === BUY ? [buySlot, sellSlot] : [sellSlot, buySlot];
  return {
    fill, marketId: marketOf(state, buySlot).marketId, outcome: orders.outcome(buySlot), price,
    size: size.toString(), cost: costOf(size, price).toString(), takerSide,
    makerNumber: orders.number(maker), takerNumber: orders.number(taker),
    buyer: ownerOf(state, buySlot).address, seller: ownerOf(state, sellSlot).address,
  };
}

function cancelCulprit(state: State, slot: number, failedSize: bigint, events: Event[]): void {
  if (state.columns.status.get(slot) === CANCELLED) return;
  events.push(cancelled(state, slot, 'settlement_failed', state.orders.remaining(slot) + failedSize));
}

/**
 * Gives the failed fill's size back to the innocent order: on the book if the order is open, otherwise by matching, if
 * rules allow it.
 */
function giveBack(
  state: State, innocent: { slot: number; size: bigint; pull: Pull | undefined }, events: Event[],
): void {
  const { slot, size } = innocent;
  const { orders, columns } = state;
  const market = marketOf(state, slot);
  const status = columns.status.get(slot);
  if (status === CANCELLED) return;
  const obstacle = status === FILLED ? obstacleOf(state, slot) : undefined;
  if (obstacle !== undefined) {
    events.push(cancelled(state, slot, obstacle, size));
    return;
  }
  const order = {
    v: 1 as const, orderHash: orders.hashOf(slot), orderNumber: orders.number(slot), marketId: market.marketId,
    side: orders.side(slot), outcome: orders.outcome(slot), price: orders.price(slot),
  };
  const reinstated: Event = { type: 'OrderReinstated', ...order, size: size.toString() };
  if (status === OPEN) {
    events.push(reinstated, { type: 'OrderRested', ...order, size: size.toString() });
    return;
  }
  const gone = new Set(events.filter((event) => event.type === 'OrderCancelled').map((event) => event.orderNumber));
  const { index: trader, address } = ownerOf(state, slot);
  const terms = columns.terms.get(slot);
  const matched: Event[] = [];
  match(state, {
    orderHash: order.orderHash, number: order.orderNumber, market, trader, address,
    side: order.side, outcome: order.outcome, price: order.price, remaining: size, terms, gone,
    sweeps: innocent.pull === undefined ? state.sweeps : [...state.sweeps, innocent.pull],
    workLeft: WORK_LIMIT - gone.size,
  }, matched);
  if ((terms & POST_ONLY) !== 0 && matched.some(({ type }) => type === 'FillMatched')) events.push(cancelled(state, slot, 'post_only', size));
  else events.push(reinstated, ...matched);
}

/** Why a filled order may not be open again. */
function obstacleOf(state: State, slot: number): CancelReason | undefined {
  const { nonceHi, nonceLo, terms } = state.columns;
  const market = marketOf(state, slot);
  if (!lives(state, slot)) return 'expired';
  if (!isOpenMarket(state, market)) return 'market_closed';
  if (isBelowFloor(ownerOf(state, slot), market.chainId, nonceHi.get(slot), nonceLo.get(slot))) return 'user';
  const cleared = clearedBy(state, slot);
  if (cleared !== undefined) return cleared;
  return (terms.get(slot) & NEVER_RESTS) === 0 ? undefined : 'time_in_force';
}
