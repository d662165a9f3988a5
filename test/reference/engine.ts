/** The matching engine again, slow and obvious, written from docs/matching-rules.md alone: what the real one is compared with. */
import { createHash } from 'node:crypto';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Command, OpenMarket } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import type { Side } from '../../engine/records/fields.js';
import { cancelAfter, cancelAll as cancelAllOf, cancelOrders, fire, reduceOrder } from './cancels.js';
import { cancelOrdersBelow, marketFact, placeOf, recordTransfer, syncPosition } from './chain.js';
import { failFill, settleFill, submitSettlement } from './fills.js';
import { cancelOrder, placeOrder } from './orders.js';
import { faultOfQuick, joinBoundaries, passBoundary, quickOf, recordPrice, tellWhatIsKnown } from './prices.js';
import { endRelay, requestRelay, submitRelay } from './relays.js';
import {
  byNumber, cancelAll, emptyState, hasMore, isOpen, lives, openOrders, reasonOf, reject, sweptBy, WORK_LIMIT,
  type ReferenceFill, type ReferenceMarket, type ReferenceOrder, type State, type Turn,
} from './state.js';

export type { ReferenceFill, ReferenceMarket, ReferenceOrder } from './state.js';

export interface ReferenceEngine {
  /** `data` are the command's recorded bytes. */
  step(command: Command, data: Uint8Array): { outcome: CommandOutcome; text: string; digest: string };
  openOrders(): ReferenceOrder[];
  /** The last order of each hash, open or closed. */
  orders(): ReferenceOrder[];
  /** Every fill, by its number. */
  fills(): readonly ReferenceFill[];
  /** Open quantity by `levelKey`; no empty levels. */
  levels(): Map<string, bigint>;
}

/** Names a price level of one side of a book. */
export function levelKey(level: { marketId: string; outcome: number; side: Side; price: number }): string {
  return `${level.marketId} ${level.outcome} ${level.side} ${level.price}`;
}

export function createReferenceEngine(): ReferenceEngine {
  const state = emptyState();
  return {
    step(command, data) {
      const turn: Turn = { events: [], work: 0 };
      state.now = Math.max(state.now, command.at);
      fire(state);
      state.sweeps = state.sweeps.filter((sweep) => hasMore(state, sweep));
      const place = placeOf(state, command);
      if (place?.known === true) reject(turn, 'known_fact', place.name);
      else handle(state, turn, command);
      if (place?.known === false) state.cursors.set(place.chainId, place.next);
      const outcome = { at: state.now, events: turn.events };
      const text = JSON.stringify({ ...outcome, events: outcome.events.map(written) });
      const length = Buffer.alloc(4);
      length.writeUInt32BE(data.length);
      state.digest = createHash('sha256').update(state.digest).update(length).update(data).update(text, 'utf8').digest();
      state.position++;
      return { outcome, text, digest: `0x${state.digest.toString('hex')}` };
    },
    openOrders: () => openOrders(state),
    orders: () => [...state.orders.values()],
    fills: () => state.fills,
    levels() {
      const levels = new Map<string, bigint>();
      for (const order of openOrders(state)) {
        const key = levelKey(order.placed);
        levels.set(key, (levels.get(key) ?? 0n) + order.remaining);
      }
      return levels;
    },
  };
}

/** An event as it is recorded: that of a market without `quick` as in version 1. */
export function written(event: Event): object {
  if (event.type !== 'MarketOpened') return event;
  const { quick, ...fields } = { ...event, v: 1 };
  return quick === null ? fields : event;
}

function handle(state: State, turn: Turn, command: Command): void {
  switch (command.kind) {
    case 'OpenMarket': openMarket(state, turn, command); break;
    case 'PlaceOrder': placeOrder(state, turn, command); break;
    case 'CancelOrder': cancelOrder(state, turn, command); break;
    case 'CancelOrders': cancelOrders(state, turn, command); break;
    case 'CancelAll': cancelAllOf(state, turn, command); break;
    case 'CancelAfter': cancelAfter(state, turn, command); break;
    case 'ReduceOrder': reduceOrder(state, turn, command); break;
    case 'CancelOrdersBelow': cancelOrdersBelow(state, turn, command); break;
    case 'AdvanceClock': advanceClock(state, turn); break;
    case 'SubmitSettlement': submitSettlement(state, turn, command); break;
    case 'SettleFill': settleFill(state, turn, command); break;
    case 'FailFill': failFill(state, turn, command); break;
    case 'RecordTransfer': recordTransfer(state, turn, command); break;
    case 'RecordRedemption': case 'RecordProposal': case 'RecordDispute': case 'RecordRejection': case 'ResolveMarket':
    case 'HalveMarket':
      marketFact(state, turn, command);
      break;
    case 'AdvanceChain': {
      const { chainId, block, blockHash } = command;
      turn.events.push({ type: 'ChainAdvanced', v: 1, chainId, block, blockHash });
      break;
    }
    case 'PassOverAnchor': {
      const { chainId, txHash, position, digest } = command;
      turn.events.push({ type: 'AnchorPassedOver', v: 1, chainId, txHash, position, digest });
      break;
    }
    case 'RecordPrice': recordPrice(state, turn, command); break;
    case 'SyncPosition': syncPosition(state, turn, command); break;
    case 'RequestRelay': requestRelay(state, turn, command); break;
    case 'SubmitRelay': submitRelay(state, turn, command); break;
    case 'EndRelay': endRelay(state, turn, command);
  }
}

function openMarket(state: State, turn: Turn, command: OpenMarket): void {
  const { marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind, quick, ifOver } = command;
  const tokens = command.tokens === undefined ? [] : [command.tokens.yes, command.tokens.no];
  const isTaken = (token: string): boolean => [...state.markets.values()].some((market) => market.tokens.includes(token));
  if (state.markets.has(marketId)) return reject(turn, 'market_exists', marketId);
  if (tokens.some(isTaken) || new Set(tokens).size < tokens.length) return reject(turn, 'market_exists', marketId);
  const market: ReferenceMarket = {
    id: marketId, chainId, expiration: BigInt(expiration), closed: false, halved: false, tokens, quick: quickOf(state, command),
  };
  const isOver = !isOpen(state, market);
  if (isOver && ifOver === 'reject') return reject(turn, 'invalid_expiration', marketId);
  const fault = faultOfQuick(state, command);
  if (fault !== undefined) return reject(turn, fault, marketId);
  state.markets.set(marketId, market);
  turn.events.push({
    type: 'MarketOpened', v: 2, marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind,
    quick: quick === undefined ? null : { asset: quick.asset, startTime: quick.startTime, endTime: expiration },
  });
  if (command.tokens !== undefined) {
    turn.events.push({ type: 'MarketTokenized', v: 1, marketId, yesToken: command.tokens.yes, noToken: command.tokens.no });
  }
  if (isOver) {
    market.closed = true;
    turn.events.push({ type: 'MarketClosed', v: 1, marketId });
  }
  joinBoundaries(state, market);
  tellWhatIsKnown(turn, market, ifOver === 'close');
}

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

function advanceClock(state: State, turn: Turn): void {
  const due = [...state.markets.values()].filter((market) => !market.closed && !isOpen(state, market))
    .sort((a, b) => compare(a.expiration, b.expiration));
  for (const market of due) {
    if (turn.work === WORK_LIMIT) return;
    turn.work++;
    market.closed = true;
    state.sweeps.push({ market });
    turn.events.push({ type: 'MarketClosed', v: 1, marketId: market.id });
  }
  for (const sweep of state.sweeps) {
    if (!cancelAll(state, turn, sweptBy(state, sweep), reasonOf(sweep))) return;
  }
  const expired = openOrders(state).filter((order) => !lives(state, order.expiration))
    .sort((a, b) => compare(a.expiration, b.expiration) || byNumber(a, b));
  cancelAll(state, turn, expired, 'expired');
  if (turn.events.length === 0) passBoundary(state, turn);
}
