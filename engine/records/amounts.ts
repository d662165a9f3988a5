/** Money and shares: bigint in units of 1e-6. */

/** One share, and one unit of collateral. */
export const UNIT = 1_000_000n;

/**
 * The price of a fill of `size` (1e-6 shares) at `price` (ticks of 1e-6), in units of 1e-6 of the collateral. Rounded
 * up, as in the settlement contract, so that a fill is never free.
 */
export function costOf(size: bigint, price: number): bigint {
  return (size * BigInt(price) + UNIT - 1n) / UNIT;
}
