/** Fills as the engine tells the settlement worker of them, for tests without an engine. */
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { address, bytes32 } from './scenario.js';

/** Fill n, of the orders 2n and 2n + 1. */
export function unsettledFill(number: number): UnsettledFill {
  return {
    fill: number, marketId: bytes32('market'), chainId: 1, outcome: 0, price: 500_000, size: 10n, cost: 5n, buyNumber: 2 * number,
    sellNumber: 2 * number + 1, buyer: address('b'), seller: address('s'),
  };
}
