/** The conditional tokens' rules for signed messages: approvals, complete sets and redemptions, whoever brings them; and the views of that. */
import { prepareAction, type ActionMessage } from '../../../command/signing/action-digest.js';
import type { Keccak256 } from '../../../command/signing/typed-data.js';
import type { SignerRecovery } from '../../../command/signing/recover.js';
import { nonceKey, signedActions, signingDomains } from '../../../command/signing/signed-actions.js';
import { toHex } from '../../../engine/records/hex.js';
import { abi, add, CHAIN, emitted, NOBODY, type ContractState, type SimLog, type SimMarket } from './contracts.js';
import { addressOf } from './quick-contracts.js';

export type TokenAction = 'ctf-approval' | 'ctf-split' | 'ctf-merge' | 'ctf-redemption';
export const ZERO_WORD = `0x${'0'.repeat(64)}`;
const METHODS: Readonly<Record<string, TokenAction>> = {
  setApprovalForAllWithSig: 'ctf-approval', splitPositionWithSig: 'ctf-split', mergePositionsWithSig: 'ctf-merge', redeemPositionsWithSig: 'ctf-redemption',
};

/** A signed message in a transaction. Amounts are in units of 1e-6. */
export interface TokenCall {
  readonly kind: 'tokens';
  readonly action: TokenAction;
  /** All members but the nonce. */
  readonly message: ActionMessage;
  readonly owner: string;
  /** Unix seconds. */
  readonly deadline: bigint;
  /** 65 bytes: r, s, v. */
  readonly signature: Uint8Array;
}

/** What the contract's signatures are checked with. */
export interface MessageTools {
  digest(action: TokenAction, message: ActionMessage): Uint8Array;
  readonly recovery: SignerRecovery;
}

export function createMessageTools({ keccak256, recovery }: { keccak256: Keccak256; recovery: SignerRecovery }): MessageTools {
  const { contracts, chainId, domainName: settlementName } = CHAIN;
  const { conditionalTokens: domain } = signingDomains({ chainId, contracts, settlementName, token: undefined });
  const prepared = (action: TokenAction) => prepareAction(keccak256, signedActions[action], domain);
  const digests = {
    'ctf-approval': prepared('ctf-approval'), 'ctf-split': prepared('ctf-split'), 'ctf-merge': prepared('ctf-merge'), 'ctf-redemption': prepared('ctf-redemption'),
  };
  return { recovery, digest: (action, message) => digests[action](message) };
}

/** Undefined for any other call. */
export function readTokenCall(to: string, data: string): TokenCall | undefined {
  if (to !== CHAIN.contracts.conditionalTokens) return undefined;
  const call = abi.tokens.parseTransaction({ data });
  const action = METHODS[call?.name ?? ''];
  if (call === null || action === undefined) return undefined;
  const { v, r, s, ...members } = call.args.toObject() as { v: bigint; r: string; s: string } & Record<string, unknown>;
  const signature = Buffer.from(`${r.slice(2)}${s.slice(2)}${Number(v).toString(16)}`, 'hex');
  const message = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, plain(value)])) as ActionMessage;
  return { kind: 'tokens', action, message, owner: message['owner'] as string, deadline: message['deadline'] as bigint, signature };
}

const plain = (value: unknown): unknown => typeof value === 'string' ? value.toLowerCase() : Array.isArray(value) ? [...value as unknown[]] : value;

export interface TokenMoment {
  readonly state: ContractState;
  /** The block's time, Unix seconds. */
  readonly timestamp: number;
  readonly markets: ReadonlyMap<string, SimMarket>;
  readonly messages: MessageTools;
}

export type Done = { readonly logs: readonly SimLog[] } | { readonly reverted: string };

const spaceOf = ({ action, owner, message }: Pick<TokenCall, 'action' | 'owner' | 'message'>): string => (
  action === 'ctf-redemption' ? `${owner} ${message['conditionId'] as string}` : owner);

/** The nonce that is due, as the contract tells it. */
export function nextNonce({ nonces }: ContractState, call: Pick<TokenCall, 'action' | 'owner' | 'message'>): bigint {
  const counter = nonces.get(spaceOf(call)) ?? 0n;
  return call.action === 'ctf-redemption' ? (nonceKey(call.message['conditionId'] as string) << 64n) + counter : counter;
}

/** Carries a message out, and uses up its nonce; a revert changes nothing. */
export function carryOutTokens(call: TokenCall, moment: TokenMoment): Done {
  const { state, timestamp, messages } = moment;
  const { action, message, owner, deadline, signature } = call;
  if (BigInt(timestamp) > deadline) return { reverted: `ExpiredSignature(${deadline})` };
  const digest = messages.digest(action, { ...message, nonce: nextNonce(state, call) });
  const signer = messages.recovery.recover(digest, signature);
  if (!signer.ok || signer.signer !== owner) return { reverted: `InvalidSigner(${signer.ok ? signer.signer : NOBODY}, ${owner})` };
  const done = EFFECTS[action](call, moment);
  if ('reverted' in done) return done;
  useNonce(state, call);
  const hex = toHex(digest);
  state.carried.set(hex, (state.carried.get(hex) ?? 0) + 1);
  return done;
}

/** A signed message that has not been carried out is void then. */
export function useNonce({ nonces }: ContractState, call: Pick<TokenCall, 'action' | 'owner' | 'message'>): void {
  add(nonces, spaceOf(call), 1n);
}

type Effect = (call: TokenCall, moment: TokenMoment) => Done;
const BOTH = [1n, 2n];

const EFFECTS: Readonly<Record<TokenAction, Effect>> = {
  'ctf-approval'({ message: { approved, operator }, owner }, { state }) {
    if (approved === true) state.approved.add(owner);
    else state.approved.delete(owner);
    return { logs: [emitted('tokens', 'ApprovalForAll', [owner, operator, approved])] };
  },
  'ctf-split': (call, moment) => sets(call, moment, 1n),
  'ctf-merge': (call, moment) => sets(call, moment, -1n),
  'ctf-redemption'({ message, owner }, { state, markets }) {
    const [marketId, indexSets] = [message['conditionId'] as string, message['indexSets'] as readonly bigint[]];
    const market = marketOf(marketId, { state, markets });
    const winner = state.resolved.get(marketId);
    if (market === undefined || winner === undefined) return { reverted: `ConditionNotResolved(${marketId})` };
    const logs: SimLog[] = [];
    let payout = 0n;
    for (const outcome of indexSets.map((set) => set === 1n ? 0 : 1)) {
      const key = `${owner} ${market.tokens[outcome]}`;
      const has = state.shares.get(key) ?? 0n;
      if (has === 0n) continue;
      state.shares.set(key, 0n);
      if (outcome === winner) payout += has;
      logs.push(emitted('tokens', 'TransferSingle', [owner, owner, NOBODY, market.tokens[outcome], has]));
    }
    add(state.collateral, owner, payout);
    add(state.escrow, marketId, -payout);
    const { collateral } = CHAIN.contracts;
    return { logs: [...logs, emitted('tokens', 'PayoutRedemption', [owner, collateral, ZERO_WORD, marketId, indexSets, payout])] };
  },
};

/** Complete sets come into being for collateral, or become collateral again. */
function sets({ message, owner }: TokenCall, { state, markets }: TokenMoment, sign: 1n | -1n): Done {
  const [marketId, amount] = [message['conditionId'] as string, message['amount'] as bigint];
  const market = marketOf(marketId, { state, markets });
  if (market === undefined) return { reverted: `ConditionNotPrepared(${marketId})` };
  if (amount === 0n) return { reverted: 'ZeroAmount()' };
  const has = sign === 1n ? [state.collateral.get(owner) ?? 0n] : market.tokens.map((token) => state.shares.get(`${owner} ${token}`) ?? 0n);
  if (has.some((each) => each < amount)) return { reverted: sign === 1n ? 'ERC20InsufficientBalance()' : 'ERC1155InsufficientBalance()' };
  add(state.collateral, owner, -sign * amount);
  add(state.escrow, marketId, sign * amount);
  for (const token of market.tokens) add(state.shares, `${owner} ${token}`, sign * amount);
  const [from, to] = sign === 1n ? [NOBODY, owner] : [owner, NOBODY];
  return { logs: [
    emitted('tokens', 'TransferBatch', [owner, from, to, [...market.tokens], [amount, amount]]),
    emitted('tokens', sign === 1n ? 'PositionSplit' : 'PositionsMerge', [owner, CHAIN.contracts.collateral, ZERO_WORD, marketId, BOTH, amount]),
  ] };
}

function marketOf(marketId: string, { state: { quick }, markets }: Pick<TokenMoment, 'state' | 'markets'>): SimMarket | undefined {
  return markets.get(marketId) ?? quick.get(marketId);
}

/** What a view of the tokens or of a market's contract returns; undefined for another call. */
export function viewTokens(target: string, data: string, { state, markets }: Pick<TokenMoment, 'state' | 'markets'>): string | undefined {
  const market = [...markets.values(), ...state.quick.values()].find(({ marketId }) => addressOf(marketId) === target);
  const contract = target === CHAIN.contracts.conditionalTokens ? abi.tokens : market === undefined ? undefined : abi.market;
  const call = contract?.parseTransaction({ data });
  if (contract === undefined || call == null) return undefined;
  const [first, second] = (call.args.toArray() as unknown[]).map(plain) as [string, unknown];
  const result = ((): unknown => {
    switch (call.signature) {
      case 'nonces(address)': return nextNonce(state, { action: 'ctf-split', owner: first, message: {} });
      case 'nonces(address,uint192)': {
        const { marketId = '' } = [...markets.values(), ...state.quick.values()].find((each) => nonceKey(each.marketId) === second) ?? {};
        return ((second as bigint) << 64n) + (state.nonces.get(`${first} ${marketId}`) ?? 0n);
      }
      case 'isApprovedForAll(address,address)': return state.approved.has(first);
      case 'balanceOf(address,uint256)': return state.shares.get(`${first} ${second as bigint}`) ?? 0n;
      case 'payoutNumerators(bytes32,uint256)': return state.resolved.get(first) === Number(second) ? 1n : 0n;
      case 'resolver()': return state.quick.has(market?.marketId ?? '') ? CHAIN.contracts.quickResolver : CHAIN.contracts.oracleResolver;
      case 'bond()': return 0n;
      case 'yesId()': return market?.tokens[0];
      case 'noId()': return market?.tokens[1];
      default: return undefined;
    }
  })();
  return result === undefined ? undefined : contract.encodeFunctionResult(call.fragment, [result]);
}
