/** The bodies of requests to the relayer, signed by a wallet without gas: by what `/api/v1/config` and the nonces' endpoint say, and nothing else. */
import { Signature, TypedDataEncoder, type HDNodeWallet, type TypedDataDomain, type TypedDataField, type Wallet } from 'ethers';

export type WalletSigner = Wallet | HDNodeWallet;

/** What `/api/v1/config` says about a chain. */
export interface ApiSigningChain {
  readonly chainId: number;
  readonly contracts: Readonly<Record<string, string | null>>;
  readonly signedActions: Readonly<Record<string, SignedAction>>;
}

interface SignedAction {
  /** Null until the service has read the stablecoin. */
  readonly domain: TypedDataDomain | null;
  readonly types: Record<string, TypedDataField[]>;
  readonly nonce: { readonly kind: string };
}

/** The answer of the nonces' endpoint. */
export interface Nonces {
  readonly owner: string;
  readonly token: string;
  readonly markets: readonly { readonly condition: string; readonly market: string }[];
}

export interface RequestSignerParts {
  readonly chain: ApiSigningChain;
  /** Gets a path of the API. */
  readonly get: (path: string) => Promise<unknown>;
  /** Until when signatures count that name no deadline, Unix seconds. */
  readonly deadline: () => bigint;
  /** Told of each message that is signed. */
  readonly signed?: ((message: SignedMessage) => void) | undefined;
}

/** A message that a wallet has signed. */
export interface SignedMessage {
  readonly action: string;
  /** By EIP-712. */
  readonly digest: string;
  /** Whether the chain has taken it, or another message with its nonce. */
  isUsed(): Promise<boolean>;
}

/** The part of a message that its signer chooses. */
export type MessageFields = Readonly<Record<string, unknown>>;

export interface SignOptions {
  /** Added to the nonce that is due. */
  readonly later?: bigint;
  readonly deadline?: bigint;
  /** Instead of the wallet's own address. */
  readonly owner?: string;
}

export interface SignedFields {
  readonly deadline: string;
  readonly v: number;
  readonly r: string;
  readonly s: string;
}

/** Signs a message of an action; `marketId` is for actions whose nonces are keyed. */
export type Sign = (
  wallet: WalletSigner, action: string, fields: MessageFields, options?: SignOptions & { readonly marketId?: string },
) => Promise<SignedFields>;

export function requestSigner({ chain: { chainId, signedActions }, get, deadline: byDefault, signed }: RequestSignerParts): Sign {
  async function nonceOf(owner: string, kind: string, marketId?: string): Promise<bigint> {
    const query = marketId === undefined ? '' : `&market=${marketId}`;
    const { owner: next, token, markets: [market] } = await get(`/api/v1/users/${owner}/nonces?chain_id=${chainId}${query}`) as Nonces;
    const nonce = kind === 'owner' ? next : kind === 'token' ? token : kind === 'condition' ? market?.condition : market?.market;
    if (nonce === undefined) throw new Error(`the service tells no nonce of the kind ${kind}`);
    return BigInt(nonce);
  }

  return async (wallet, action, wish, { marketId, later = 0n, deadline = byDefault(), owner = wallet.address } = {}) => {
    const told = signedActions[action];
    if (told?.domain == null) throw new Error(`the service does not say how ${action} is signed`);
    const nonce = await nonceOf(owner, told.nonce.kind, marketId) + later;
    const message = { ...wish, nonce, deadline };
    const { v, r, s } = Signature.from(await wallet.signTypedData(told.domain, told.types, message));
    const digest = TypedDataEncoder.hash(told.domain, told.types, message);
    signed?.({ action, digest, isUsed: async () => await nonceOf(owner, told.nonce.kind, marketId) > nonce });
    return { deadline: String(deadline), v, r, s };
  };
}

const ZERO = `0x${'0'.repeat(64)}`;

export interface RedeemedCondition { readonly conditionId: string; readonly indexSets?: readonly bigint[] }
export interface Resolved { readonly market: string; readonly marketId: string }

export type RequestBodies = ReturnType<typeof bodiesSignedBy>;

/** The bodies of requests, each with its signature. */
export function bodiesSignedBy(sign: Sign, { chainId, contracts }: Pick<ApiSigningChain, 'chainId' | 'contracts'>) {
  const { collateral: collateralToken, settlement, oracleResolver } = contracts;
  async function redemptionItem(wallet: WalletSigner, { conditionId, indexSets = [1n, 2n] }: RedeemedCondition, options: SignOptions = {}) {
    const fields = { owner: wallet.address, collateralToken, parentCollectionId: ZERO, conditionId, indexSets };
    const signature = await sign(wallet, 'ctf-redemption', fields, { ...options, marketId: conditionId });
    return { collateralToken, parentCollectionId: ZERO, conditionId, indexSets: indexSets.map(String), ...signature };
  }
  return {
    redemptionItem,
    async approval(wallet: WalletSigner, approved = true, options: SignOptions = {}) {
      const fields = { owner: options.owner ?? wallet.address, operator: settlement, approved };
      return { chainId, ...fields, ...await sign(wallet, 'ctf-approval', fields, options) };
    },
    async permit(
      wallet: WalletSigner, { spender = settlement, value }: { spender?: string | null | undefined; value: bigint }, options: SignOptions = {},
    ) {
      const fields = { owner: wallet.address, spender, value };
      return { chainId, ...fields, value: String(value), ...await sign(wallet, 'usdc-permit', fields, options) };
    },
    async sets(
      wallet: WalletSigner, action: 'ctf-split' | 'ctf-merge', { conditionId, amount }: { conditionId: string; amount: bigint }, options: SignOptions = {},
    ) {
      const fields = { owner: wallet.address, collateralToken, conditionId, amount };
      return { chainId, ...fields, amount: String(amount), ...await sign(wallet, action, fields, options) };
    },
    async redemption(wallet: WalletSigner, what: RedeemedCondition, options: SignOptions = {}) {
      return { chainId, owner: wallet.address, ...await redemptionItem(wallet, what, options) };
    },
    async proposal(
      wallet: WalletSigner, { market, marketId, outcome = true, bond }: Resolved & { outcome?: boolean; bond: bigint },
      { withPermit = true, ...options }: SignOptions & { withPermit?: boolean } = {},
    ) {
      const signed = await sign(wallet, 'propose-resolution', { market, proposer: wallet.address, outcome, bond }, { ...options, marketId });
      const body = { chainId, marketAddress: market, proposer: wallet.address, outcome, ...signed };
      if (!withPermit) return body;
      const permit = await sign(wallet, 'bond-permit', { owner: wallet.address, spender: oracleResolver, value: bond });
      return { ...body, bondPermitDeadline: permit.deadline, bondV: permit.v, bondR: permit.r, bondS: permit.s };
    },
    async settlement(
      wallet: WalletSigner, { market, marketId, winningOutcome = 0 }: Resolved & { winningOutcome?: number }, options: SignOptions = {},
    ) {
      const signed = await sign(wallet, 'settle-market', { market, settler: wallet.address, winningOutcome }, { ...options, marketId });
      return { chainId, marketAddress: market, settler: wallet.address, winningOutcome, ...signed };
    },
  };
}
