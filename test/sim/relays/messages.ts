/** What traders sign for the relayer, and the body of the request: the same bytes every time that it is sent. */
import type { ActionMessage } from '../../../command/signing/action-digest.js';
import { toHex } from '../../../engine/records/hex.js';
import { CHAIN, type ContractState } from '../chain/contracts.js';
import { nextNonce, ZERO_WORD, type MessageTools, type TokenAction, type TokenCall } from '../chain/token-contract.js';
import type { Trader } from '../story/traders.js';

export interface SignedRelay {
  /** The digest of the message. */
  readonly id: string;
  readonly action: TokenAction;
  readonly owner: string;
  readonly body: Buffer;
  /** What the contract is called with. */
  readonly call: TokenCall;
}

export type RelayIntent
  = | { readonly action: 'ctf-approval'; readonly approved: boolean }
    | { readonly action: 'ctf-split' | 'ctf-merge'; readonly marketId: string; readonly amount: bigint }
    | { readonly action: 'ctf-redemption'; readonly marketId: string };

function membersOf(intent: RelayIntent): ActionMessage {
  const { settlement: operator, collateral: collateralToken } = CHAIN.contracts;
  switch (intent.action) {
    case 'ctf-approval': return { operator, approved: intent.approved };
    case 'ctf-split':
    case 'ctf-merge': return { collateralToken, conditionId: intent.marketId, amount: intent.amount };
    case 'ctf-redemption': return { collateralToken, parentCollectionId: ZERO_WORD, conditionId: intent.marketId, indexSets: [1n, 2n] };
  }
}

interface Signing {
  readonly state: ContractState;
  readonly messages: MessageTools;
  /** Unix seconds. */
  readonly deadline: bigint;
  /** How many messages come before it. */
  readonly later?: bigint;
}

/** Signs with the nonce that is due in this state, or with a later one. */
export function signRelay(trader: Trader, intent: RelayIntent, { state, messages, deadline, later = 0n }: Signing): SignedRelay {
  const { address: owner } = trader;
  const { action } = intent;
  const message = { owner, ...membersOf(intent), deadline };
  const digest = messages.digest(action, { ...message, nonce: nextNonce(state, { action, owner, message }) + later });
  const { serialized, v, r, s } = trader.key.sign(digest);
  const text = (value: unknown): unknown => typeof value === 'bigint' ? String(value) : Array.isArray(value) ? value.map(text) : value;
  const fields = Object.fromEntries(Object.entries(message).map(([name, value]) => [name, text(value)]));
  const call: TokenCall = { kind: 'tokens', action, message, owner, deadline, signature: Buffer.from(serialized.slice(2), 'hex') };
  return { id: toHex(digest), action, owner, call, body: Buffer.from(JSON.stringify({ chainId: CHAIN.chainId, ...fields, v, r, s })) };
}
