/** The oracle's and its resolver's rules: a resolution is proposed, perhaps disputed and arbitrated, and settled by whoever asks. */
import { id } from 'ethers';
import { abi, CHAIN, emitted, NOBODY, type ContractState, type ContractEffect, type SimLog, type SimMarket, type SimProposal } from './contracts.js';
import type { Done } from './token-contract.js';

export interface SettleCall {
  readonly kind: 'settle';
  readonly assertionId: string;
}

/** Undefined for any other call. */
export function readSettleCall(to: string, data: string): SettleCall | undefined {
  const call = to === CHAIN.contracts.oracle ? abi.oracle.parseTransaction({ data }) : null;
  return call?.name === 'settleAssertion' ? { kind: 'settle', assertionId: call.args[0] as string } : undefined;
}

/** Settles an assertion. */
export function carryOutSettle({ assertionId }: SettleCall, { state, timestamp }: { state: ContractState; timestamp: number }): Done {
  const proposal = state.proposals.get(assertionId);
  if (proposal === undefined) return { reverted: 'AssertionDoesNotExist()' };
  const { marketId, outcome, disputed, truthful = true, expirationTime, settled } = proposal;
  if (settled) return { reverted: 'AssertionAlreadySettled()' };
  if (disputed && proposal.truthful === undefined) return { reverted: 'AssertionNotArbitrated()' };
  if (!disputed && timestamp < expirationTime) return { reverted: `AssertionNotExpired(${expirationTime})` };
  if (truthful && state.resolved.has(marketId)) return { reverted: `MarketAlreadyResolved(${marketId})` };
  state.proposals.set(assertionId, { ...proposal, settled: true });
  if (!truthful) return { logs: [emitted('oracleResolver', 'ResolutionRejected', [marketId, assertionId])] };
  state.resolved.set(marketId, outcome);
  const payouts = outcome === 0 ? [1, 0] : [0, 1];
  return { logs: [emitted('tokens', 'ConditionResolution', [marketId, CHAIN.contracts.oracleResolver, marketId, 2, payouts])] };
}

/** The market's proposal that nobody has settled; undefined when it has none, or is resolved. */
function pendingOf({ proposals, resolved }: ContractState, marketId: string): SimProposal | undefined {
  return resolved.has(marketId) ? undefined : [...proposals.values()].find((each) => each.marketId === marketId && !each.settled);
}

/** Proposals that somebody still has to settle. */
export function unsettled({ proposals, resolved }: ContractState): readonly SimProposal[] {
  return [...proposals.values()].filter(({ settled, marketId }) => !settled && !resolved.has(marketId));
}

export function propose(
  { marketId }: SimMarket, { outcome, windowS, proposer }: { outcome: 0 | 1; windowS: number; proposer: string },
): ContractEffect {
  return (state, timestamp) => {
    if (state.resolved.has(marketId) || pendingOf(state, marketId) !== undefined) return [];
    const assertionId = id(`assertion ${marketId} ${timestamp}`);
    const expirationTime = timestamp + windowS;
    state.proposals.set(assertionId, { assertionId, marketId, outcome, expirationTime, disputed: false, truthful: undefined, settled: false });
    return [emitted('oracleResolver', 'ResolutionProposed', [marketId, assertionId, proposer, outcome === 0, 0, timestamp, expirationTime])];
  };
}

export function dispute({ marketId }: SimMarket, disputer: string): ContractEffect {
  return (state, timestamp) => {
    const proposal = pendingOf(state, marketId);
    if (proposal === undefined || proposal.disputed || timestamp >= proposal.expirationTime) return [];
    state.proposals.set(proposal.assertionId, { ...proposal, disputed: true });
    return [emitted('oracleResolver', 'ResolutionDisputed', [marketId, proposal.assertionId, disputer])];
  };
}

/** Of every dispute that waits. */
export function arbitrate({ marketId }: SimMarket, truthful: boolean): ContractEffect {
  return (state) => {
    const proposal = pendingOf(state, marketId);
    if (proposal?.disputed === true) state.proposals.set(proposal.assertionId, { ...proposal, truthful });
    return [];
  };
}

/** Somebody else than the keeper settles, if that is possible. */
export function settleFirst({ marketId }: SimMarket): ContractEffect {
  return (state, timestamp): readonly SimLog[] => {
    const proposal = pendingOf(state, marketId);
    const done = proposal === undefined ? undefined : carryOutSettle({ kind: 'settle', assertionId: proposal.assertionId }, { state, timestamp });
    return done !== undefined && 'logs' in done ? done.logs : [];
  };
}

/** What a view of the oracle or its resolver returns; undefined for another call. */
export function viewOracle(target: string, data: string, { proposals }: ContractState): string | undefined {
  const { oracleResolver } = abi;
  // Bonds cost nothing here.
  if (target === CHAIN.contracts.oracleResolver && oracleResolver.parseTransaction({ data })?.name === 'bondOf') {
    return oracleResolver.encodeFunctionResult('bondOf', [0n]);
  }
  const call = target === CHAIN.contracts.oracle ? abi.oracle.parseTransaction({ data }) : null;
  if (call?.name !== 'getAssertion') return undefined;
  const { settled = false, disputed = false, expirationTime = 0, truthful = false } = proposals.get(call.args[0] as string) ?? {};
  const escalation = [false, false, false, NOBODY, NOBODY];
  const zero = `0x${'0'.repeat(64)}`;
  return abi.oracle.encodeFunctionResult('getAssertion', [[
    escalation, NOBODY, 0, settled, CHAIN.contracts.collateral, expirationTime, truthful, zero, zero, 0, CHAIN.contracts.oracleResolver,
    disputed ? CHAIN.contracts.oracle : NOBODY,
  ]]);
}
