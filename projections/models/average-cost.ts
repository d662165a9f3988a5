/**
 * The average cost of a holding. Incoming shares add their cost; leaving shares take floor(cost x leaving / held) of the cost, in units of
 * 1e-6 of the collateral. The fraction that the rounding leaves stays in the cost until the last share leaves.
 */

/** Shares and their cost, in units of 1e-6. Shares are negative after a sale of shares that the user did not have; then the cost is 0. */
export interface Holding {
  readonly shares: bigint;
  readonly cost: bigint;
}

/** A number of shares and their cost, in units of 1e-6. */
export interface Traded {
  readonly size: bigint;
  readonly cost: bigint;
}

/** The holding after shares came in at a cost. If it was negative, only the part of the shares above zero adds cost, in proportion. */
export function buy({ shares, cost }: Holding, bought: Traded): Holding {
  const after = shares + bought.size;
  if (after <= 0n) return { shares: after, cost: 0n };
  if (shares >= 0n) return { shares: after, cost: cost + bought.cost };
  return { shares: after, cost: bought.cost * after / bought.size };
}

/** The holding after shares left. The price that they were sold at does not matter. */
export function sell({ shares, cost }: Holding, size: bigint): Holding {
  const after = shares - size;
  return { shares: after, cost: after <= 0n ? 0n : cost - cost * size / shares };
}

/** Both holdings after shares moved from one to the other with their part of the cost. Non-negative holdings keep their cost in total. */
export function transfer(from: Holding, to: Holding, size: bigint): { from: Holding; to: Holding } {
  const left = sell(from, size);
  return { from: left, to: buy(to, { size, cost: from.cost - left.cost }) };
}

/** The cost of one outcome's shares after a split of `size`: half of `size`. If `size` is odd, YES (0) costs one unit more. */
export function splitCost(size: bigint, outcome: 0 | 1): bigint {
  return outcome === 0 ? size - size / 2n : size / 2n;
}

/** The holding corrected to `shares`: missing shares take their part of the cost, additional shares cost nothing. */
export function correct(held: Holding, shares: bigint): Holding {
  return shares < held.shares ? sell(held, held.shares - shares) : { shares, cost: held.cost };
}
