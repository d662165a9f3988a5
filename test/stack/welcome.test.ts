/** The welcome of each kind of stack: it says which chains and what money, and only what is true of this stack. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Chain } from '../../command/chain/chain.js';
import { parseConfig } from '../../service/config.js';
import { welcome, welcomeText, type WelcomeMarket, type Welcome } from '../../stack/welcome.js';
import { madeUpContracts } from '../support/chain-settings.js';

const contracts = madeUpContracts('a');
const polygon: Chain = {
  chainId: 137, name: 'Polygon', testnet: false, confirmations: 64, startBlock: 60_000_000, contracts, domainName: 'Settlement', exposureCheck: true,
};
const amoy: Chain = { ...polygon, chainId: 80_002, name: 'Polygon Amoy', testnet: true, exposureCheck: false, contracts: { ...contracts, settlement: `0x${'bb'.repeat(20)}` } };
const dev: Chain = { ...polygon, chainId: 31_337, name: 'Development chain', testnet: true, confirmations: 0, exposureCheck: false };

const marketsOn = (chainId: number, count: number): WelcomeMarket[] => (
  Array.from({ length: count }, (_, i) => ({ id: `0x${String(i).padStart(64, '0')}`, question: `Will it rain on day ${i}?`, chainId })));

function textOf(environment: Record<string, string>, facts: Partial<Welcome> = {}): string {
  const config = parseConfig(environment);
  return welcomeText({
    url: `http://127.0.0.1:${config.port}`, config, roles: config.roles, chains: [dev], devRpcUrl: 'http://127.0.0.1:8545', givesFunds: true,
    markets: marketsOn(31_337, 2), ...facts,
  });
}

const FILE = { CHAINS: 'conf/chains.json' };
const NONE: Partial<Welcome> = { chains: [], devRpcUrl: undefined, givesFunds: false };
const one: Partial<Welcome> = { chains: [polygon], devRpcUrl: undefined, givesFunds: false, markets: marketsOn(137, 12) };
const two: Partial<Welcome> = { ...one, chains: [polygon, amoy], markets: [...marketsOn(137, 1), ...marketsOn(80_002, 2)] };

describe('service: the welcome', () => {
  const cases: readonly (readonly [string, string, readonly (string | RegExp)[], RegExp])[] = [
    ['the development stack', textOf({}), [
      'Chain 31337 (Development chain): JSON-RPC at http://127.0.0.1:8545. It is on this machine alone: no real money is involved.',
      ...Object.entries(contracts).map(([name, at]) => `${name.padEnd(20)}${at}`),
      '{"name":"Settlement","version":"1","chainId":31337,"verifyingContract":"0xa0a0',
      'test test test test test test test test test test test junk', '1000000 test USDC', 'These keys are public',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
      'CANCEL_AUTH=open: anybody on this machine can cancel any order',
      /EXPOSURE_CHECK=false: .*accepted too.*\n.*end as failed trades.*Set EXPOSURE_CHECK=true to refuse such orders/,
      'Test money for any other wallet: 10000 test USDC and 1 ether.\n  curl http://127.0.0.1:8080/api/v1/dev/funds -H ',
      'cancels the other orders of its\n  wallet that need the same asset', 'Will it rain on day 1?', 'http://127.0.0.1:8080/docs',
      '\n  npm run demo -- http://127.0.0.1:8080 ', 'two wallets without gas',
    ], /REAL MONEY|No chain|Only these roles|CANCEL_AUTH=required\)/],
    ['another DATA_DIR', textOf({ DATA_DIR: '/data/second' }), ['  DATA_DIR=/data/second npm run demo -- http://127.0.0.1:8080 '], /--token/],
    ['a long DATA_DIR', textOf({ DATA_DIR: `/${'d'.repeat(80)}` }), [' npm run demo -- http://127.0.0.1:8080  two wallets'], /8080two/],
    ['another PORT', textOf({ PORT: '9000' }), [
      'npm run demo -- http://127.0.0.1:9000 ', 'curl http://127.0.0.1:9000/api/v1/config', 'curl \'http://127.0.0.1:9000/api/v1/events?limit=5\'',
    ], /:8080/],
    ['a HOST for all addresses', textOf({ HOST: '0.0.0.0', CHAINS: 'dev' }, { url: 'http://0.0.0.0:8080' }), [
      'running at http://127.0.0.1:8080', 'A cancel needs its trader\'s signature (CANCEL_AUTH=required).',
    ], /0\.0\.0\.0|CANCEL_AUTH=open/],
    ['the exposure check', textOf({ EXPOSURE_CHECK: 'true' }, { chains: [{ ...dev, exposureCheck: true }] }), [
      'EXPOSURE_CHECK=true: an order is refused unless its trader has the money or shares for it, and has approved them.',
    ], /EXPOSURE_CHECK=false|failed trades/],
    ['no chain', textOf({ CHAINS: 'none' }, NONE), [
      'No chain (CHAINS=none): orders are matched, but trades do not settle. No money is involved.', 'npm run demo -- http://127.0.0.1:8080 ',
      'two wallets trade, and',
    ], /JSON-RPC|junk|without gas|DATA_DIR=/],
    ['a chains file with one chain', textOf(FILE, one), [
      'Fills settle on the chain of conf/chains.json:\n  137 (Polygon): REAL MONEY; 12 open markets\n    settlement 0xa0a0',
      'orders are checked against balances and allowances', 'A cancel needs its trader\'s signature', 'and 2 more: /api/v1/markets',
    ], /No chain|no real money|No money|junk|npm run demo|CANCEL_AUTH=open|JSON-RPC/],
    ['a chains file with two chains', textOf(FILE, two), [
      'Fills settle on the chains of conf/chains.json:', '137 (Polygon): REAL MONEY; 1 open market\n',
      `80002 (Polygon Amoy): a test network, whose money has no value; 2 open markets\n    settlement 0x${'bb'.repeat(20)}\n    orders are not checked`,
      '  chain 137  Will it rain on day 0?', '  chain 80002  Will it rain on day 1?',
    ], /No chain|no real money|npm run demo/],
    ['a chains file and no market yet', textOf(FILE, { ...one, markets: [] }), ['0 open markets', 'none is open', 'orderbook/{marketId}'], /more:/],
    ['some of the roles', textOf({ ROLES: 'engine api' }), [
      'Only these roles run here: engine, api. The others are for other processes (docs/roles.md).', 'curl http://127.0.0.1:8080/api/v1/config',
    ], /Markets:|orderbook|npm run demo|\/docs\b(?!\/)|events/],
  ];
  for (const [what, text, parts, never] of cases) {
    it(`says what is true of this stack, and nothing else: ${what}`, () => {
      for (const part of parts) assert.ok(typeof part === 'string' ? text.includes(part) : part.test(text), `${String(part)}\nis not in\n${text}`);
      assert.doesNotMatch(text, never);
      assert.doesNotMatch(text, /undefined|null|\n\n\n/);
    });
  }

  it('has the markets that the service answers with, and is not there while the read models catch up', async () => {
    let caughtUp = true;
    const server = createServer((request, response) => {
      if (request.url === '/health/ready') return void response.end(JSON.stringify({ engine: { position: 6 } }));
      response.statusCode = request.headers['x-min-log-position'] === '5' && caughtUp ? 200 : 503;
      response.end(JSON.stringify({ markets: marketsOn(31_337, 1) }));
    });
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const parts = { url, config: parseConfig({}), chains: [{ chain: { ...dev, publicRpcUrl: 'http://127.0.0.1:7' } }] };
    assert.match(await welcome({ ...parts, dev: { rpcUrl: 'http://127.0.0.1:8545' } }) ?? '', /JSON-RPC at http:\/\/127\.0\.0\.1:8545.*Will it rain on day 0/s);
    assert.match(await welcome({ ...parts, dev: { rpcUrl: 'http://127.0.0.1:8545' } }) ?? '', /dev\/funds/);
    const joined = await welcome({ ...parts, dev: undefined }) ?? '';
    assert.match(joined, /JSON-RPC at http:\/\/127\.0\.0\.1:7\./, 'the chain of the stack that it has joined');
    assert.doesNotMatch(joined, /dev\/funds/, 'which that stack alone fills');
    caughtUp = false;
    assert.equal(await welcome({ ...parts, dev: undefined }), undefined);
    await new Promise((resolve) => { server.close(resolve).closeAllConnections(); });
    assert.equal(await welcome({ ...parts, dev: undefined }), undefined);
  });
});
