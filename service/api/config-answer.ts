/** `GET /api/v1/config`: what a client must know to sign orders and stay within the limits. */
import { MIN_LIFETIME_S, WORK_LIMIT } from '../../engine/limits.js';
import { EVENTS_LIMIT } from '../../query/events.js';
import { USER_ACTIVITY_LIMIT } from '../../query/trades.js';
import type { Config } from '../config.js';
import { MAX_BODY_BYTES } from '../http/body.js';
import { cancelTypes, orderTypes } from '../../command/typed-data.js';
import { MAX_ORDERS } from '../../query/orders.js';
import type { Reply } from './route.js';

/** The EIP-712 types of what traders sign (interface, Signing; design, section 6). */
export const signedTypes = { ...orderTypes, ...cancelTypes };

/** The EIP-712 domain of orders and cancels on the configured chain. */
export function orderDomain({ settlementDomainName, chainId, settlementAddress }: Config) {
  return { name: settlementDomainName, version: '1' as const, chainId, verifyingContract: settlementAddress };
}

/** The answer's handler. Contracts are null until the service deploys or is given them. `nowMs` is the wall clock. */
export function configHandler(config: Config, nowMs: () => number): () => Reply {
  const chain = {
    chainId: config.chainId, name: config.chainName, testnet: config.chainTestnet, rpcUrl: null,
    contracts: {
      settlement: null, conditionalTokens: null, collateral: null, marketFactory: null, oracle: null, oracleResolver: null,
      multicall: null,
    },
    orderDomain: orderDomain(config),
  };
  const limits = {
    minPrice: 1, maxPrice: 999_999, minExpirationS: MIN_LIFETIME_S, maxBodyBytes: MAX_BODY_BYTES, maxFillsPerOrder: WORK_LIMIT,
    maxOrdersPerPage: MAX_ORDERS, maxHolders: 10, maxActivity: 50, maxTrades: 100, maxUserActivity: USER_ACTIVITY_LIMIT.max,
    maxEventsPerPage: EVENTS_LIMIT.max,
    rateLimitWindowS: config.rateLimitWindowS, ordersPerWindow: config.rateLimitOrders, readsPerWindow: config.rateLimitReads,
  };
  const fixed = JSON.stringify({ chains: [chain], orderTypes: signedTypes, cancelAuth: config.cancelAuth, limits }).slice(1);
  return () => ({ body: `{"serverTime":${Math.floor(nowMs() / 1_000)},${fixed}` });
}
