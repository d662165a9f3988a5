/** A newcomer's first minute on `npm start`: a wallet of one's own gets test money, and is found in the document of the stack and in no other. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Contract, JsonRpcProvider, Wallet, id, type InterfaceAbi } from 'ethers';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { startService, type ServiceProcess } from '../support/service-process.js';

const FUNDS = '/api/v1/dev/funds';

describe('test money on npm start', function () {
  this.timeout(240_000);
  let directory: string;
  let service: ServiceProcess | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-funds-'));
    await chmod(directory, 0o755);
  });
  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  const start = async (settings: Record<string, string>): Promise<string> => {
    service = await startService({ DATA_DIR: join(directory, 'data'), ...settings });
    return service.url;
  };
  const read = async (url: string, path: string): Promise<unknown> => (await fetch(url + path)).json();
  const pathsOf = async (url: string) => Object.keys((await read(url, '/openapi.json') as { paths: object }).paths);
  const post = (url: string, path: string, body: unknown) => (
    fetch(url + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }));

  it('pays for the approval and the order of a wallet that had nothing', async () => {
    const url = await start({ CHAIN_PORT: '0', EXPOSURE_CHECK: 'true' });
    ok((await pathsOf(url)).includes(FUNDS));
    const { chains: [chain], orderTypes } = await read(url, '/api/v1/config') as {
      chains: { rpcUrl: string; chainId: number; contracts: Record<'collateral' | 'settlement', string>; orderDomain: object }[]; orderTypes: { Order: [] };
    };
    const { markets: [market] } = await read(url, '/api/v1/markets') as { markets: { id: string }[] };
    const { rpcUrl, contracts, orderDomain } = chain!;
    const provider = new JsonRpcProvider(rpcUrl, chain!.chainId, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 50 });
    const wallet = new Wallet(id('a newcomer'), provider);
    const order = {
      marketId: market!.id, trader: wallet.address, side: 0, outcome: 0, price: 500_000, size: 1_000_000, nonce: 1, expiration: 4_000_000_000,
      makerFeeRecipient: `0x${'0'.repeat(40)}`,
    };
    const place = async (): Promise<[number, unknown]> => {
      const signature = await wallet.signTypedData(orderDomain, { Order: orderTypes.Order }, order);
      const response = await post(url, '/api/v1/orders', { order, signature });
      return [response.status, (await response.json() as { code?: string }).code];
    };
    deepEqual(await place(), [422, 'insufficient_balance']);
    const given = await post(url, FUNDS, { address: wallet.address });
    equal(given.status, 200, await given.text());
    deepEqual(await place(), [422, 'insufficient_allowance']);
    const usdc = new Contract(contracts.collateral, testUsdc.abi as InterfaceAbi, wallet);
    await (await usdc.getFunction('approve').send(contracts.settlement, 1_000_000n)).wait();
    deepEqual(await place(), [200, undefined]);
    provider.destroy();
  });

  it('does not exist without the stack\'s own chain', async () => {
    const url = await start({ CHAINS: 'none' });
    ok(!(await pathsOf(url)).includes(FUNDS));
    const [funds, unknown] = await Promise.all([FUNDS, '/api/v1/dev/none'].map(async (path) => {
      const response = await post(url, path, { address: `0x${'a1'.repeat(20)}` });
      return [response.status, await response.json()];
    }));
    deepEqual(funds, unknown);
    equal(funds![0], 404);
  });
});
