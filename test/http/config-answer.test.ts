/** What clients are told of the chains: every address and domain, and no URL that is not for them. */
import assert from 'node:assert/strict';
import { TypedDataEncoder, Wallet, ZeroAddress, id, verifyTypedData, type TypedDataDomain, type TypedDataField } from 'ethers';
import type { Chain } from '../../command/chain/chain.js';
import { explain } from '../../engine/records/explain.js';
import { compileSchema } from '../../engine/records/schema.js';
import { configHandler, Configuration } from '../../service/endpoints/config.js';
import { orderActions, shownActions, type ShownAction } from '../../command/signing/shown-actions.js';
import { parseConfig } from '../../service/config.js';
import { madeUpContracts } from '../support/chain-settings.js';

const contracts = madeUpContracts('a');
const polygon: Chain = {
  chainId: 137, name: 'Polygon', testnet: false, confirmations: 64, startBlock: 60_000_000, contracts, domainName: 'Prediction Exchange Settlement',
  exposureCheck: true,
};
const dev: Chain = { ...polygon, chainId: 31_337, name: 'Development chain', testnet: true, confirmations: 0, startBlock: 1, exposureCheck: false };
const collateral = { name: 'USD Coin', version: '2', symbol: 'USDC', decimals: 6, address: contracts.collateral };
const orderDomain = { name: 'Prediction Exchange Settlement', version: '1', chainId: 137, verifyingContract: contracts.settlement };
const shown = {
  chainId: 137, name: 'Polygon', testnet: false, rpcUrl: null, contracts, confirmations: 64, startBlock: 60_000_000, exposureCheck: true, minOrderSize: 1, passOverAnchors: [], passOverFills: [],
  orderDomain, collateral: null, signedActions: shownActions(polygon, undefined), relayer: null, quickOperator: null,
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
    const chains = [{ chain: polygon, collateral: () => token.read }, { chain: { ...dev, minOrderSize: 2_500_000 }, collateral: () => collateral }];
    const handler = configHandler({ config: parseConfig({ CHAINS: 'chains.json' }), chains, now: () => 0 });
    const second = {
      ...shown, chainId: 31_337, name: 'Development chain', testnet: true, confirmations: 0, startBlock: 1, exposureCheck: false, minOrderSize: 2_500_000, collateral,
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

  it('tells auditors which anchors were passed over', () => {
    const passOverAnchors = [`0x${'5'.repeat(64)}`];
    const passOverFills = [`0x${'6'.repeat(64)}`];
    const chain = { ...polygon, passOverAnchors, passOverFills };
    const handler = configHandler({ config: parseConfig({}), chains: [{ chain, collateral: () => undefined }], now: () => 0 });
    assert.deepEqual(chainsOf(handler), [{ ...shown, passOverAnchors, passOverFills }]);
  });

  it('is the signing domain alone where nothing settles', () => {
    const verifyingContract = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
    const config = parseConfig({ CHAINS: 'none', CHAIN_ID: '7' });
    assert.deepEqual(chainsOf(configHandler({ config, chains: [], now: () => 0 })), [{
      chainId: 7, name: 'Development chain', testnet: true, rpcUrl: null,
      contracts: Object.fromEntries(Object.keys(contracts).map((name) => [name, null])), collateral: null,
      confirmations: 0, startBlock: 0, exposureCheck: false, minOrderSize: 1, passOverAnchors: [], passOverFills: [],
      orderDomain: { ...orderDomain, chainId: 7, verifyingContract },
      signedActions: orderActions({ ...orderDomain, chainId: 7, verifyingContract }), relayer: null, quickOperator: null,
    }]);
  });

  it('names the keys that the exchange sends with, and the prices of quick markets, without anything of their sources but the names', () => {
    const [relayer, quick] = [`0x${'7'.repeat(40)}`, `0x${'8'.repeat(40)}`];
    const config = parseConfig({
      CHAINS: 'chains.json', PRICE_SOURCES: 'pyth binance', PYTH_API_KEY: 'hunter2', PRICE_URLS: 'pyth=https://hunter2.example', QUICK_ASSETS: 'SOL ETH',
      QUICK_INTERVAL_S: '25', MAX_CONNECTIONS: '35', MAX_PRICE_STREAMS_PER_ADDRESS: '3',
    });
    const chains = [{ chain: polygon, collateral: () => undefined, configured: { relayer, quick } }];
    const handler = configHandler({ config, chains, now: () => 0 });
    const [chain] = chainsOf(handler) as unknown as [{ relayer: { address: string }; quickOperator: string }];
    assert.deepEqual([chain.relayer.address, chain.quickOperator], [relayer, quick]);
    const text = handler().body as string;
    const { prices, quickMarkets, limits } = JSON.parse(text) as { prices: object; quickMarkets: object; limits: Readonly<Record<string, number>> };
    assert.deepEqual([prices, quickMarkets], [{ assets: ['SOL', 'ETH'], sources: ['pyth', 'binance'] }, { intervalS: 25, ahead: 5 }]);
    assert.deepEqual([limits['maxPriceStreams'], limits['maxPriceStreamsPerAddress']], [17, 3]);
    assert.doesNotMatch(text, /hunter2/);
    assert.deepEqual((JSON.parse(configHandler({ config: parseConfig({ PRICE_SOURCES: 'none' }), chains: [], now: () => 0 })().body as string) as { prices: object }).prices,
      { assets: ['BTC', 'ETH'], sources: [] });
  });

  it('has the types of orders as ethers takes them', async () => {
    const handler = configHandler({ config: parseConfig({ CHAINS: 'none' }), chains: [], now: () => 0 });
    const { chains: [chain], orderTypes: types } = JSON.parse(handler().body as string) as {
      chains: [{ orderDomain: TypedDataDomain }]; orderTypes: Record<string, TypedDataField[]>;
    };
    const wallet = new Wallet(id('config: a trader'));
    const order = {
      marketId: id('config: a market'), trader: wallet.address, side: 0, outcome: 1, price: 1, size: '1', nonce: '18446744073709551615', expiration: '4000000000',
      makerFeeRecipient: ZeroAddress,
    };
    assert.equal(verifyTypedData(chain.orderDomain, types, order, await wallet.signTypedData(chain.orderDomain, types, order)), wallet.address);
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
      ...Object.fromEntries(Object.entries({
        'cancel-orders': 'CancelOrders', 'cancel-all': 'CancelAll', 'cancel-after': 'CancelAfter', 'reduce': 'ReduceOrder',
      }).map(([name, primaryType]) => [name, [primaryType, contracts.settlement, null, null]])),
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
    // Ethers takes types whose primary type is plain, and no others.
    for (const { domain, types, primaryType } of Object.values(chain.signedActions)) {
      const encoder = TypedDataEncoder.from(types as Record<string, TypedDataField[]>);
      assert.deepEqual([encoder.primaryType, TypedDataEncoder.hashDomain(domain!).length], [primaryType, 66]);
    }
    assert.match(chain.signedActions['ctf-redemption']!.nonce.meaning, /key \* 2\^64/);
  });
});
