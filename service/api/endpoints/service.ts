/** The endpoints about the service itself, which every process serves: configuration, documentation, liveness, metrics. */
import { Type } from '../../../engine/records/schema-types.js';
import { SOURCE_NAMES } from '../../../command/prices/observation.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { Limits, signedTypes } from '../config-answer.js';
import { orderActions } from '../signing.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';

const SourceName = field.oneOf(SOURCE_NAMES, 'Name of a price source.');

const plain = { role: 'every', method: 'GET', tag: 'Service', parameters: {}, authority: anybody, errorShape: problems, errors: [], consistent: false } as const;

const contract = (what: string) => field.orNull(field.Address, `${what}; null if there is no such contract.`);
const typedData = Type.Array(field.answer('TypedDataField', { name: Type.String(), type: Type.String() }));

const Collateral = field.answer('Collateral', {
  name: Type.String({ description: 'Name in the permit\'s EIP-712 domain.' }),
  version: Type.String({ description: 'Version in the permit\'s EIP-712 domain.' }),
  symbol: Type.String(), decimals: field.integer('Decimals of the token.'), address: field.Address,
});

const SignedActionTold = field.answer('SignedAction', {
  primaryType: Type.String(),
  domain: field.orNull(field.answer('SigningDomain', {
    name: Type.String(), version: Type.String(), chainId: field.ChainId, verifyingContract: field.Address,
  }), 'EIP-712 domain; null until the stablecoin has been read.'),
  types: Type.Record(Type.String(), typedData, { description: 'EIP-712 types.' }),
  nonce: field.answer('NonceTold', {
    kind: Type.String(), contract: field.orNull(field.Address, 'The contract that gives the next nonce; null if none does.'),
    call: field.orNull(Type.String(), 'The view that gives the next nonce; null if there is none.'), meaning: Type.String(),
  }, { description: 'What the message\'s nonce is.' }),
});

const Chain = field.answer('Chain', {
  chainId: field.ChainId, name: Type.String(), testnet: Type.Boolean(),
  rpcUrl: field.orNull(Type.String(), 'JSON-RPC of a development chain; null for other chains.'),
  contracts: field.answer('Contracts', {
    settlement: contract('Settlement'), conditionalTokens: contract('Conditional tokens'), collateral: contract('Stablecoin'),
    marketFactory: contract('Market factory'), oracle: contract('Optimistic oracle'), oracleResolver: contract('Oracle resolver'),
    quickResolver: contract('Quick resolver'), multicall: contract('Multicall'),
  }),
  collateral: field.orNull(Collateral, 'The stablecoin, with what a wallet needs to sign permits; null if there is no chain or the stablecoin has not been read yet.'),
  confirmations: field.integer('Number of blocks on top of a block that make the block final.'),
  startBlock: field.integer('The first block that is read for events of the contracts.'),
  exposureCheck: Type.Boolean({ description: 'Whether an order is checked against its trader\'s balance and allowance before it is accepted. '
    + 'If not, an order that its trader cannot pay for is accepted, and its trades fail on the chain.' }),
  minOrderSize: field.integer('Smallest size of an order in the chain\'s markets, 6 decimals.', 1),
  passOverAnchors: Type.Array(field.Bytes32, {
    description: 'Transactions that anchor another history and were passed over by the operator\'s decision, since a leaked key sent them. The history '
      + 'has an AnchorPassedOver event for each.',
  }),
  passOverFills: Type.Array(field.Bytes32, {
    description: 'Transactions that settled or refused other fills than the exchange matched, by the operator\'s decision: a leaked key sent them. The history '
      + 'has a FillFailed event for each such fill, with the reason `unknown` and the culprit `both`.',
  }),
  orderDomain: field.answer('OrderDomain', {
    name: Type.String(), version: Type.Literal('1'), chainId: field.ChainId, verifyingContract: field.Address,
  }, { description: 'EIP-712 domain of orders and cancels.' }),
  signedActions: Type.Record(Type.String(), SignedActionTold, {
    description: 'Every message that users sign, by the name of the relayer\'s endpoint, or `order`, `cancel`, `bond-permit`: domain, types and nonce. '
      + 'A batch item is signed as `ctf-redemption`. Without a chain, only `order` and `cancel`.',
  }),
  relayer: field.orNull(field.answer('RelayerTold', {
    address: field.Address, actions: Type.Array(Type.String(), { description: 'Names of the endpoints below /api/v1/relayer/.' }),
  }), 'Who sends relayed transactions; null if nothing is relayed on the chain.'),
  quickOperator: field.orNull(field.Address, 'Who creates and resolves quick markets; null if the chain has none.'),
});

export const Configuration = field.answer('Configuration', {
  serverTime: field.Seconds,
  chains: Type.Array(Chain),
  orderTypes: field.answer('OrderTypes', { Order: typedData, CancelOrder: typedData }, { description: 'EIP-712 types of orders and cancels.' }),
  cancelAuth: field.oneOf(['required', 'open'], 'Whether a cancel needs the trader\'s signature.'),
  prices: field.answer('PricesTold', {
    assets: Type.Array(field.Asset, { description: 'Assets that have prices, and quick markets on the chains with a quickOperator.' }),
    sources: Type.Array(SourceName, { description: 'Where prices come from, the best first; empty: nowhere, so no quick market is made.' }),
  }),
  quickMarkets: field.answer('QuickMarketsTold', {
    intervalS: field.integer('Length of a quick market, in seconds. Quick markets start at its multiples since the Unix epoch.', 1),
    ahead: field.integer('How many quick markets of each asset are made ahead of the one that runs.', 1),
  }),
  limits: Limits,
});

export const getConfig = defineEndpoint({
  ...plain,
  id: 'getConfig', path: '/api/v1/config', summary: 'Chains, signing domains, prices, limits, server time',
  description: 'Everything that a client needs to sign orders and permits. Values that the service does not have are null.',
  answer: {
    description: 'The configuration.', schema: Configuration,
    examples: {
      development: {
        serverTime: example.placedAt,
        chains: [{
          chainId: 31_337, name: 'Development chain', testnet: true, rpcUrl: 'http://127.0.0.1:8545',
          contracts: {
            settlement: example.settlementAddress, conditionalTokens: example.maker, collateral: example.collateralAddress, marketFactory: null,
            oracle: null, oracleResolver: null, quickResolver: null, multicall: null,
          },
          collateral: { name: 'Test USD Coin', version: '1', symbol: 'USDC', decimals: 6, address: example.collateralAddress },
          confirmations: 1, startBlock: 0, exposureCheck: true, minOrderSize: 1, passOverAnchors: [], passOverFills: [],
          orderDomain: { name: 'Prediction Exchange Settlement', version: '1', chainId: 31_337, verifyingContract: example.settlementAddress },
          signedActions: {
            order: orderActions({
              name: 'Prediction Exchange Settlement', version: '1', chainId: 31_337, verifyingContract: example.settlementAddress,
            }).order,
          },
          relayer: { address: example.maker, actions: ['ctf-approval', 'usdc-permit'] },
          quickOperator: example.maker,
        }],
        orderTypes: signedTypes,
        cancelAuth: 'required',
        prices: { assets: ['BTC', 'ETH'], sources: ['pyth', 'coinbase', 'binance'] },
        quickMarkets: { intervalS: 900, ahead: 2 },
        limits: {
          minPrice: 1, maxPrice: 999_999, minExpirationS: 60, maxBodyBytes: 65_536, maxOpenOrders: 5_000, maxFillsPerOrder: 2_500,
          maxOrdersPerPage: 1_000, maxHolders: 10, maxActivity: 50, maxTrades: 100, maxUserActivity: 100,
          maxSettlementsPerPage: 1_000, maxClaimsPerPage: 1_000, maxEventsPerPage: 1_000,
          maxQuickMarkets: 100, maxPriceStreams: 5_000, maxPriceStreamsPerAddress: 64,
          maxRelayDeadlineS: 2_592_000, maxRedemptionsPerBatch: 20, relayGasPerOwnerAndHour: 20_000_000, relayGasPerTokenAndHour: 1_000_000_000,
          rateLimitWindowS: 60, ordersPerWindow: 6_000, readsPerWindow: 6_000,
        },
      },
    },
  },
  limit: 'reads',
});

export const getOpenapi = defineEndpoint({
  ...plain,
  id: 'getOpenapi', path: '/openapi.json', summary: 'This document', description: 'The API as an OpenAPI 3.1 document; /docs shows it as a page.',
  answer: {
    description: 'The document.', schema: Type.Object({ openapi: Type.String() }), examples: { document: { openapi: '3.1.0' } },
  },
  limit: 'none',
});

export const getAsyncapi = defineEndpoint({
  ...plain,
  id: 'getAsyncapi', path: '/asyncapi.json', summary: 'The fill feed',
  description: 'The fill feed as an AsyncAPI 3.0 document: Kafka topics with every fill and what became of it. The feed is there where the operators run Kafka.',
  answer: {
    description: 'The document.', schema: Type.Object({ asyncapi: Type.String() }), examples: { document: { asyncapi: '3.0.0' } },
  },
  limit: 'none',
});

export const getLiveness = defineEndpoint({
  ...plain,
  id: 'getLiveness', path: '/health/live', summary: 'Whether the process answers', description: 'A process that does not answer should be restarted.',
  answer: {
    description: 'The process answers.', schema: field.answer('Liveness', { live: Type.Literal(true) }), examples: { live: { live: true } },
  },
  limit: 'none',
});

export const getMetrics = defineEndpoint({
  ...plain,
  id: 'getMetrics', path: '/metrics', summary: 'Metrics in Prometheus\' text format',
  description: 'Durations by route, orders by result, queue, batches, positions, lags, connections, event-loop delay. Served at METRICS_PORT instead, '
    + 'where that is set.',
  answer: {
    description: 'The metrics.', schema: Type.String(), contentType: 'text/plain',
    examples: { metrics: '# TYPE exchange_engine_position gauge\nexchange_engine_position 4218\n' },
  },
  limit: 'none',
});
