/** Signed orders as a load for a service that may be one process or several. */
import type { OrderDomain } from '../../command/signing/typed-data.js';
import { runLoadInChild, type LoadOptions, type LoadResult } from './load.js';
import { signedOrderRequests } from './signed-orders.js';

export const CONNECTIONS = 64;

interface Config { readonly serverTime: number; readonly chains: readonly { readonly orderDomain: OrderDomain }[] }

export interface OrderSigner {
  readonly domain: OrderDomain;
  /** Requests that differ from those of every other seed. */
  orders(count: number, seed: number): Promise<Buffer[]>;
}

/** What signs orders for the service at this address. */
export async function orderSigner(url: string): Promise<OrderSigner> {
  const { serverTime, chains: [chain] } = await get<Config>(url, '/api/v1/config');
  const { markets } = await get<{ markets: { id: string }[] }>(url, '/api/v1/markets');
  const { orderDomain: domain } = chain!;
  return {
    domain,
    orders: (count, seed) => signedOrderRequests({ count, seed, marketIds: markets.map(({ id }) => id), domain, expiration: serverTime + 7_200 }),
  };
}

/** Sends all requests, by 64 connections unless `options` says otherwise; throws unless every one is accepted. */
export async function load(
  port: number, requests: Buffer[], options: Pick<LoadOptions, 'warmUp' | 'ratePerS'> & { readonly connections?: number },
): Promise<LoadResult> {
  const result = await runLoadInChild({ host: '127.0.0.1', port, connections: CONNECTIONS, requests, count: requests.length, ...options });
  const refused = Object.entries(result.statuses).filter(([status]) => status !== '200');
  if (refused.length > 0) throw new Error(`not all orders were accepted: ${JSON.stringify(result.statuses)}`);
  return result;
}

export async function get<T>(url: string, path: string): Promise<T> {
  return await (await fetch(`${url}${path}`)).json() as T;
}
