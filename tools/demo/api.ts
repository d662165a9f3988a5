/** The demonstration's client of the API: sends signed orders, and checks the answers' statuses. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Signature, TypedDataField } from 'ethers';
import type { ApiSigningChain } from './signed-requests.js';

interface Domain { readonly name: string; readonly version: string; readonly chainId: number; readonly verifyingContract: string }

export interface ApiChain extends ApiSigningChain {
  readonly name: string;
  readonly testnet: boolean;
  /** Null when nothing settles, and when the service does not publish its node. */
  readonly rpcUrl: string | null;
  readonly collateral: { readonly name: string; readonly version: string; readonly address: string } | null;
  readonly exposureCheck: boolean;
  readonly orderDomain: Domain;
  /** Null where nothing is relayed. */
  readonly relayer: { readonly address: string } | null;
  /** Who makes quick markets; null where nobody does. */
  readonly quickOperator: string | null;
}

export interface ApiConfig {
  readonly serverTime: number;
  readonly chains: readonly ApiChain[];
  readonly orderTypes: { readonly Order: TypedDataField[] };
  readonly prices: { readonly assets: readonly string[]; readonly sources: readonly string[] };
  readonly quickMarkets: { readonly intervalS: number };
}

export interface ApiLevel { readonly price: number; readonly size: number }
export interface ApiBook { readonly bids: readonly ApiLevel[]; readonly asks: readonly ApiLevel[] }
export interface ApiTrade extends ApiLevel {
  readonly buyer: string;
  readonly seller: string;
  readonly txHash: string;
  readonly settlementStatus: string;
}
export interface ApiPosition { readonly yesShares: number; readonly noShares: number; readonly totalInvested?: number }
export interface ApiEntry {
  readonly position: number;
  readonly outcome: { readonly events: readonly { readonly type: string }[] };
  readonly digest: string;
}

export interface ApiMarket { readonly id: string; readonly question: string; readonly contractAddress: string; readonly expiration: number }

interface Signer {
  readonly address: string;
  signTypedData(domain: Domain, types: Record<string, TypedDataField[]>, value: Record<string, unknown>): Promise<string>;
}

export interface ApiPermit { readonly nonce: string; readonly value: string; readonly deadline: number; readonly signature: Signature }

export interface ApiOrder {
  readonly wallet: Signer;
  readonly marketId: string;
  readonly side: 0 | 1;
  readonly price: number;
  readonly size: number;
  readonly permit?: ApiPermit;
}

export interface ApiPlacedOrder { readonly orderHash: string; readonly matches: number; readonly position: number }

/** The service refused a request. `problem` is the body of its answer. */
export class Refused extends Error {
  constructor(path: string, readonly status: number, readonly problem: Readonly<Record<string, unknown>>) {
    super(`${path} answered ${status}: ${String(problem['error'] ?? JSON.stringify(problem))}`);
    this.name = 'Refused';
  }
}

export type Api = ReturnType<typeof createApi>;

const ANSWERS_WITHIN_MS = 30_000;

export function createApi(base: string) {
  let nonce = Math.floor(Math.random() * 1e9);

  /** The answer's body and headers. Throws Refused, or an error that says that nobody answers. */
  async function request<T>(path: string, init: RequestInit = {}): Promise<{ readonly body: T; readonly headers: Headers }> {
    const { response, text } = await answerOf(`${base}${path}`, init);
    const body = parsed(text);
    if (!response.ok || body === undefined) throw new Refused(path, response.status, (body ?? { error: text }) as Record<string, unknown>);
    return { body: body as T, headers: response.headers };
  }

  const post = <T>(path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    request<T>(path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) });

  return {
    /** Reads a path. With `position`, waits until the read models include that log position. Throws Refused. */
    async get<T>(path: string, position?: number): Promise<T> {
      return (await request<T>(path, position === undefined ? {} : { headers: { 'X-Min-Log-Position': String(position) } })).body;
    },

    /** The first events of a stream. Throws Refused, and an error when there are fewer within half a minute. */
    async events(path: string, count: number): Promise<readonly EventSourceMessage[]> {
      const found: EventSourceMessage[] = [];
      const parser = createParser({ onEvent: (event) => { found.push(event); } });
      const response = await respond(`${base}${path}`, { headers: { Accept: 'text/event-stream' } });
      if (!response.ok || response.body === null) throw new Refused(path, response.status, { error: await response.text() });
      const decoder = new TextDecoder();
      // Leaving the loop closes the stream.
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        parser.feed(decoder.decode(chunk, { stream: true }));
        if (found.length >= count) return found.slice(0, count);
      }
      throw new Error(`${path} has ended after ${found.length} of ${count} events`);
    },

    /** Throws Refused. */
    async post<T>(path: string, body: object, headers?: Readonly<Record<string, string>>): Promise<T> {
      return (await post<T>(path, body, headers)).body;
    },

    /** Signs an order for YES and posts it. Throws Refused. */
    async place({ chains: [chain], orderTypes, serverTime }: ApiConfig, order: ApiOrder): Promise<ApiPlacedOrder> {
      if (chain === undefined) throw new Error('the service names no chain');
      const { wallet, marketId, side, price, size, permit } = order;
      const fields = {
        marketId, trader: wallet.address, side, outcome: 0, price, size, nonce: nonce++, expiration: serverTime + 3_600,
        makerFeeRecipient: `0x${'0'.repeat(40)}`,
      };
      const signature = await wallet.signTypedData(chain.orderDomain, orderTypes, fields);
      const { body, headers } = await post<Omit<ApiPlacedOrder, 'position'>>('/api/v1/orders', {
        order: fields, signature, ...(permit === undefined ? {} : { permitSignature: permitFields(permit) }),
      });
      return { ...body, position: Number(headers.get('X-Log-Position')) };
    },
  };
}

async function answerOf(url: string, init: RequestInit): Promise<{ readonly response: Response; readonly text: string }> {
  const response = await respond(url, init);
  return { response, text: await response.text().catch((error: unknown) => { throw unanswered(url, error as Error); }) };
}

function respond(url: string, init: RequestInit): Promise<Response> {
  const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  return fetch(url, { ...init, signal }).catch((error: unknown) => { throw unanswered(url, error as Error); });
}

function unanswered(url: string, error: Error): Error {
  const { cause, message } = error;
  return new Error(`${url} does not answer: ${cause instanceof Error && cause.message !== '' ? cause.message : message}`, { cause: error });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function permitFields({ nonce, value, deadline, signature: { v, r, s } }: ApiPermit) {
  return { nonce: Number(nonce), value, deadline, v, r, s };
}
