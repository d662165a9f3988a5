/** `GET /api/v1/config`: what a client must know to sign orders and stay within the limits. */
import type { Chain, Contracts } from '../../command/chain/chain.js';
import { MAX_REDEMPTIONS, RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { MAX_DEADLINE_S } from '../../command/relayer/relayer.js';
import { cancelTypes, orderTypes } from '../../command/signing/typed-data.js';
import { MIN_LIFETIME_S, WORK_LIMIT } from '../../engine/rules/limits.js';
import { EVENTS_LIMIT } from '../../query/events.js';
import { USER_ACTIVITY_LIMIT } from '../../query/trades.js';
import type { Collateral } from '../chains/chain-check.js';
import type { Config } from '../config.js';
import { MAX_BODY_BYTES } from '../http/body.js';
import { MAX_ORDERS } from '../../query/orders.js';
import type { Reply } from './endpoint.js';
import { orderActions, orderDomain, orderDomains, shownActions } from './signing.js';

/** The EIP-712 types of what traders sign. */
export const signedTypes = { ...orderTypes, ...cancelTypes };

/** A chain on which orders settle; `collateral` is undefined until the stablecoin has been read. */
interface SettlingChain {
  readonly chain: Chain;
  readonly collateral: () => Collateral | undefined;
  /** The address of the relayer's key; absent: nothing is relayed on the chain. */
  readonly configured?: { readonly relayer?: string };
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

/** The handler of `GET /api/v1/config`. */
export function configHandler({ config, chains, now }: ConfigParts): () => Reply {
  const { cancelAuth } = config;
  const limits = {
    minPrice: 1, maxPrice: 999_999, minExpirationS: MIN_LIFETIME_S, maxBodyBytes: MAX_BODY_BYTES, maxFillsPerOrder: WORK_LIMIT,
    maxOrdersPerPage: MAX_ORDERS, maxHolders: 10, maxActivity: 50, maxTrades: 100, maxUserActivity: USER_ACTIVITY_LIMIT.max,
    maxEventsPerPage: EVENTS_LIMIT.max,
    maxRelayDeadlineS: MAX_DEADLINE_S, maxRedemptionsPerBatch: MAX_REDEMPTIONS,
    relayGasPerOwnerAndHour: config.relayGasPerOwner, relayGasPerTokenAndHour: config.relayGasPerToken,
    rateLimitWindowS: config.rateLimitWindowS, ordersPerWindow: config.rateLimitOrders, readsPerWindow: config.rateLimitReads,
  };
  const answered = () => chains.length === 0
    ? [chainOfSettings(config)]
    : chains.map(({ chain, collateral, configured }) => shown(chain, collateral() ?? null, configured?.relayer));
  return () => ({
    body: JSON.stringify({ serverTime: Math.floor(now() / 1_000), chains: answered(), orderTypes: signedTypes, cancelAuth, limits }),
  });
}

/** A chain as clients see it. Only the public node URL is shown: the other URLs may hold secrets. */
function shown(chain: Chain, collateral: Collateral | null, relayer: string | undefined) {
  const { chainId, name, testnet, publicRpcUrl: rpcUrl = null, contracts, confirmations, exposureCheck } = chain;
  return {
    chainId, name, testnet, rpcUrl, contracts, collateral, confirmations, exposureCheck, orderDomain: orderDomain(chain),
    signedActions: shownActions(chain, collateral ?? undefined), relayer: relayer === undefined ? null : { address: relayer, actions: RELAY_ACTIONS },
  };
}

/** The chain of CHAINS=none, on which nothing settles. */
function chainOfSettings(config: Config) {
  const { chainId, chainName: name, chainTestnet: testnet } = config;
  const [domain] = orderDomains(config, []);
  return {
    chainId, name, testnet, rpcUrl: null, contracts: NO_CONTRACTS, collateral: null, confirmations: 0, exposureCheck: false, orderDomain: domain,
    signedActions: domain === undefined ? {} : orderActions(domain), relayer: null,
  };
}
