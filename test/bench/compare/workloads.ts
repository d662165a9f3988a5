/** What is sent to a service whose usage is measured: orders, and pairs of orders whose fills settle on the development chain. */
import { Contract, JsonRpcProvider, type InterfaceAbi } from 'ethers';
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
  /** Signs `units` of them, the same ones for the same number. */
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
    const { markets } = await get<{ markets: { id: string; expirationTimestamp?: number }[] }>(service.url, '/api/v1/markets');
    const [chain, marketId] = [chains[0]!, markets[0]!.id];
    const { traders, request } = await orderRequests(chain.orderDomain, `pairs ${number}`, TRADERS);
    await stock(chain, traders, marketId);
    const requests = Array.from({ length: 2 * units }, (_, i) => request(traders[i % TRADERS]!, {
      marketId, side: i % 2 === 0 ? SELL : BUY, outcome: YES, price: 600_000, size: String(SHARE), nonce: String(i), expiration: String(serverTime + 7_200),
    }));
    return async (ratePerS) => {
      const started = performance.now();
      await load(service.port, requests, pace(ratePerS === undefined ? undefined : 2 * ratePerS));
      const position = await untilFolded(service.url);
      await until('every fill is settled', async () => (await pendingTrades(service.url, position)) === 0, 300);
      return (performance.now() - started) / 1_000;
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
async function stock({ rpcUrl, contracts, orderDomain: { chainId } }: Chain, traders: readonly Trader[], marketId: string): Promise<void> {
  const provider = new JsonRpcProvider(rpcUrl, chainId, { staticNetwork: true, polling: true, pollingInterval: 20, cacheTimeout: -1 });
  try {
    await Promise.all(traders.map(async ({ address }) => {
      await provider.send('anvil_setBalance', [address, '0xde0b6b3a7640000']);
      await provider.send('anvil_impersonateAccount', [address]);
      const signer = await provider.getSigner(address);
      const send = async (name: string, abi: unknown, method: string, ...values: unknown[]): Promise<void> => {
        const contract = new Contract(contracts[name]!, abi as InterfaceAbi, signer);
        await ((await contract.getFunction(method)(...values)) as { wait(): Promise<unknown> }).wait();
      };
      await send('collateral', testUsdc.abi, 'mint', address, 2n * STOCK);
      await send('collateral', testUsdc.abi, 'approve', contracts['conditionalTokens'], STOCK);
      await send('conditionalTokens', conditionalTokens.abi, 'splitPosition', contracts['collateral'], ZERO_32, marketId, [1, 2], STOCK);
      await send('conditionalTokens', conditionalTokens.abi, 'setApprovalForAll', contracts['settlement'], true);
      await send('collateral', testUsdc.abi, 'approve', contracts['settlement'], STOCK);
    }));
  } finally {
    provider.destroy();
  }
}

interface Readiness { readonly engine: { readonly position: number }; readonly projections: readonly { readonly position: number }[] }

/** Resolves with the engine's position when every read model has folded it. */
async function untilFolded(url: string): Promise<number> {
  return await until('every read model has folded what the engine has decided', async () => {
    const { engine, projections } = await get<Readiness>(url, '/health/ready');
    return projections.every(({ position }) => position >= engine.position) ? engine.position : undefined;
  });
}

async function pendingTrades(url: string, position: number): Promise<number> {
  const response = await fetch(`${url}/api/v1/pending-trades?limit=1`, { headers: { 'X-Min-Log-Position': String(position - 1) } });
  return (await response.json() as { count: number }).count;
}
