/** What is sent to a service whose usage is measured: orders, and pairs of orders whose fills settle on the development chain. */
import { Interface, type InterfaceAbi } from 'ethers/abi';
import { conditionalTokens } from '../../../contracts-abi/conditional-tokens.js';
import { testUsdc } from '../../../contracts-abi/test-usdc.js';
import type { OrderDomain } from '../../../command/signing/typed-data.js';
import { BUY, SELL, YES } from '../../../engine/records/fields.js';
import { until } from '../../support/until.js';
import { CONNECTIONS, get, load, orderSigner } from '../order-load.js';
import { orderRequests, type Trader } from '../signed-orders.js';
import type { MeasuredService } from './measured-service.js';

export interface Workload {
  /** What the figures are per. */
  readonly unit: 'order' | 'fill';
  readonly environment: Readonly<Record<string, string>>;
  /** Signs `units` of them, the same ones for the same number. The first number is 0. */
  prepare(service: MeasuredService, units: number, number: number): Promise<Send>;
}

/**
 * Sends all, as fast as they are answered or one after the other at a rate of units. Resolves when nothing of them is under way any more, with the
 * seconds that it took: orders until the last answer, fills until the last one is settled.
 */
export type Send = (ratePerS?: number) => Promise<number>;

/** As `npm run bench -- orders` sends them. */
const orders: Workload = {
  unit: 'order', environment: { CHAINS: 'none' },
  async prepare(service, units, number) {
    const requests = await (await orderSigner(service.url)).orders(units, number);
    return async (ratePerS) => {
      const { seconds } = await load(service.port, requests, pace(ratePerS));
      await untilFolded(service.url);
      return seconds;
    };
  },
};

/** A sell and a buy for each fill, which settles on the development chain. */
const settlement: Workload = {
  unit: 'fill', environment: { CHAINS: 'dev', EXPOSURE_CHECK: 'false' },
  async prepare(service, units, number) {
    const { serverTime, chains } = await get<{ serverTime: number; chains: readonly Chain[] }>(service.url, '/api/v1/config');
    const { markets } = await get<{ markets: { id: string }[] }>(service.url, '/api/v1/markets');
    const [chain, marketId] = [chains[0]!, markets[0]!.id];
    const { traders, request } = await orderRequests(chain.orderDomain, 'pairs', TRADERS);
    if (number === 0) await stock(chain, traders, marketId);
    const pair = { marketId, outcome: YES, price: 600_000, size: String(SHARE), expiration: String(serverTime + 7_200) };
    const requests = Array.from({ length: 2 * units }, (_, i) => (
      request(traders[i % TRADERS]!, { ...pair, side: i % 2 === 0 ? SELL : BUY, nonce: String(number * 1_000_000 + i) })));
    return async (ratePerS) => {
      const started = performance.now();
      await load(service.port, requests, pace(ratePerS === undefined ? undefined : 2 * ratePerS));
      const position = await untilFolded(service.url);
      await until('no fill waits for the chain', async () => (await tradesOf(service.url, 'pending', position)) === 0, 300);
      const seconds = (performance.now() - started) / 1_000;
      if (await tradesOf(service.url, 'failed', position) > 0) throw new Error('fills have failed to settle');
      return seconds;
    };
  },
};

export const WORKLOADS: Readonly<Record<string, Workload>> = { orders, settlement };

interface Chain { readonly rpcUrl: string; readonly contracts: Readonly<Record<string, string>>; readonly orderDomain: OrderDomain }

const SHARE = 1_000_000;
/** Even ones sell and odd ones buy, so that nobody meets an own order. */
const TRADERS = 40;
const STOCK = 10_000n * BigInt(SHARE);
const ZERO_32 = `0x${'0'.repeat(64)}`;

function pace(ratePerS: number | undefined): { readonly connections: number; readonly ratePerS?: number } {
  return ratePerS === undefined ? { connections: CONNECTIONS } : { connections: 1, ratePerS };
}

/** Gives traders shares and collateral, which the settlement contract may move. The node signs for them, so they need no keys here. */
async function stock({ rpcUrl, contracts }: Chain, traders: readonly Trader[], marketId: string): Promise<void> {
  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const { result, error } = await (await fetch(rpcUrl, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).json() as {
      result?: unknown; error?: { message: string };
    };
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  await Promise.all(traders.map(async ({ address }) => {
    const send = async (name: string, abi: unknown, method: string, ...values: unknown[]): Promise<void> => {
      const data = new Interface(abi as InterfaceAbi).encodeFunctionData(method, values);
      const hash = await rpc('eth_sendTransaction', { from: address, to: contracts[name], data, gas: '0x7a120' });
      await until(`${method} is mined`, async () => await rpc('eth_getTransactionReceipt', hash) as object | null ?? undefined);
    };
    await rpc('anvil_setBalance', address, '0xde0b6b3a7640000');
    await rpc('anvil_impersonateAccount', address);
    await send('collateral', testUsdc.abi, 'mint', address, 2n * STOCK);
    await send('collateral', testUsdc.abi, 'approve', contracts['conditionalTokens'], STOCK);
    await send('conditionalTokens', conditionalTokens.abi, 'splitPosition', contracts['collateral'], ZERO_32, marketId, [1, 2], STOCK);
    await send('conditionalTokens', conditionalTokens.abi, 'setApprovalForAll', contracts['settlement'], true);
    await send('collateral', testUsdc.abi, 'approve', contracts['settlement'], STOCK);
  }));
}

interface Readiness { readonly engine: { readonly position: number }; readonly projections: readonly { readonly position: number }[] }

/** Resolves with the engine's position when every read model has folded it. */
async function untilFolded(url: string): Promise<number> {
  return await until('every read model has folded what the engine has decided', async () => {
    const { engine, projections } = await get<Readiness>(url, '/health/ready');
    return projections.every(({ position }) => position >= engine.position) ? engine.position : undefined;
  });
}

/** 0 or 1: whether there are such trades, by read models that include everything below the position. */
async function tradesOf(url: string, state: 'pending' | 'failed', position: number): Promise<number> {
  const response = await fetch(`${url}/api/v1/${state}-trades?limit=1`, { headers: { 'X-Min-Log-Position': String(position - 1) } });
  return (await response.json() as { count: number }).count;
}
