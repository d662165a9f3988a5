/** Addresses of contracts that are on no chain. */
import type { Contracts } from '../../command/chain/chain.js';

/** Eight addresses, each of which can be told from the others; those of another hex digit are others. */
export function madeUpContracts(digit: string): Contracts {
  const at = (i: number) => `0x${`${digit}${i}`.repeat(20)}`;
  return {
    settlement: at(0), conditionalTokens: at(1), collateral: at(2), marketFactory: at(3), oracle: at(4), oracleResolver: at(5), quickResolver: at(6),
    multicall: at(7),
  };
}
