/** Decides what the relayer's commands cause: a signed request is taken, its transactions are submitted, it ends. */
import type { EndRelay, RequestRelay, SubmitRelay } from '../records/commands.js';
import type { Event } from '../records/events.js';
import type { Claim } from '../records/fields.js';
import { rejected } from './cancelled.js';
import { MAX_OPEN_RELAYS } from './limits.js';
import type { OpenRelay, State } from './state.js';

export function decideRequestRelay(state: State, { requestId, chainId, action, owner, claims }: RequestRelay): Event[] {
  if (state.relays.has(requestId)) return rejected('relay_exists', requestId);
  if (state.relays.size >= MAX_OPEN_RELAYS) return rejected('too_many_relays', requestId);
  return [{ type: 'RelayRequested', v: 1, requestId, chainId, action, owner, claims: claims.map(inOrder) }];
}

export function decideSubmitRelay(state: State, command: SubmitRelay): Event[] {
  const relay = openRelay(state, command);
  if (relay === undefined) return rejected('unknown_relay', command.requestId);
  return [{ type: 'RelaySubmitted', v: 1, ...fieldsOf(relay), txHash: command.txHash }];
}

export function decideEndRelay(state: State, command: EndRelay): Event[] {
  const relay = openRelay(state, command);
  if (relay === undefined) return rejected('unknown_relay', command.requestId);
  const { txHash = null } = command;
  const results = command.results.map(({ succeeded, reason = null }) => ({ succeeded, reason }));
  return [{ type: 'RelayEnded', v: 1, ...fieldsOf(relay), txHash, results }];
}

/** The open request that a command names. Undefined for an unknown request, and for a request on another chain. */
function openRelay(state: State, { requestId, chainId }: SubmitRelay | EndRelay): OpenRelay | undefined {
  const relay = state.relays.get(requestId);
  return relay?.chainId === chainId ? relay : undefined;
}

function fieldsOf({ requestId, chainId, action, owner, claims }: OpenRelay) {
  return { requestId, chainId, action, owner, claims: claims.map(inOrder) };
}

/**
 * The claim with its keys in the schema's order: a command's keys may come in any order, and an event's text is a part
 * of the digest.
 */
function inOrder({ marketId, payout, winningOutcome }: Claim): Claim {
  return { marketId, payout, winningOutcome };
}
