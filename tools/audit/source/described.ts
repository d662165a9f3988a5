/** What `GET /api/v1/config` says that an audit needs: chains, contracts and signing domains. */
import type { Chain, Contracts } from '../../../command/chain/chain.js';
import type { OrderDomain } from '../../../command/signing/typed-data.js';
import { isAddress } from '../../../engine/records/hex.js';
import { CannotAudit } from '../difference.js';

export interface DescribedExchange {
  /** Whether cancels need a signature. */
  readonly cancelAuth: 'required' | 'open';
  /** The domain of orders and cancels of each chain. */
  readonly domains: readonly OrderDomain[];
  /** Chains on which fills settle. */
  readonly chains: readonly Chain[];
  /** The answer itself, which an export keeps. */
  readonly answer: unknown;
}

type Json = Readonly<Record<string, unknown>>;

const CONTRACTS = [
  'settlement', 'conditionalTokens', 'collateral', 'marketFactory', 'oracle', 'oracleResolver', 'quickResolver', 'multicall',
] as const satisfies readonly (keyof Contracts)[];

/** Reads the answer's fields. Throws CannotAudit when they are not there. */
export function readDescription(answer: unknown, name: string): DescribedExchange {
  const { chains, cancelAuth } = (answer ?? {}) as Json;
  if (!Array.isArray(chains) || (cancelAuth !== 'required' && cancelAuth !== 'open')) {
    throw new CannotAudit(`${name}: this is not an answer of GET /api/v1/config`);
  }
  const each = (chains as Json[]).map((chain) => ({ chain, domain: domainIn(chain, name) }));
  return {
    cancelAuth, answer, domains: each.flatMap(({ domain }) => domain ?? []),
    chains: each.flatMap(({ chain, domain }) => domain === undefined ? [] : chainIn(chain, domain) ?? []),
  };
}

function domainIn({ orderDomain }: Json, name: string): OrderDomain | undefined {
  if (orderDomain === null || orderDomain === undefined) return undefined;
  const { name: domainName, version, chainId, verifyingContract } = orderDomain as Json;
  if (typeof domainName !== 'string' || version !== '1' || !isCount(chainId) || !isAddress(verifyingContract)) {
    throw new CannotAudit(`${name}: the signing domain of a chain cannot be used: ${JSON.stringify(orderDomain)}`);
  }
  return { name: domainName, version, chainId, verifyingContract: verifyingContract.toLowerCase() };
}

/**
 * Undefined for the chain of a service without chains, which has no contracts. Not `passOverAnchors`: which anchors count is not for the audited
 * party to say.
 */
function chainIn({ name, testnet, confirmations, startBlock, contracts }: Json, domain: OrderDomain): Chain | undefined {
  const addresses = (contracts ?? {}) as Json;
  if (!CONTRACTS.every((contract) => isAddress(addresses[contract]))) return undefined;
  return {
    chainId: domain.chainId, name: String(name), testnet: testnet === true, confirmations: isCount(confirmations) ? confirmations : 0,
    startBlock: isCount(startBlock) ? startBlock : 0, domainName: domain.name, exposureCheck: false,
    contracts: Object.fromEntries(CONTRACTS.map((contract) => [contract, String(addresses[contract]).toLowerCase()])) as unknown as Contracts,
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
