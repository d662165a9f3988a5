/** What clients and developers are told of the chains: every address and domain, and no URL that is not for them. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Chain } from '../../command/chain/chain.js';
import { compileSchema, explain } from '../../engine/records/schema.js';
import { configHandler } from '../../service/api/config-answer.js';
import { orderActions, shownActions, type ShownAction } from '../../service/api/signing.js';
import { Configuration } from '../../service/api/endpoints/service.js';
import { parseConfig } from '../../service/config.js';
import { welcome } from '../../service/welcome.js';

const NAMES = ['settlement', 'conditionalTokens', 'collateral', 'marketFactory', 'oracle', 'oracleResolver', 'quickResolver', 'multicall'] as const;
const contracts = Object.fromEntries(NAMES.map((name, i) => [name, `0x${`a${i}`.repeat(20)}`])) as unknown as Chain['contracts'];
const polygon: Chain = {
  chainId: 137, name: 'Polygon', testnet: false, confirmations: 64, startBlock: 60_000_000, contracts, domainName: 'Prediction Exchange Settlement',
  exposureCheck: true,
};
const dev: Chain = { ...polygon, chainId: 31_337, name: 'Development chain', testnet: true, confirmations: 0, startBlock: 1, exposureCheck: false };
const collateral = { name: 'USD Coin', version: '2', symbol: 'USDC', decimals: 6, address: contracts.collateral };
const orderDomain = { name: 'Prediction Exchange Settlement', version: '1', chainId: 137, verifyingContract: contracts.settlement };
const shown = {
  chainId: 137, name: 'Polygon', testnet: false, rpcUrl: null, contracts, confirmations: 64, exposureCheck: true, orderDomain, collateral: null,
  signedActions: shownActions(polygon, undefined), relayer: null,
};

describe('service: what /api/v1/config says of the chains', () => {
  const validate = compileSchema(Configuration);

  function chainsOf(handler: ReturnType<typeof configHandler>): readonly { rpcUrl: string | null }[] {
    const answer = JSON.parse(handler().body as string) as { chains: { rpcUrl: string | null }[] };
    assert.ok(validate(answer), explain(validate));
    return answer.chains;
  }

  it('is every chain with its contracts, its signing domain, and its stablecoin once that has been read', () => {
    const token: { read?: typeof collateral } = {};
    const chains = [{ chain: polygon, collateral: () => token.read }, { chain: dev, collateral: () => collateral }];
    const handler = configHandler({ config: parseConfig({ CHAINS: 'chains.json' }), chains, now: () => 0 });
    const second = {
      ...shown, chainId: 31_337, name: 'Development chain', testnet: true, confirmations: 0, exposureCheck: false, collateral,
      orderDomain: { ...orderDomain, chainId: 31_337 }, signedActions: shownActions(dev, collateral),
    };
    assert.deepEqual(chainsOf(handler), [shown, second]);
    token.read = collateral;
    assert.deepEqual(chainsOf(handler), [{ ...shown, collateral, signedActions: shownActions(polygon, collateral) }, second]);
  });

  it('has the RPC URL that is meant for clients, and no other', () => {
    const publicRpcUrl = 'http://127.0.0.1:8545';
    const chains = [polygon, { ...dev, publicRpcUrl }].map((chain) => ({ chain, collateral: () => undefined }));
    const answered = chainsOf(configHandler({ config: parseConfig({}), chains, now: () => 0 }));
    assert.deepEqual(answered.map(({ rpcUrl }) => rpcUrl), [null, publicRpcUrl]);
  });

  it('is the signing domain of the settings alone where nothing settles', () => {
    const verifyingContract = `0x${'99'.repeat(20)}`;
    const config = parseConfig({ CHAINS: 'none', CHAIN_ID: '7', CHAIN_NAME: 'Seven', CHAIN_TESTNET: 'false', SETTLEMENT_ADDRESS: verifyingContract });
    assert.deepEqual(chainsOf(configHandler({ config, chains: [], now: () => 0 })), [{
      chainId: 7, name: 'Seven', testnet: false, rpcUrl: null, contracts: Object.fromEntries(NAMES.map((name) => [name, null])), collateral: null,
      confirmations: 0, exposureCheck: false, orderDomain: { ...orderDomain, chainId: 7, verifyingContract },
      signedActions: orderActions({ ...orderDomain, chainId: 7, verifyingContract }), relayer: null,
    }]);
  });

  it('has all that a wallet needs to sign: domain, types and nonce of every action', () => {
    const chains = [{ chain: polygon, collateral: () => collateral }];
    const [chain] = chainsOf(configHandler({ config: parseConfig({ CHAINS: 'chains.json' }), chains, now: () => 0 })) as unknown as [{
      signedActions: Readonly<Record<string, ShownAction>>;
    }];
    const token = { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: contracts.collateral };
    assert.deepEqual(Object.fromEntries(Object.entries(chain.signedActions).map(([name, { primaryType, domain, nonce }]) => [
      name, [primaryType, domain?.verifyingContract, nonce.contract, nonce.call],
    ])), {
      'order': ['Order', contracts.settlement, null, null],
      'cancel': ['CancelOrder', contracts.settlement, null, null],
      'ctf-approval': ['SetApprovalForAll', contracts.conditionalTokens, contracts.conditionalTokens, 'nonces(address owner)'],
      'usdc-permit': ['Permit', contracts.collateral, contracts.collateral, 'nonces(address owner)'],
      'ctf-redemption': ['RedeemPositions', contracts.conditionalTokens, contracts.conditionalTokens, 'nonces(address owner, uint192 key)'],
      'ctf-split': ['SplitPosition', contracts.conditionalTokens, contracts.conditionalTokens, 'nonces(address owner)'],
      'ctf-merge': ['MergePositions', contracts.conditionalTokens, contracts.conditionalTokens, 'nonces(address owner)'],
      'propose-resolution': ['ProposeResolution', contracts.oracleResolver, contracts.oracleResolver, 'nonces(address owner, uint192 key)'],
      'bond-permit': ['Permit', contracts.collateral, contracts.collateral, 'nonces(address owner)'],
      'settle-market': ['SettleMarket', contracts.oracleResolver, contracts.oracleResolver, 'nonces(address owner, uint192 key)'],
    });
    assert.deepEqual(chain.signedActions['usdc-permit']!.domain, token);
    assert.match(chain.signedActions['ctf-redemption']!.nonce.meaning, /key \* 2\^64/);
  });

  describe('the welcome', () => {
    const server = createServer((request, response) => {
      if (request.url === '/health/ready') return void response.end(JSON.stringify({ engine: { position: 6 } }));
      response.statusCode = request.headers['x-min-log-position'] === '5' && caughtUp ? 200 : 503;
      response.end(JSON.stringify({ markets: [{ id: `0x${'1'.repeat(64)}`, question: 'Will it rain?' }] }));
    });
    let caughtUp = true;
    let url: string;

    before(async () => {
      await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
      url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    });

    after(() => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }));

    it('names the chain\'s RPC, its contracts and accounts with their keys, the markets, and what to try', async () => {
      const text = await welcome({ url, config: parseConfig({}), dev: { chain: dev, rpcUrl: 'http://127.0.0.1:8545' } });
      for (const part of [
        'JSON-RPC at http://127.0.0.1:8545', ...Object.entries(contracts).map(([name, address]) => `${name.padEnd(20)}${address}`),
        JSON.stringify({ ...orderDomain, chainId: 31_337 }), 'test test test test test test test test test test test junk', '1000000 test USDC',
        '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
        'These keys are public', 'CANCEL_AUTH=open', 'Will it rain?', `${url}/docs`, 'npm run demo',
      ]) assert.ok(text!.includes(part), `${part}\nis not in\n${text}`);
    });

    it('says that nothing settles without a chain, and is not there while the read models catch up', async () => {
      const config = parseConfig({ CHAINS: 'none', CANCEL_AUTH: 'required' });
      const text = await welcome({ url, config, dev: undefined });
      assert.match(text!, /No chain \(CHAINS=none\): orders are matched, but trades do not settle/);
      assert.doesNotMatch(text!, /JSON-RPC|junk|CANCEL_AUTH/);
      caughtUp = false;
      assert.equal(await welcome({ url, config, dev: undefined }), undefined);
    });
  });
});
