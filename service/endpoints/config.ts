/** `GET /api/v1/config`: what a client must know to sign orders and stay within the limits. */
import { minOrderSizeOf, type Chain, type Contracts } from '../../command/chain/chain.js';
import { PRICE_RANGE } from '../../command/orders/order-request.js';
import { SOURCE_NAMES } from '../../command/prices/observation.js';
import { MAX_REDEMPTIONS, RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { MAX_DEADLINE_S } from '../../command/relayer/relayer.js';
import { marketsAhead } from '../../command/quick/terms.js';
import { orderTypes } from '../../command/signing/typed-data.js';
import { ORDER_ACTIONS, signedActions, type SignedActionName } from '../../command/signing/signed-actions.js';
import { Type } from '../../engine/records/schema-types.js';
import { MIN_LIFETIME_S, WORK_LIMIT } from '../../engine/rules/limits.js';
import { readEndpoints } from '../../query/endpoints.js';
import { mostPriceStreams } from '../../query/price-stream.js';
import * as field from '../../engine/records/answer-fields.js';
import { MAX_BODY_BYTES, defineEndpoint, type Endpoint, type Reply } from '../api/endpoint.js';
import * as example from '../api/examples.js';
import type { Collateral } from '../../command/chain/chain-check.js';
import { NO_CHAIN } from '../../command/signing/no-chain.js';
import type { Config } from '../config.js';
import { RATE_LIMIT_WINDOW_S } from '../http/limits.js';
import { ofEveryProcess } from '../api/of-every-process.js';
import { SigningDomain } from '../api/signing-domain.js';
import { orderActions, orderDomain, orderDomains, shownActions } from '../../command/signing/shown-actions.js';

/** A chain on which orders settle; `collateral` is undefined until the stablecoin has been read. */
interface SettlingChain {
  readonly chain: Chain;
  readonly collateral: () => Collateral | undefined;
  /**
   * The addresses of the keys that relay, and that create and resolve quick markets; absent: the chain has nothing of
   * the kind.
   */
  readonly configured?: { readonly relayer?: string; readonly quick?: string };
}

export interface ConfigParts {
  readonly config: Config;
  /** Empty with CHAINS=none. */
  readonly chains: readonly SettlingChain[];
  /** The wall clock in milliseconds. */
  readonly now: () => number;
}

const NO_CONTRACTS: Readonly<Record<keyof Contracts, null>> = {
  settlement: null, conditionalTokens: null, collateral: null, marketFactory: null, oracle: null, oracleResolver: null,
  quickResolver: null,
  multicall: null,
};

interface Limit {
  readonly description: string;
  readonly of: (config: Limiting) => number;
}

type LimitSetting = 'rateLimitOrders' | 'rateLimitReads' | 'maxOpenOrders' | 'relayGasPerOwner' | 'relayGasPerToken' | 'maxPriceStreamsPerAddress';
type Limiting = Pick<Config, LimitSetting | 'maxConnections'>;

const fixed = (value: number, description: string): Limit => ({ description, of: () => value });
const setting = (name: LimitSetting, description: string): Limit =>
  ({ description, of: (config) => config[name] });

/** The limits of answers, from the endpoints that have them. */
const ofAnswers = Object.fromEntries((readEndpoints as readonly Endpoint[]).flatMap(({ shownLimit }) => (
  shownLimit === undefined ? [] : [[shownLimit.name, fixed(shownLimit.value, shownLimit.description)]])));

/** The limits that clients are told, each with the value that is enforced. */
const limits = {
  minPrice: fixed(PRICE_RANGE.min, 'Lowest price of an order, 6 decimals.'),
  maxPrice: fixed(PRICE_RANGE.max, 'Highest price of an order, 6 decimals.'),
  minExpirationS: fixed(MIN_LIFETIME_S, 'How far ahead an order\'s expiration must be at least.'),
  maxBodyBytes: fixed(MAX_BODY_BYTES, 'Largest body of a request.'),
  maxOpenOrders: setting('maxOpenOrders', 'Most open orders of one trader, in all markets together.'),
  maxFillsPerOrder: fixed(WORK_LIMIT, 'Most matches of an incoming order. What remains is cancelled.'),
  ...ofAnswers,
  maxPriceStreams: { description: 'Most open price streams of one process.', of: mostPriceStreams },
  maxPriceStreamsPerAddress: setting('maxPriceStreamsPerAddress', 'Most of them of one client address; 0 = no limit.'),
  maxRelayDeadlineS: fixed(MAX_DEADLINE_S, 'How far ahead the deadline of a relayed action may be at most.'),
  maxRedemptionsPerBatch: fixed(MAX_REDEMPTIONS, 'Most redemptions in one batch.'),
  relayGasPerOwnerAndHour: setting('relayGasPerOwner', 'Most gas that is relayed for one owner in an hour; 0 = no limit.'),
  relayGasPerTokenAndHour: setting('relayGasPerToken', 'Most gas that is relayed with one bearer token in an hour; 0 = no limit.'),
  rateLimitWindowS: fixed(RATE_LIMIT_WINDOW_S, 'Length of the window in which requests are counted.'),
  ordersPerWindow: setting('rateLimitOrders', 'Most orders and cancels per client address and window; 0 = no limit.'),
  readsPerWindow: setting('rateLimitReads', 'Most reads per client address and window; 0 = no limit.'),
} as const satisfies Record<string, Limit>;

function limitsOf(config: Limiting): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit.of(config)]));
}

/** The schema of the limits in the answer. */
export const Limits = field.answer('Limits', Object.fromEntries(Object.entries(limits).map(([name, { description }]) => [name, field.integer(description)])), {
  description: 'All limits by name; a name of a time or a size ends with its unit.',
});

/** The handler of `GET /api/v1/config`. */
export function configHandler({ config, chains, now }: ConfigParts): () => Reply {
  const { cancelAuth, quickAssets: assets, priceSources: sources, quickIntervalS: intervalS } = config;
  const answered = () => chains.length === 0
    ? [noChain(config)]
    : chains.map(({ chain, collateral, configured }) => shown(chain, collateral() ?? null, configured));
  return () => ({
    body: JSON.stringify({
      serverTime: Math.floor(now() / 1_000), chains: answered(), orderTypes, cancelAuth,
      prices: { assets, sources }, quickMarkets: { intervalS, ahead: marketsAhead(intervalS) },
      limits: limitsOf(config),
    }),
  });
}

/** A chain as clients see it. Only the public node URL is shown: the other URLs may hold secrets. */
function shown(chain: Chain, collateral: Collateral | null, { relayer, quick }: NonNullable<SettlingChain['configured']> = {}) {
  const {
    chainId, name, testnet, publicRpcUrl: rpcUrl = null, contracts, confirmations, startBlock, exposureCheck,
  } = chain;
  const { passOverAnchors = [], passOverFills = [] } = chain;
  return {
    chainId, name, testnet, rpcUrl, contracts, collateral, confirmations, startBlock, exposureCheck,
    minOrderSize: minOrderSizeOf(chain),
    passOverAnchors, passOverFills,
    orderDomain: orderDomain(chain), signedActions: shownActions(chain, collateral ?? undefined),
    relayer: relayer === undefined ? null : { address: relayer, actions: RELAY_ACTIONS }, quickOperator: quick ?? null,
  };
}

/** The chain of CHAINS=none, on which nothing settles. */
function noChain(config: Config) {
  const { chainId } = config;
  const { name, testnet } = NO_CHAIN;
  const [domain] = orderDomains(config, []);
  return {
    chainId, name, testnet, rpcUrl: null, contracts: NO_CONTRACTS, collateral: null, confirmations: 0, startBlock: 0,
    exposureCheck: false,
    minOrderSize: minOrderSizeOf(undefined), passOverAnchors: [], passOverFills: [], orderDomain: domain,
    signedActions: domain === undefined ? {} : orderActions(domain), relayer: null, quickOperator: null,
  };
}

const SourceName = field.oneOf(SOURCE_NAMES, 'Name of a price source.');

const address = (what: string) => field.orNull(field.Address, `${what}; null if there is no such contract.`);
const typedData = Type.Array(field.answer('TypedDataField', { name: Type.String(), type: Type.String() }));

const CollateralAnswer = field.answer('Collateral', {
  name: Type.String({ description: 'Name in the permit\'s EIP-712 domain.' }),
  version: Type.String({ description: 'Version in the permit\'s EIP-712 domain.' }),
  symbol: Type.String(), decimals: field.integer('Decimals of the token.'), address: field.Address,
});

const SignedActionAnswer = field.answer('SignedAction', {
  primaryType: Type.String(),
  domain: field.orNull(SigningDomain, 'EIP-712 domain; null until the stablecoin has been read.'),
  types: Type.Record(Type.String(), typedData, { description: 'EIP-712 types, as `signTypedData` of wallets takes them.' }),
  nonce: field.answer('NonceSource', {
    kind: Type.String(), contract: field.orNull(field.Address, 'The contract that gives the next nonce; null if none does.'),
    call: field.orNull(Type.String(), 'The view that gives the next nonce; null if there is none.'), meaning: Type.String(),
  }, { description: 'What the message\'s nonce is.' }),
});

const signedActionFields = Object.fromEntries((Object.keys(signedActions) as SignedActionName[]).map((name) => (
  [name, (ORDER_ACTIONS as readonly SignedActionName[]).includes(name) ? SignedActionAnswer : Type.Optional(SignedActionAnswer)])));

const ChainAnswer = field.answer('Chain', {
  chainId: field.ChainId, name: Type.String(), testnet: Type.Boolean(),
  rpcUrl: field.orNull(Type.String(), 'JSON-RPC of a development chain; null for other chains.'),
  contracts: field.answer('Contracts', {
    settlement: address('Settlement'), conditionalTokens: address('Conditional tokens'), collateral: address('Stablecoin'),
    marketFactory: address('Market factory'), oracle: address('Optimistic oracle'), oracleResolver: address('Oracle resolver'),
    quickResolver: address('Quick resolver'), multicall: address('Multicall'),
  }),
  collateral: field.orNull(CollateralAnswer, 'The stablecoin, with what a wallet needs to sign permits; null if there is no chain or the stablecoin has not been read yet.'),
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
  orderDomain: { ...SigningDomain, description: 'EIP-712 domain of orders, and of requests about them.' },
  signedActions: field.answer('SignedActions', signedActionFields, {
    description: 'Every message that users sign, by the name of the relayer\'s endpoint, or for what it is: domain, types and nonce. A batch item is '
      + 'signed as `ctf-redemption`. Without a chain, only those about orders.',
  }),
  relayer: field.orNull(field.answer('RelayerSettings', {
    address: field.Address, actions: Type.Array(Type.String(), { description: 'Names of the endpoints below /api/v1/relayer/.' }),
  }), 'Who sends relayed transactions; null if nothing is relayed on the chain.'),
  quickOperator: field.orNull(field.Address, 'Who creates and resolves quick markets; null if the chain has none.'),
});

export const Configuration = field.answer('Configuration', {
  serverTime: field.Seconds,
  chains: Type.Array(ChainAnswer),
  orderTypes: field.answer('OrderTypes', { Order: typedData }, {
    description: 'EIP-712 types of orders, as `signTypedData` of wallets takes them; `signedActions` has those of all other messages.',
  }),
  cancelAuth: field.oneOf(['required', 'open'], 'Whether a cancel needs the trader\'s signature.'),
  prices: field.answer('PriceSettings', {
    assets: Type.Array(field.Asset, { description: 'Assets that have prices, and quick markets on the chains with a quickOperator.' }),
    sources: Type.Array(SourceName, { description: 'Where prices come from, the best first; empty: nowhere, so no quick market is made.' }),
  }),
  quickMarkets: field.answer('QuickMarketSettings', {
    intervalS: field.integer('Length of a quick market, in seconds. Quick markets start at its multiples since the Unix epoch.', 1),
    ahead: field.integer('How many quick markets of each asset are made ahead of the one that runs.', 1),
  }),
  limits: Limits,
});

export const getConfig = defineEndpoint({
  ...ofEveryProcess,
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
            settlement: example.settlementAddress, conditionalTokens: example.maker,
            collateral: example.collateralAddress, marketFactory: null,
            oracle: null, oracleResolver: null, quickResolver: null, multicall: null,
          },
          collateral: { name: 'Test USD Coin', version: '1', symbol: 'USDC', decimals: 6, address: example.collateralAddress },
          confirmations: 1, startBlock: 0, exposureCheck: true, minOrderSize: 1, passOverAnchors: [], passOverFills: [],
          orderDomain: { name: 'Prediction Exchange Settlement', version: '1', chainId: 31_337, verifyingContract: example.settlementAddress },
          signedActions: orderActions({
            name: 'Prediction Exchange Settlement', version: '1', chainId: 31_337, verifyingContract: example.settlementAddress,
          }),
          relayer: { address: example.maker, actions: ['ctf-approval', 'usdc-permit'] },
          quickOperator: example.maker,
        }],
        orderTypes,
        cancelAuth: 'required',
        prices: { assets: ['BTC', 'ETH'], sources: ['pyth', 'coinbase', 'binance'] },
        quickMarkets: { intervalS: 900, ahead: 2 },
        limits: limitsOf({
          rateLimitOrders: 6_000, rateLimitReads: 6_000, maxOpenOrders: 5_000, relayGasPerOwner: 20_000_000,
          relayGasPerToken: 1_000_000_000,
          maxPriceStreamsPerAddress: 64, maxConnections: 10_000,
        }),
      },
    },
  },
  limit: 'reads',
}, ({ configuration }: { readonly configuration: () => Reply }) => configuration);
