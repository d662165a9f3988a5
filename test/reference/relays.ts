/** The relayer's requests in the reference engine: taken, submitted, ended. */
import type { EndRelay, RequestRelay, SubmitRelay } from '../../engine/records/commands.js';
import { reject, type State, type Turn } from './state.js';

const MAX_OPEN = 100_000;

export function requestRelay(state: State, turn: Turn, command: RequestRelay): void {
  if (state.relays.has(command.requestId)) return reject(turn, 'relay_exists', command.requestId);
  if (state.relays.size === MAX_OPEN) return reject(turn, 'too_many_relays', command.requestId);
  state.relays.set(command.requestId, command);
  turn.events.push({ type: 'RelayRequested', v: 1, ...naming(command) });
}

export function submitRelay(state: State, turn: Turn, command: SubmitRelay): void {
  const request = openRequest(state, command);
  if (request === undefined) return reject(turn, 'unknown_relay', command.requestId);
  turn.events.push({ type: 'RelaySubmitted', v: 1, ...naming(request), txHash: command.txHash });
}

export function endRelay(state: State, turn: Turn, command: EndRelay): void {
  const request = openRequest(state, command);
  if (request === undefined) return reject(turn, 'unknown_relay', command.requestId);
  state.relays.delete(command.requestId);
  turn.events.push({
    type: 'RelayEnded', v: 1, ...naming(request), txHash: command.txHash ?? null,
    results: command.results.map((result) => ({ succeeded: result.succeeded, reason: result.reason ?? null })),
  });
}

function openRequest(state: State, command: SubmitRelay | EndRelay): RequestRelay | undefined {
  const request = state.relays.get(command.requestId);
  return request?.chainId === command.chainId ? request : undefined;
}

/** The fields that every event about a request has, in the schemas' order. */
function naming({ requestId, chainId, action, owner, claims }: RequestRelay) {
  const inOrder = claims.map(({ marketId, payout, winningOutcome }) => ({ marketId, payout, winningOutcome }));
  return { requestId, chainId, action, owner, claims: inOrder };
}
