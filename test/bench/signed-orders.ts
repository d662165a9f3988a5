/** Signed orders for benchmarks, as ready HTTP requests: signed natively, so that tens of thousands take seconds. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type * as Secp256k1 from 'secp256k1';
import {
  createKeccak256, prepareDomain, type OrderDomain, type OrderFields,
} from '../../command/signing/typed-data.js';
import { buildRequest } from './load.js';

export interface SignedOrders {
  readonly count: number;
  readonly marketIds: readonly string[];
  readonly domain: OrderDomain;
  /** Another seed gives other traders, and so other orders. */
  readonly seed: number;
  /** Unix seconds. */
  readonly expiration: number;
}

// By require: an import would also read the package's JavaScript fallback, which a test proves that nothing loads.
const secp256k1 = createRequire(import.meta.url)('secp256k1') as typeof Secp256k1;

const TRADERS = 200;

/** Requests to place orders: prices overlap, so that about a third trades at once. Every order is another one. */
export async function signedOrderRequests({ count, marketIds, domain, seed, expiration }: SignedOrders): Promise<Buffer[]> {
  const { traders, request } = await orderRequests(domain, `trader ${seed}`, TRADERS);
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
  return Array.from({ length: count }, (_, nonce) => {
    const trader = traders[random(TRADERS)]!;
    const side = random(2) as 0 | 1;
    return request(trader, {
      marketId: marketIds[random(marketIds.length)]!, side, outcome: random(2) as 0 | 1,
      price: 500_000 + (side === 0 ? -1_000 : 1_000) + random(3_000) - 1_500, size: String(1_000_000 + random(50_000_000)),
      nonce: String(nonce), expiration: String(expiration),
    });
  });
}

export interface Trader {
  readonly key: Uint8Array;
  readonly address: string;
}

/** `count` traders, whose keys follow from `names`, and what makes a signed request of an order of theirs. */
export async function orderRequests(domain: OrderDomain, names: string, count: number): Promise<{
  readonly traders: readonly Trader[];
  readonly request: (trader: Trader, order: Omit<OrderFields, 'trader'>) => Buffer;
}> {
  const keccak256 = await createKeccak256();
  const { orderDigest } = prepareDomain(keccak256, domain);
  const traders = Array.from({ length: count }, (_, i) => {
    const key = createHash('sha256').update(`${names} ${i}`).digest();
    const publicKey = secp256k1.publicKeyCreate(key, false);
    return { key, address: `0x${Buffer.from(keccak256(publicKey.subarray(1))).toString('hex').slice(24)}` };
  });
  return {
    traders,
    request({ key, address }, order) {
      const { signature, recid } = secp256k1.ecdsaSign(orderDigest({ ...order, trader: address }), key);
      const body = `{"order":{"marketId":"${order.marketId}","trader":"${address}","side":${order.side},"outcome":${order.outcome},"price":${order.price},`
        + `"size":${order.size},"nonce":${order.nonce},"expiration":${order.expiration},"makerFeeRecipient":"0x0000000000000000000000000000000000000000"},`
        + `"signature":"0x${Buffer.from(signature).toString('hex')}${(27 + recid).toString(16)}"}`;
      return buildRequest('POST', '/api/v1/orders', { body });
    },
  };
}
