/** `GET /api/v1/config`: what a client must know to sign orders and stay within the limits. */
import { minOrderSizeOf, type Chain, type Contracts } from '../../command/chain/chain.js';
import { PRICE_RANGE } from '../../command/orders/order-request.js';
import { MAX_REDEMPTIONS, RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { MAX_DEADLINE_S } from '../../command/relayer/relayer.js';
import { cancelTypes, orderTypes } from '../../command/signing/typed-data.js';
import { MIN_LIFETIME_S, WORK_LIMIT } from '../../engine/rules/limits.js';
import { EVENTS_LIMIT } from '../../query/history/events.js';
import { ORDERS_LIMIT } from '../../query/orders/orders.js';
import { HOLDER_ENTRIES } from '../../query/positions.js';
import { MAX_CLAIM_ENTRIES } from '../../query/claims.js';
import { MAX_SETTLEMENTS } from '../../query/settlements.js';
import { QUICK_MARKET_ENTRIES } from '../../query/quick-markets.js';
import { ACTIVITY_ENTRIES, TRADE_ENTRIES, USER_ACTIVITY_LIMIT } from '../../query/trades.js';
import type { Collateral } from '../chains/chain-check.js';
import type { Config } from '../config.js';
import { MAX_BODY_BYTES } from '../http/body.js';
import { answer, integer } from './answer-fields.js';
import type { Reply } from './endpoint.js';
import { orderActions, orderDomain, orderDomains, shownActions } from './signing.js';

/** The EIP-712 types of what traders sign. */
export const signedTypes = { ...orderTypes, ...cancelTypes };

/** A chain on which orders settle; `collateral` is undefined until the stablecoin has been read. */
interface SettlingChain {
  readonly chain: Chain;
  readonly collateral: () => Collateral | undefined;
  /** The addresses of the keys that relay, and that create and resolve quick markets; absent: the chain has nothing of the kind. */
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
  settlement: null, conditionalTokens: null, collateral: null, marketFactory: null, oracle: null, oracleResolver: null, quickResolver: null,
  multicall: null,
};

interface Limit {
  readonly description: string;
  readonly of: (config: Config) => number;
}

const fixed = (value: number, description: string): Limit => ({ description, of: () => value });
type LimitSetting = 'rateLimitWindowS' | 'rateLimitOrders' | 'rateLimitReads' | 'maxOpenOrders' | 'relayGasPerOwner' | 'relayGasPerToken'
  | 'maxPriceStreams' | 'maxPriceStreamsPerAddress';
const setting = (name: LimitSetting, description: string): Limit =>
  ({ description, of: (config) => config[name] });

/** The limits that clients are told, each with the value that is enforced. */
const limits = {
  minPrice: fixed(PRICE_RANGE.min, 'Lowest price of an order, 6 decimals.'),
  maxPrice: fixed(PRICE_RANGE.max, 'Highest price of an order, 6 decimals.'),
  minExpirationS: fixed(MIN_LIFETIME_S, 'How far ahead an order\'s expiration must be at least.'),
  maxBodyBytes: fixed(MAX_BODY_BYTES, 'Largest body of a request.'),
  maxOpenOrders: setting('maxOpenOrders', 'Most open orders of one trader, in all markets together.'),
  maxFillsPerOrder: fixed(WORK_LIMIT, 'Most matches of an incoming order. What remains is cancelled.'),
  maxOrdersPerPage: fixed(ORDERS_LIMIT.max, 'Most open orders in an answer.'),
  maxHolders: fixed(HOLDER_ENTRIES, 'Most holders in an answer.'),
  maxActivity: fixed(ACTIVITY_ENTRIES, 'Most trades in a market\'s activity.'),
  maxTrades: fixed(TRADE_ENTRIES, 'Most trades in a market\'s trade history.'),
  maxUserActivity: fixed(USER_ACTIVITY_LIMIT.max, 'Most entries in each list of a user\'s activity.'),
  maxSettlementsPerPage: fixed(MAX_SETTLEMENTS, 'Most pending or failed trades in an answer.'),
  maxClaimsPerPage: fixed(MAX_CLAIM_ENTRIES, 'Most pending or failed claims in an answer.'),
  maxEventsPerPage: fixed(EVENTS_LIMIT.max, 'Most records of the history in an answer.'),
  maxQuickMarkets: fixed(QUICK_MARKET_ENTRIES, 'Most quick markets in the history of an asset.'),
  maxPriceStreams: setting('maxPriceStreams', 'Most open price streams of one process.'),
  maxPriceStreamsPerAddress: setting('maxPriceStreamsPerAddress', 'Most of them of one client address; 0 = no limit.'),
  maxRelayDeadlineS: fixed(MAX_DEADLINE_S, 'How far ahead the deadline of a relayed action may be at most.'),
  maxRedemptionsPerBatch: fixed(MAX_REDEMPTIONS, 'Most redemptions in one batch.'),
  relayGasPerOwnerAndHour: setting('relayGasPerOwner', 'Most gas that is relayed for one owner in an hour; 0 = no limit.'),
  relayGasPerTokenAndHour: setting('relayGasPerToken', 'Most gas that is relayed with one bearer token in an hour; 0 = no limit.'),
  rateLimitWindowS: setting('rateLimitWindowS', 'Length of the window in which requests are counted.'),
  ordersPerWindow: setting('rateLimitOrders', 'Most orders and cancels per client address and window; 0 = no limit.'),
  readsPerWindow: setting('rateLimitReads', 'Most reads per client address and window; 0 = no limit.'),
} as const satisfies Record<string, Limit>;

/** The schema of the limits in the answer. */
export const Limits = answer('Limits', Object.fromEntries(Object.entries(limits).map(([name, { description }]) => [name, integer(description)])), {
  description: 'All limits by name; a name of a time or a size ends with its unit.',
});

/** The handler of `GET /api/v1/config`. */
export function configHandler({ config, chains, now }: ConfigParts): () => Reply {
  const { cancelAuth, quickAssets: assets, priceSources: sources, quickIntervalS: intervalS, quickAhead: ahead } = config;
  const told = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit.of(config)]));
  const answered = () => chains.length === 0
    ? [chainOfSettings(config)]
    : chains.map(({ chain, collateral, configured }) => shown(chain, collateral() ?? null, configured));
  return () => ({
    body: JSON.stringify({
      serverTime: Math.floor(now() / 1_000), chains: answered(), orderTypes: signedTypes, cancelAuth,
      prices: { assets, sources }, quickMarkets: { intervalS, ahead }, limits: told,
    }),
  });
}

/** A chain as clients see it. Only the public node URL is shown: the other URLs may hold secrets. */
function shown(chain: Chain, collateral: Collateral | null, { relayer, quick }: NonNullable<SettlingChain['configured']> = {}) {
  const { chainId, name, testnet, publicRpcUrl: rpcUrl = null, contracts, confirmations, startBlock, exposureCheck } = chain;
  const { passOverAnchors = [], passOverFills = [] } = chain;
  return {
    chainId, name, testnet, rpcUrl, contracts, collateral, confirmations, startBlock, exposureCheck, minOrderSize: minOrderSizeOf(chain),
    passOverAnchors, passOverFills,
    orderDomain: orderDomain(chain), signedActions: shownActions(chain, collateral ?? undefined),
    relayer: relayer === undefined ? null : { address: relayer, actions: RELAY_ACTIONS }, quickOperator: quick ?? null,
  };
}

/** The chain of CHAINS=none, on which nothing settles. */
function chainOfSettings(config: Config) {
  const { chainId, chainName: name, chainTestnet: testnet } = config;
  const [domain] = orderDomains(config, []);
  return {
    chainId, name, testnet, rpcUrl: null, contracts: NO_CONTRACTS, collateral: null, confirmations: 0, startBlock: 0, exposureCheck: false,
    minOrderSize: minOrderSizeOf(undefined), passOverAnchors: [], passOverFills: [], orderDomain: domain,
    signedActions: domain === undefined ? {} : orderActions(domain), relayer: null, quickOperator: null,
  };
}
