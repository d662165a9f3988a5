/**
 * Decides what a chain's facts cause, other than facts about fills: transfers, cancelled nonces, resolutions and
 * balances.
 */
import { parseUint64, readUint64, uint64 } from '../records/integers.js';
import { cancelled, rejected } from './cancelled.js';
import { chainCursor } from './chain-cursor.js';
import type {
  CancelOrdersBelow, RecordDispute, RecordProposal, RecordRedemption, RecordRejection, RecordTransfer, ResolveMarket,
  SyncPosition, HalveMarket,
} from '../records/commands.js';
import type { Event, MarketHalved, MarketResolved } from '../records/events.js';
import { isResolved } from './boundaries.js';
import { WORK_LIMIT } from './limits.js';
import { findMarket, marketOfToken, pulledOrders, type Market, type Pull, type State } from './state.js';
import type { Nonce } from './trader.js';

export function decideCancelOrdersBelow(state: State, command: CancelOrdersBelow, position: number): Event[] {
  const { chainId, trader: address, belowNonce } = command;
  const trader = state.traderIndex.get(address);
  const floor = state.traders[trader ?? -1]?.floors?.get(chainId);
  if (parseUint64(belowNonce) <= (floor === undefined ? 0n : uint64(floor.hi, floor.lo))) return rejected('nonce_cancelled', address);
  const events: Event[] = [{ type: 'NonceFloorRaised', v: 1, chainId, trader: address, belowNonce }];
  if (trader === undefined) return events;
  const { halves } = state;
  readUint64(belowNonce, halves);
  for (const slot of pulledOrders(
    state, floorPull({ trader, chainId, below: { hi: halves[0]!, lo: halves[1]! }, before: position }),
  )) {
    if (events.length > WORK_LIMIT) break;
    events.push(cancelled(state, slot, 'user'));
  }
  return events;
}

/** The pull that cancels the orders below a raised floor. */
export function floorPull(terms: { trader: number; chainId: number; below: Nonce; before: number }): Pull {
  return { kind: 'trader', reason: 'user', ...terms };
}

export function decideRecordTransfer(state: State, command: RecordTransfer): Event[] {
  const { chainId, from, to, txHash, items } = command;
  const events: Event[] = [];
  for (const { token, amount } of items) {
    const known = marketOfToken(state, token);
    if (known?.market.chainId !== chainId || amount === '0') continue;
    events.push({ type: 'SharesTransferred', v: 1, marketId: known.market.marketId, outcome: known.outcome, from, to, amount, txHash });
  }
  return events.length > 0 ? events : rejected('unknown_token', items[0]!.token);
}

type MarketFact = RecordRedemption | RecordProposal | RecordDispute | RecordRejection | ResolveMarket | HalveMarket;

export function decideMarketFact(state: State, command: MarketFact): Event[] {
  const { marketId } = command;
  const market = marketOfFact(state, command);
  if (market === undefined) return rejected('unknown_market', marketId);
  switch (command.kind) {
    case 'RecordRedemption': {
      const { user, payout, txHash } = command;
      return [{ type: 'PositionRedeemed', v: 1, marketId, user, payout, txHash }];
    }
    case 'RecordProposal': {
      const { assertionId, proposer, outcome, bond, assertionTime, expirationTime } = command;
      return [{ type: 'ResolutionProposed', v: 1, marketId, assertionId, proposer, outcome, bond, assertionTime, expirationTime }];
    }
    case 'RecordDispute': return [{ type: 'ResolutionDisputed', v: 1, marketId, assertionId: command.assertionId, disputer: command.disputer }];
    case 'RecordRejection': return [{ type: 'ResolutionRejected', v: 1, marketId, assertionId: command.assertionId }];
    case 'ResolveMarket': return resolve(market, { type: 'MarketResolved', v: 1, marketId, winningOutcome: command.winningOutcome });
    case 'HalveMarket': return resolve(market, { type: 'MarketHalved', v: 1, marketId });
  }
}

function resolve(market: Market, resolved: MarketResolved | MarketHalved): Event[] {
  const { marketId, closed } = market;
  if (isResolved(market)) return rejected('market_resolved', marketId);
  return closed ? [resolved] : [{ type: 'MarketClosed', v: 1, marketId }, resolved];
}

/**
 * The market that a fact is about. Undefined for an unknown market, and for a market on another chain than the fact.
 */
function marketOfFact(state: State, { marketId, fact }: MarketFact): Market | undefined {
  const market = findMarket(state, marketId);
  return fact === undefined || fact.chainId === market?.chainId ? market : undefined;
}

export function decideSyncPosition(state: State, command: SyncPosition): Event[] {
  const { marketId, user, yesShares, noShares, block } = command;
  const market = findMarket(state, marketId);
  if (market === undefined) return rejected('unknown_market', marketId);
  const cursor = chainCursor(state, market.chainId);
  if (cursor?.nextBlock !== block + 1 || cursor.nextLog !== 0) return rejected('outdated_sync', marketId);
  return [{ type: 'PositionSynced', v: 1, marketId, user, yesShares, noShares }];
}
