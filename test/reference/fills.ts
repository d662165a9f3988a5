/** What a fill's result on the chain changes in the reference engine. */
import type { FailFill, SettleFill, SubmitSettlement } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import { BUY } from '../../engine/records/fields.js';
import { foreseen, matchThenRest } from './orders.js';
import {
  cancel, cancelAll, chainOf, isNonceCancelled, isOpen, lives, naming, reject, rest, sweptBy, type Pull, type ReferenceFill, type ReferenceOrder,
  type State, type Turn,
} from './state.js';

/** The fill of this number, if it is unsettled; where a chain is given, also only if it is of a market there. */
function unsettled(state: State, number: number, chainId?: number): ReferenceFill | undefined {
  const fill = state.fills[number];
  if (fill?.status !== 'unsettled') return undefined;
  return chainId === undefined || chainOf(state, fill.matched.marketId) === chainId ? fill : undefined;
}

export function submitSettlement(state: State, turn: Turn, { chainId, txHash, fills }: SubmitSettlement): void {
  if (fills.every((number) => unsettled(state, number, chainId) === undefined)) return reject(turn, 'unknown_fill', txHash);
  turn.events.push({ type: 'SettlementSubmitted', v: 1, chainId, txHash, fills });
}

export function settleFill(state: State, turn: Turn, command: SettleFill): void {
  const fill = unsettled(state, command.fill, command.fact?.chainId);
  if (fill === undefined) return reject(turn, 'unknown_fill', String(command.fill));
  fill.status = 'settled';
  turn.events.push({ ...fill.matched, type: 'FillSettled', txHash: command.txHash });
}

export function failFill(state: State, turn: Turn, command: FailFill): void {
  const fill = unsettled(state, command.fill, command.fact?.chainId);
  if (fill === undefined) return reject(turn, 'unknown_fill', String(command.fill));
  const { txHash, reason, culprit } = command;
  fill.status = 'failed';
  fill.maker.remaining += fill.size;
  fill.taker.remaining += fill.size;
  turn.events.push({ ...fill.matched, type: 'FillFailed', txHash, reason, culprit });
  if (command.countDefault) countDefault(state, turn, { fill, reason, culprit });

  const [buy, sell] = fill.taker.placed.side === BUY ? [fill.taker, fill.maker] : [fill.maker, fill.taker];
  const culprits = culprit === 'both' ? [buy, sell] : culprit === 'buyer' ? [buy] : [sell];
  for (const order of culprits) {
    if (order.status === 'cancelled') continue;
    turn.work++;
    cancel(state, turn, order, 'settlement_failed', order.status === 'open' ? order.remaining - fill.size : 0n);
  }
  const pull: Pull = { command, fill, before: state.position };
  if (!cancelAll(state, turn, sweptBy(state, pull), 'settlement_failed')) state.sweeps.push(pull);
  if (culprit !== 'both') giveBack(state, turn, culprit === 'buyer' ? sell : buy, fill.size);
}

const OWN_DOING = ['buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'transfer_rejected'];

function countDefault(state: State, turn: Turn, { fill, reason, culprit }: { fill: ReferenceFill } & Pick<FailFill, 'reason' | 'culprit'>): void {
  if (culprit === 'both' || !OWN_DOING.includes(reason)) return;
  const trader = fill.matched[culprit];
  const earlier = state.defaults.filter((each) => each.trader === trader);
  const last = earlier.at(-1);
  if (last !== undefined && last.fills.has(fill)) return;
  const count = last !== undefined && state.now <= last.at + 24 * 60 * 60 * 1_000 ? last.count + 1 : 1;
  let suspension = 30_000;
  for (let n = 2; n < count; n++) suspension = Math.min(2 * suspension, 60 * 60 * 1_000);
  const until = count > 1 ? state.now + suspension : null;
  state.defaults.push({ trader, at: state.now, count, fills: new Set(state.fills), until });
  turn.events.push({ type: 'TraderDefaulted', v: 1, trader, defaults: count, suspendedUntil: until });
}

/** What a failed fill does for the innocent order. */
function giveBack(state: State, turn: Turn, order: ReferenceOrder, size: bigint): void {
  const reinstated: Event = { type: 'OrderReinstated', v: 1, ...naming(order), size: String(size) };
  if (order.status === 'cancelled') return;
  if (order.status === 'open') {
    turn.events.push(reinstated);
    rest(turn, order, size);
    return;
  }
  if (!lives(state, order.expiration)) return cancel(state, turn, order, 'expired', 0n);
  if (!isOpen(state, state.markets.get(order.placed.marketId)!)) return cancel(state, turn, order, 'market_closed', 0n);
  if (isNonceCancelled(state, order.placed)) return cancel(state, turn, order, 'user', 0n);
  if (order.placed.timeInForce !== undefined) return cancel(state, turn, order, 'time_in_force', 0n);
  if (order.placed.postOnly === true && foreseen(state, turn, order).takes) return cancel(state, turn, order, 'post_only', 0n);
  order.status = 'open';
  turn.events.push(reinstated);
  matchThenRest(state, turn, order);
}
