/** The chain's facts in the reference engine: each once, transfers, cancelled nonces, resolutions, balances. */
import type {
  CancelOrdersBelow, Command, HalveMarket, RecordDispute, RecordProposal, RecordRedemption, RecordRejection, RecordTransfer, ResolveMarket,
  SyncPosition,
} from '../../engine/records/commands.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { cancelAll, floorOf, reject, sweptBy, type State, type Turn } from './state.js';

/** The place of a command's fact on its chain, and the first place for the next one; undefined for a command that is not from a chain. */
interface Place {
  readonly name: string;
  readonly chainId: number;
  readonly known: boolean;
  readonly next: { block: number; log: number };
}

export function placeOf(state: State, command: Command): Place | undefined {
  if (command.kind === 'AdvanceChain') {
    const { chainId, block } = command;
    const cursor = state.cursors.get(chainId) ?? { block: 0, log: 0 };
    return { name: `${chainId}:${block}`, chainId, known: block < cursor.block, next: { block: block + 1, log: 0 } };
  }
  if (!('fact' in command) || command.fact === undefined) return undefined;
  const { chainId, block, logIndex } = command.fact;
  const cursor = state.cursors.get(chainId) ?? { block: 0, log: 0 };
  const known = block < cursor.block || (block === cursor.block && logIndex < cursor.log);
  return { name: `${chainId}:${block}:${logIndex}`, chainId, known, next: { block, log: logIndex + 1 } };
}

export function cancelOrdersBelow(state: State, turn: Turn, command: CancelOrdersBelow): void {
  const { chainId, trader, belowNonce } = command;
  if (BigInt(belowNonce) <= floorOf(state, chainId, trader)) return reject(turn, 'nonce_cancelled', trader);
  state.floors.set(`${chainId} ${trader}`, BigInt(belowNonce));
  turn.events.push({ type: 'NonceFloorRaised', v: 1, chainId, trader, belowNonce });
  if (!cancelAll(state, turn, sweptBy(state, command), 'user')) state.sweeps.push(command);
}

export function recordTransfer(state: State, turn: Turn, command: RecordTransfer): void {
  const { chainId, from, to, txHash, items } = command;
  for (const { token, amount } of items) {
    const market = [...state.markets.values()].find(({ tokens }) => tokens.includes(token));
    if (market === undefined || market.chainId !== chainId || amount === '0') continue;
    const outcome = market.tokens.indexOf(token) as MarketOutcome;
    turn.events.push({ type: 'SharesTransferred', v: 1, marketId: market.id, outcome, from, to, amount, txHash });
  }
  if (turn.events.length === 0) reject(turn, 'unknown_token', items[0]!.token);
}

export type MarketFact = RecordRedemption | RecordProposal | RecordDispute | RecordRejection | ResolveMarket | HalveMarket;

export function marketFact(state: State, turn: Turn, command: MarketFact): void {
  const { marketId } = command;
  const market = state.markets.get(marketId);
  if (market === undefined || (command.fact !== undefined && command.fact.chainId !== market.chainId)) {
    return reject(turn, 'unknown_market', marketId);
  }
  switch (command.kind) {
    case 'RecordRedemption': {
      const { user, payout, txHash } = command;
      turn.events.push({ type: 'PositionRedeemed', v: 1, marketId, user, payout, txHash });
      break;
    }
    case 'RecordProposal': {
      const { assertionId, proposer, outcome, bond, assertionTime, expirationTime } = command;
      turn.events.push({ type: 'ResolutionProposed', v: 1, marketId, assertionId, proposer, outcome, bond, assertionTime, expirationTime });
      break;
    }
    case 'RecordDispute': {
      const { assertionId, disputer } = command;
      turn.events.push({ type: 'ResolutionDisputed', v: 1, marketId, assertionId, disputer });
      break;
    }
    case 'RecordRejection':
      turn.events.push({ type: 'ResolutionRejected', v: 1, marketId, assertionId: command.assertionId });
      break;
    case 'ResolveMarket': case 'HalveMarket':
      if (market.winner !== undefined || market.halved) return reject(turn, 'market_resolved', marketId);
      if (!market.closed) {
        market.closed = true;
        state.sweeps.push({ market });
        turn.events.push({ type: 'MarketClosed', v: 1, marketId });
      }
      if (command.kind === 'HalveMarket') {
        market.halved = true;
        turn.events.push({ type: 'MarketHalved', v: 1, marketId });
        break;
      }
      market.winner = command.winningOutcome;
      turn.events.push({ type: 'MarketResolved', v: 1, marketId, winningOutcome: command.winningOutcome });
  }
}

export function syncPosition(state: State, turn: Turn, command: SyncPosition): void {
  const { marketId, user, yesShares, noShares, block } = command;
  const market = state.markets.get(marketId);
  if (market === undefined) return reject(turn, 'unknown_market', marketId);
  const cursor = state.cursors.get(market.chainId);
  if (cursor?.block !== block + 1 || cursor.log !== 0) return reject(turn, 'outdated_sync', marketId);
  turn.events.push({ type: 'PositionSynced', v: 1, marketId, user, yesShares, noShares });
}
