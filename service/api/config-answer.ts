/** `GET /api/v1/config`: what a client must know to sign orders and stay within the limits. */
import type { Chain, Contracts } from '../../command/chain/chain.js';
import { cancelTypes, orderTypes, type OrderDomain } from '../../command/signing/typed-data.js';
import { MIN_LIFETIME_S, WORK_LIMIT } from '../../engine/rules/limits.js';
import { EVENTS_LIMIT } from '../../query/events.js';
import { USER_ACTIVITY_LIMIT } from '../../query/trades.js';
import type { Collateral } from '../chains/chain-check.js';
import type { Config } from '../config.js';
import { MAX_BODY_BYTES } from '../http/body.js';
import { MAX_ORDERS } from '../../query/orders.js';
import type { Reply } from './endpoint.js';

/** The EIP-712 types of what traders sign. */
export const signedTypes = { ...orderTypes, ...cancelTypes };

/** A chain that is settled on; `collateral` is undefined until the stablecoin has been read. */
interface SettlingChain {
  readonly chain: Chain;
  readonly collateral: () => Collateral | undefined;
}

export interface ConfigParts {
  readonly config: Config;
  /** None with CHAINS=none. */
  readonly chains: readonly SettlingChain[];
  /** The development chain's; other nodes' URLs may hold secrets, and are not told. */
  readonly devRpcUrl?: string | undefined;
  /** The wall clock in milliseconds. */
  readonly now: () => number;
}

/** The EIP-712 domain of orders and cancels on a chain. */
export function orderDomain({ domainName, chainId, contracts }: Pick<Chain, 'domainName' | 'chainId' | 'contracts'>): OrderDomain {
  return { name: domainName, version: '1', chainId, verifyingContract: contracts.settlement };
}

/** Every chain's domain; with CHAINS=none the one of the settings. */
export function orderDomains(config: Config, chains: readonly { readonly chain: Chain }[]): readonly OrderDomain[] {
  if (chains.length > 0) return chains.map(({ chain }) => orderDomain(chain));
  const { settlementDomainName, chainId, settlementAddress } = config;
  return [{ name: settlementDomainName, version: '1', chainId, verifyingContract: settlementAddress }];
}

const NO_CONTRACTS: Readonly<Record<keyof Contracts, null>> = {
  settlement: null, conditionalTokens: null, collateral: null, marketFactory: null, oracle: null, oracleResolver: null, quickResolver: null,
  multicall: null,
};

/** The answer's handler. */
export function configHandler({ config, chains, devRpcUrl, now }: ConfigParts): () => Reply {
  const { cancelAuth } = config;
  const limits = {
    minPrice: 1, maxPrice: 999_999, minExpirationS: MIN_LIFETIME_S, maxBodyBytes: MAX_BODY_BYTES, maxFillsPerOrder: WORK_LIMIT,
    maxOrdersPerPage: MAX_ORDERS, maxHolders: 10, maxActivity: 50, maxTrades: 100, maxUserActivity: USER_ACTIVITY_LIMIT.max,
    maxEventsPerPage: EVENTS_LIMIT.max,
    rateLimitWindowS: config.rateLimitWindowS, ordersPerWindow: config.rateLimitOrders, readsPerWindow: config.rateLimitReads,
  };
  const answered = () => chains.length === 0
    ? [chainOfSettings(config)]
    : chains.map(({ chain, collateral }) => shown(chain, { rpcUrl: devRpcUrl ?? null, collateral: collateral() ?? null }));
  return () => ({
    body: JSON.stringify({ serverTime: Math.floor(now() / 1_000), chains: answered(), orderTypes: signedTypes, cancelAuth, limits }),
  });
}

function shown(chain: Chain, { rpcUrl, collateral }: { rpcUrl: string | null; collateral: Collateral | null }) {
  const { chainId, name, testnet, contracts, confirmations, exposureCheck } = chain;
  return { chainId, name, testnet, rpcUrl, contracts, collateral, confirmations, exposureCheck, orderDomain: orderDomain(chain) };
}

/** The chain of CHAINS=none, on which nothing settles. */
function chainOfSettings(config: Config) {
  const { chainId, chainName: name, chainTestnet: testnet } = config;
  const [domain] = orderDomains(config, []);
  return {
    chainId, name, testnet, rpcUrl: null, contracts: NO_CONTRACTS, collateral: null, confirmations: 0, exposureCheck: false, orderDomain: domain,
  };
}
