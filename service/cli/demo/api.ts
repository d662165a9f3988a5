/** The demonstration's client of the API: sends signed orders, and checks the answers' statuses. */
import type { Signature, TypedDataField } from 'ethers';

interface Domain { readonly name: string; readonly version: string; readonly chainId: number; readonly verifyingContract: string }

export interface Chain {
  readonly chainId: number;
  readonly name: string;
  /** Null when nothing settles, and when the service does not publish its node. */
  readonly rpcUrl: string | null;
  readonly contracts: Readonly<Record<string, string | null>>;
  readonly collateral: { readonly name: string; readonly version: string; readonly address: string } | null;
  readonly exposureCheck: boolean;
  readonly orderDomain: Domain;
}

export interface Config {
  readonly serverTime: number;
  readonly chains: readonly Chain[];
  readonly orderTypes: { readonly Order: TypedDataField[] };
}

export interface Level { readonly price: number; readonly size: number }
export interface Book { readonly bids: readonly Level[]; readonly asks: readonly Level[] }
export interface Trade extends Level { readonly buyer: string; readonly seller: string; readonly txHash: string; readonly settlementStatus: string }
export interface Position { readonly yesShares: number; readonly noShares: number; readonly totalInvested?: number }
export interface Entry {
  readonly position: number;
  readonly outcome: { readonly events: readonly { readonly type: string }[] };
  readonly digest: string;
}

export interface Market { readonly id: string; readonly question: string; readonly contractAddress: string }

interface Signer {
  readonly address: string;
  signTypedData(domain: Domain, types: Record<string, TypedDataField[]>, value: Record<string, unknown>): Promise<string>;
}

export interface Permit { readonly nonce: string; readonly value: string; readonly deadline: number; readonly signature: Signature }

export interface Order {
  readonly wallet: Signer;
  readonly marketId: string;
  readonly side: 0 | 1;
  readonly price: number;
  readonly size: number;
  readonly permit?: Permit;
}

export interface Placed { readonly orderHash: string; readonly matches: number; readonly position: number }

/** The service refused a request. `problem` is the body of its answer. */
export class Refused extends Error {
  constructor(path: string, readonly status: number, readonly problem: Readonly<Record<string, unknown>>) {
    super(`${path} answered ${status}: ${String(problem['error'] ?? JSON.stringify(problem))}`);
    this.name = 'Refused';
  }
}

export type Api = ReturnType<typeof createApi>;

export function createApi(base: string) {
  let nonce = Math.floor(Math.random() * 1e9);

  async function answerOf<T>(path: string, response: Response): Promise<T> {
    const body = JSON.parse(await response.text()) as unknown;
    if (!response.ok) throw new Refused(path, response.status, body as Record<string, unknown>);
    return body as T;
  }

  async function get<T>(path: string, position?: number): Promise<T> {
    return answerOf(path, await fetch(`${base}${path}`, position === undefined ? {} : { headers: { 'X-Min-Log-Position': String(position) } }));
  }

  return {
    /** Reads a path. With `position`, waits until the read models include that log position. Throws Refused. */
    get,

    /** Signs an order for YES and posts it. Throws Refused. */
    async place({ chains: [chain], orderTypes, serverTime }: Config, order: Order): Promise<Placed> {
      if (chain === undefined) throw new Error('the service names no chain');
      const { wallet, marketId, side, price, size, permit } = order;
      const fields = {
        marketId, trader: wallet.address, side, outcome: 0, price, size, nonce: nonce++, expiration: serverTime + 3_600,
        makerFeeRecipient: `0x${'0'.repeat(40)}`,
      };
      const signature = await wallet.signTypedData(chain.orderDomain, { Order: orderTypes.Order }, fields);
      const response = await fetch(`${base}/api/v1/orders`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ order: fields, signature, ...(permit === undefined ? {} : { permitSignature: permitFields(permit) }) }),
      });
      const placed = await answerOf<Omit<Placed, 'position'>>('/api/v1/orders', response);
      return { ...placed, position: Number(response.headers.get('X-Log-Position')) };
    },
  };
}

function permitFields({ nonce, value, deadline, signature: { v, r, s } }: Permit) {
  return { nonce: Number(nonce), value, deadline, v, r, s };
}
