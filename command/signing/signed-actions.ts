/**
 * Everything that users sign, in one table: the EIP-712 type of each action, the contract whose domain it is signed in,
 * and what its nonce is.
 */
import { cancelTypes, orderTypes, permitTypes, requestTypes, type SigningDomain } from './typed-data.js';

/** The types that members of signed messages have. */
export type MemberType = 'address' | 'bytes32' | 'bool' | 'uint8' | 'uint32' | 'uint64' | 'uint256' | 'uint256[]' | 'bytes32[]';

export interface Member {
  readonly name: string;
  readonly type: MemberType;
}

/** The contracts that check signatures: each has a signing domain of its own. */
export type SigningContract = 'settlement' | 'conditionalTokens' | 'collateral' | 'oracleResolver';

/** What the nonce of a signed message is; `nonceMeanings` says it in words. */
export type NonceKind = 'none' | 'order' | 'owner' | 'condition' | 'market' | 'token';

export interface SignedAction {
  readonly primaryType: string;
  readonly members: readonly Member[];
  /** The contract whose domain the message is signed in. */
  readonly contract: SigningContract;
  readonly nonce: NonceKind;
}

const owner = { name: 'owner', type: 'address' } as const;
const nonce = { name: 'nonce', type: 'uint256' } as const;
const deadline = { name: 'deadline', type: 'uint256' } as const;
const collateralToken = { name: 'collateralToken', type: 'address' } as const;
const conditionId = { name: 'conditionId', type: 'bytes32' } as const;
const market = { name: 'market', type: 'address' } as const;

/** Split and merge have the same members. */
const wholeSets = [owner, collateralToken, conditionId, { name: 'amount', type: 'uint256' }, nonce, deadline] as const;
const permit = { primaryType: 'Permit', members: permitTypes.Permit, contract: 'collateral', nonce: 'token' } as const;

/**
 * By the names of the relayer's endpoints; `order`, those that traders ask of their orders, and `bond-permit` are the
 * others.
 */
export const signedActions = {
  'order': { primaryType: 'Order', members: orderTypes.Order, contract: 'settlement', nonce: 'order' },
  'cancel': { primaryType: 'CancelOrder', members: cancelTypes.CancelOrder, contract: 'settlement', nonce: 'none' },
  'cancel-orders': { primaryType: 'CancelOrders', members: requestTypes.CancelOrders, contract: 'settlement', nonce: 'none' },
  'cancel-all': { primaryType: 'CancelAll', members: requestTypes.CancelAll, contract: 'settlement', nonce: 'none' },
  'cancel-after': { primaryType: 'CancelAfter', members: requestTypes.CancelAfter, contract: 'settlement', nonce: 'none' },
  'reduce': { primaryType: 'ReduceOrder', members: requestTypes.ReduceOrder, contract: 'settlement', nonce: 'none' },
  'ctf-approval': {
    primaryType: 'SetApprovalForAll', contract: 'conditionalTokens', nonce: 'owner',
    members: [owner, { name: 'operator', type: 'address' }, { name: 'approved', type: 'bool' }, nonce, deadline],
  },
  'usdc-permit': permit,
  'ctf-redemption': {
    primaryType: 'RedeemPositions', contract: 'conditionalTokens', nonce: 'condition',
    members: [
      owner, collateralToken, { name: 'parentCollectionId', type: 'bytes32' }, conditionId, { name: 'indexSets', type: 'uint256[]' }, nonce, deadline,
    ],
  },
  'ctf-split': { primaryType: 'SplitPosition', members: wholeSets, contract: 'conditionalTokens', nonce: 'owner' },
  'ctf-merge': { primaryType: 'MergePositions', members: wholeSets, contract: 'conditionalTokens', nonce: 'owner' },
  'propose-resolution': {
    primaryType: 'ProposeResolution', contract: 'oracleResolver', nonce: 'market',
    members: [
      market, { name: 'proposer', type: 'address' }, { name: 'outcome', type: 'bool' }, { name: 'bond', type: 'uint256' }, nonce, deadline,
    ],
  },
  'bond-permit': permit,
  'settle-market': {
    primaryType: 'SettleMarket', contract: 'oracleResolver', nonce: 'market',
    members: [market, { name: 'settler', type: 'address' }, { name: 'winningOutcome', type: 'uint8' }, nonce, deadline],
  },
} as const satisfies Record<string, SignedAction>;

export type SignedActionName = keyof typeof signedActions;

/** What traders sign about orders, in the settlement contract's domain. */
export const ORDER_ACTIONS = ['order', 'cancel', 'cancel-orders', 'cancel-all', 'cancel-after', 'reduce'] as const satisfies readonly SignedActionName[];

const PACKED = 'Packed: nonces(owner, key) is key * 2^64 + a counter, and that whole number is signed.';

/** Each kind of nonce: the view that gives it, the contract, and the rule in words. */
export const nonceMeanings: Readonly<Record<NonceKind, {
  readonly contract: SigningContract | undefined; readonly call: string | undefined; readonly meaning: string;
}>> = {
  none: { contract: undefined, call: undefined, meaning: 'The message has no nonce.' },
  order: { contract: undefined, call: undefined, meaning: 'The trader chooses it: a number that no other live order of the trader has.' },
  owner: {
    contract: 'conditionalTokens', call: 'nonces(address owner)', meaning: 'The owner\'s next nonce. Approvals, splits and merges share it.',
  },
  condition: {
    contract: 'conditionalTokens', call: 'nonces(address owner, uint192 key)',
    meaning: `The owner's next nonce of the condition; the key is the low 192 bits of conditionId. ${PACKED} `
      + 'The second item of one condition in a batch has the first item\'s nonce plus 1.',
  },
  market: {
    contract: 'oracleResolver', call: 'nonces(address owner, uint192 key)',
    meaning: `The signer's next nonce of the market; the key is the low 192 bits of the market's id. Proposals and settlements share it. ${PACKED}`,
  },
  token: {
    contract: 'collateral', call: 'nonces(address owner)',
    meaning: 'The owner\'s next ERC-2612 nonce. Permits of orders, relayed permits and bonds\' permits share it: whichever lands first makes the others void.',
  },
};

/** The conditional tokens' and the resolver's signing domains have fixed names and versions. */
const FIXED = {
  conditionalTokens: { name: 'ConditionalTokens', version: '1' }, oracleResolver: { name: 'OracleResolver', version: '1' },
} as const;

/** The contracts of a chain that check signatures, and what of their domains is not fixed. */
export interface DomainParams {
  readonly chainId: number;
  /** Lower-case hex. */
  readonly contracts: Readonly<Record<SigningContract, string>>;
  /** `name` in the settlement contract's domain. */
  readonly settlementName: string;
  /** Name and version of the stablecoin's domain, as read from it; undefined until then. */
  readonly token: { readonly name: string; readonly version: string } | undefined;
}

/** The signing domain of each contract; the stablecoin's is undefined until it has been read. */
export function signingDomains({ chainId, contracts, settlementName, token }: DomainParams): Readonly<{
  [C in SigningContract]: C extends 'collateral' ? SigningDomain | undefined : SigningDomain }> {
  const at = (contract: SigningContract, { name, version }: { name: string; version: string }): SigningDomain => (
    { name, version, chainId, verifyingContract: contracts[contract] });
  return {
    settlement: at('settlement', { name: settlementName, version: '1' }),
    conditionalTokens: at('conditionalTokens', FIXED.conditionalTokens),
    oracleResolver: at('oracleResolver', FIXED.oracleResolver),
    collateral: token === undefined ? undefined : at('collateral', token),
  };
}

const COUNTER_BITS = 64n;
const KEY_MASK = (1n << 192n) - 1n;
const COUNTER_MASK = (1n << COUNTER_BITS) - 1n;

/** The key of a condition's or a market's nonces: the low 192 bits of its id. */
export function nonceKey(id: string): bigint {
  return BigInt(id) & KEY_MASK;
}

/** How many messages with this nonce's key were used up before it. Nonces without a key are counters themselves. */
export function counterOf(nonceValue: bigint, isKeyed: boolean): bigint {
  return isKeyed ? nonceValue & COUNTER_MASK : nonceValue;
}
