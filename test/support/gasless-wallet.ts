/** A client of the relayer for wallets without gas, which sign as the demonstration's do. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { issueToken } from '../../service/access/issue-token.js';
import { openTokenStore } from '../../service/access/token-store.js';
import type { Scope } from '../../service/api/scopes.js';
import { exchangeStack } from '../harness/exchange.js';
import { caughtUp, eventually, type TradedChain } from './exchange-on-chain.js';
import { bodiesSignedBy, requestSigner, type SignedMessage, type ApiSigningChain } from '../../tools/demo/signed-requests.js';

interface ConfigChain extends ApiSigningChain {
  readonly contracts: Readonly<Record<string, string>>;
}

/** A request to the exchange. */
export interface WalletRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WalletAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Of JSON. */
  readonly body: unknown;
}

export interface RelayAnswer extends WalletAnswer {
  readonly body: {
    readonly success: boolean; readonly tx_hash?: string; readonly txHash?: string; readonly status?: string; readonly error?: string;
  };
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

export interface GaslessClientParts {
  readonly token: string;
  readonly ask: (asked: WalletRequest) => Promise<WalletAnswer>;
  /** ConfigChain of each message that is signed. */
  readonly signed?: (message: SignedMessage) => void;
}

/** A whole exchange on the chain with a relayer, and a client of it, once the relayer can send. */
export async function relayedExchange(node: TradedChain) {
  const key = node.accounts[8]!;
  const exchange = await exchangeStack({}, [node.configured({ relayerKey: key.privateKey, relayer: key.address.toLowerCase() })]);
  const client = await gaslessClient({ url: exchange.url, token: await bearerToken(exchange.databaseUrl) });
  await caughtUp(exchange, node);
  await eventually('the relayer can send', async () => {
    const { relays: [relay] } = await exchange.get('/health/ready') as { relays: [{ problem: string | null }] };
    return relay.problem === null ? true : undefined;
  });
  return { exchange, client };
}

export function gaslessClient({ url, token }: { readonly url: string; readonly token: string }) {
  return gaslessClientBy({ token, ask: (asked) => askAt(url, asked) });
}

async function askAt(url: string, { path, ...asked }: WalletRequest): Promise<WalletAnswer> {
  const response = await fetch(url + path, asked);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export async function gaslessClientBy({ token, ask, signed }: GaslessClientParts) {
  const get = async (path: string): Promise<unknown> => (await ask({ method: 'GET', path })).body;
  const { chains: [chain] } = await get('/api/v1/config') as { chains: [ConfigChain] };
  const { chainId, contracts } = chain;
  /** Far enough for tests that let days pass on the chain. */
  const deadline = (): bigint => BigInt(Math.floor(Date.now() / 1_000) + 20 * 86_400);
  const sign = requestSigner({ chain, get, deadline, signed });

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
    /** A request that is refused: its status, code and text. The body has the text only. */
    async refused(
      action: string, body: unknown, headers: Record<string, string> = {},
    ): Promise<readonly [status: number, code: string | null, error: string]> {
      const { status, headers: answered, body: { success, error, ...rest } } = await post(action, body, headers);
      assert.deepEqual([success, rest], [false, {}]);
      return [status, answered.get('X-Error-Code'), error ?? ''];
    },
  };
}
