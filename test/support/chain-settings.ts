/** The settings of a chain in tests, and contracts that are on none. */
import type { Chain, Contracts } from '../../command/chain/chain.js';
import type { DeployedContracts } from '../../stack/chain/deploy-contracts.js';

/** Eight addresses, each of which can be told from the others; those of another hex digit are others. */
export function madeUpContracts(digit: string): Contracts {
  const at = (i: number) => `0x${`${digit}${i}`.repeat(20)}`;
  return {
    settlement: at(0), conditionalTokens: at(1), collateral: at(2), marketFactory: at(3), oracle: at(4), oracleResolver: at(5), quickResolver: at(6),
    multicall: at(7),
  };
}

/** The settings of a chain with these contracts. */
export function chainOf({ deploymentBlock, ...addresses }: DeployedContracts, changes: Partial<Chain> & Pick<Chain, 'chainId'>): Chain {
  const contracts = Object.fromEntries(Object.entries(addresses).map(([name, address]) => [name, address.toLowerCase()])) as typeof addresses;
  return {
    name: 'Test chain', testnet: true, confirmations: 0, startBlock: deploymentBlock, contracts, domainName: 'Prediction Exchange Settlement',
    exposureCheck: false, ...changes,
  };
}
