/** What a wallet without gas does at the relayer: it signs by what `/api/v1/config` and the nonces' endpoint say, and nothing else. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Signature, TypedDataEncoder, type HDNodeWallet, type TypedDataDomain, type TypedDataField, type Wallet } from 'ethers';
import { issueToken } from '../../service/access/issue-token.js';
import { openTokenStore } from '../../service/access/token-store.js';
import type { Scope } from '../../service/access/scopes.js';

export type Signer = Wallet | HDNodeWallet;

interface Told {
  readonly chainId: number;
  readonly contracts: Readonly<Record<string, string>>;
  readonly signedActions: Readonly<Record<string, ToldAction>>;
}

interface ToldAction {
  readonly domain: TypedDataDomain;
  readonly types: Record<string, TypedDataField[]>;
  readonly nonce: { readonly kind: string };
}

/** A request to the exchange. */
export interface Asked {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Of JSON. */
  readonly body: unknown;
}

export interface RelayAnswer extends Answer {
  readonly body: {
    readonly success: boolean; readonly tx_hash?: string; readonly txHash?: string; readonly status?: string; readonly error?: string;
  };
}

/** The part of a message that its signer chooses. */
export type Wish = Readonly<Record<string, unknown>>;

export interface SignOptions {
  /** Added to the nonce that is due. */
  readonly later?: bigint;
  readonly deadline?: bigint;
  /** Instead of the wallet's own address. */
  readonly owner?: string;
}

export type GaslessClient = Awaited<ReturnType<typeof gaslessClient>>;

/** A bearer token of the stack whose tokens are in this database. */
export async function bearerToken(databaseUrl: string, scopes: readonly Scope[] = ['relay'], name = `test-${randomUUID()}`): Promise<string> {
  const store = openTokenStore({ url: databaseUrl, connections: 1 });
  try {
    return (await issueToken(store, { name, scopes })).text;
  } finally {
    await store.close();
  }
}

/** A message that a wallet has signed. */
export interface SignedMessage {
  readonly action: string;
  /** By EIP-712. */
  readonly digest: string;
  /** Whether the chain has taken it, or another message with its nonce. */
  isUsed(): Promise<boolean>;
}

export interface GaslessClientParts {
  readonly token: string;
  readonly ask: (asked: Asked) => Promise<Answer>;
  /** Told of each message that is signed. */
  readonly signed?: (message: SignedMessage) => void;
}

export function gaslessClient({ url, token }: { readonly url: string; readonly token: string }) {
  return gaslessClientBy({ token, ask: (asked) => askAt(url, asked) });
}

async function askAt(url: string, { path, ...asked }: Asked): Promise<Answer> {
  const response = await fetch(url + path, asked);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export async function gaslessClientBy(parts: GaslessClientParts) {
  const { token, ask } = parts;
  const { chains } = (await ask({ method: 'GET', path: '/api/v1/config' })).body as { chains: [Told] };
  const [{ chainId, contracts }] = chains;
  const sign = signerBy(parts, chains[0]);

  async function post(action: string, body: unknown, headers: Record<string, string> = {}): Promise<RelayAnswer> {
    return await ask({
      method: 'POST', path: `/api/v1/relayer/${action}`,
      headers: { 'Content-Type': 'application/json', 'Authorization': `Bearer ${token}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }) as RelayAnswer;
  }

  return {
    chainId, contracts, sign, post, bodies: bodiesSignedBy(sign, { chainId, contracts }),
    /** A request that succeeds, with its transaction's hash. */
    async relayed(action: string, body: unknown): Promise<string> {
      const answer = await post(action, body);
      assert.equal(answer.status, 200, `${action}: ${JSON.stringify(answer.body)}`);
      return answer.body.tx_hash ?? answer.body.txHash ?? '';
    },
    /** A request that is refused: its status and text. */
    async refused(action: string, body: unknown, headers: Record<string, string> = {}): Promise<readonly [status: number, error: string]> {
      const { status, body: { success, error, ...rest } } = await post(action, body, headers);
      assert.deepEqual([success, rest], [false, {}]);
      return [status, error ?? ''];
    },
  };
}

interface SignedFields {
  readonly deadline: string;
  readonly v: number;
  readonly r: string;
  readonly s: string;
}

type Sign = (wallet: Signer, action: string, wish: Wish, options?: SignOptions & { readonly marketId?: string }) => Promise<SignedFields>;

/** Signs a message of an action; `marketId` is for actions whose nonces are keyed. */
function signerBy({ ask, signed = () => undefined }: GaslessClientParts, { chainId, signedActions }: Told): Sign {
  /** Far enough for tests that let days pass on the chain. */
  const soon = (): bigint => BigInt(Math.floor(Date.now() / 1_000) + 20 * 86_400);

  async function nonceOf(owner: string, kind: string, marketId?: string): Promise<bigint> {
    const query = marketId === undefined ? '' : `&market=${marketId}`;
    const { body } = await ask({ method: 'GET', path: `/api/v1/users/${owner}/nonces?chain_id=${chainId}${query}` });
    const { owner: next, token, markets } = body as { owner: string; token: string; markets: { condition: string; market: string }[] };
    switch (kind) {
      case 'owner': return BigInt(next);
      case 'token': return BigInt(token);
      case 'condition': return BigInt(markets[0]!.condition);
      default: return BigInt(markets[0]!.market);
    }
  }

  return async (wallet, action, wish, { marketId, later = 0n, deadline = soon(), owner = wallet.address } = {}) => {
    const { domain, types, nonce: { kind } } = signedActions[action]!;
    const nonce = await nonceOf(owner, kind, marketId) + later;
    const message = { ...wish, nonce, deadline };
    const { v, r, s } = Signature.from(await wallet.signTypedData(domain, types, message));
    const digest = TypedDataEncoder.hash(domain, types, message);
    signed({ action, digest, isUsed: async () => await nonceOf(owner, kind, marketId) > nonce });
    return { deadline: String(deadline), v, r, s };
  };
}

const ZERO = `0x${'0'.repeat(64)}`;

interface Redeemed { readonly conditionId: string; readonly indexSets?: readonly bigint[] }
interface Resolved { readonly market: string; readonly marketId: string }

/** The bodies of requests, each with its signature. */
function bodiesSignedBy(sign: Sign, { chainId, contracts }: Pick<Told, 'chainId' | 'contracts'>) {
  const { collateral: collateralToken, settlement, oracleResolver } = contracts;
  async function redemptionItem(wallet: Signer, { conditionId, indexSets = [1n, 2n] }: Redeemed, options: SignOptions = {}) {
    const fields = { owner: wallet.address, collateralToken, parentCollectionId: ZERO, conditionId, indexSets };
    const signature = await sign(wallet, 'ctf-redemption', fields, { ...options, marketId: conditionId });
    return { collateralToken, parentCollectionId: ZERO, conditionId, indexSets: indexSets.map(String), ...signature };
  }
  return {
    redemptionItem,
    async approval(wallet: Signer, approved = true, options: SignOptions = {}) {
      const fields = { owner: options.owner ?? wallet.address, operator: settlement, approved };
      return { chainId, ...fields, ...await sign(wallet, 'ctf-approval', fields, options) };
    },
    async permit(wallet: Signer, { spender = settlement, value }: { spender?: string | undefined; value: bigint }, options: SignOptions = {}) {
      const fields = { owner: wallet.address, spender, value };
      return { chainId, ...fields, value: String(value), ...await sign(wallet, 'usdc-permit', fields, options) };
    },
    async sets(
      wallet: Signer, action: 'ctf-split' | 'ctf-merge', { conditionId, amount }: { conditionId: string; amount: bigint }, options: SignOptions = {},
    ) {
      const fields = { owner: wallet.address, collateralToken, conditionId, amount };
      return { chainId, ...fields, amount: String(amount), ...await sign(wallet, action, fields, options) };
    },
    async redemption(wallet: Signer, what: Redeemed, options: SignOptions = {}) {
      return { chainId, owner: wallet.address, ...await redemptionItem(wallet, what, options) };
    },
    async proposal(
      wallet: Signer, { market, marketId, outcome = true, bond }: Resolved & { outcome?: boolean; bond: bigint },
      { withPermit = true, ...options }: SignOptions & { withPermit?: boolean } = {},
    ) {
      const signed = await sign(wallet, 'propose-resolution', { market, proposer: wallet.address, outcome, bond }, { ...options, marketId });
      const body = { chainId, marketAddress: market, proposer: wallet.address, outcome, ...signed };
      if (!withPermit) return body;
      const permit = await sign(wallet, 'bond-permit', { owner: wallet.address, spender: oracleResolver, value: bond });
      return { ...body, bondPermitDeadline: permit.deadline, bondV: permit.v, bondR: permit.r, bondS: permit.s };
    },
    async settlement(wallet: Signer, { market, marketId, winningOutcome = 0 }: Resolved & { winningOutcome?: number }, options: SignOptions = {}) {
      const signed = await sign(wallet, 'settle-market', { market, settler: wallet.address, winningOutcome }, { ...options, marketId });
      return { chainId, marketAddress: market, settler: wallet.address, winningOutcome, ...signed };
    },
  };
}
