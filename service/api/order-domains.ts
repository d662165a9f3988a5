/** The EIP-712 signing domains of orders and cancels, by chain. */
import type { Chain } from '../../command/chain/chain.js';
import type { OrderDomain } from '../../command/signing/typed-data.js';
import type { Config } from '../config.js';

export function orderDomain({ domainName, chainId, contracts }: Pick<Chain, 'domainName' | 'chainId' | 'contracts'>): OrderDomain {
  return { name: domainName, version: '1', chainId, verifyingContract: contracts.settlement };
}

/** The signing domain of each chain; with CHAINS=none, the domain that the settings describe. */
export function orderDomains(
  { settlementDomainName: name, chainId, settlementAddress: verifyingContract }: Pick<Config, 'settlementDomainName' | 'chainId' | 'settlementAddress'>,
  chains: readonly { readonly chain: Chain }[],
): readonly OrderDomain[] {
  return chains.length > 0 ? chains.map(({ chain }) => orderDomain(chain)) : [{ name, version: '1', chainId, verifyingContract }];
}
