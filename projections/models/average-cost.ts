/**
 * Average cost of a holding: what comes in adds its cost, what leaves takes cost along in proportion. Exact on bigint, rounded down to
 * 1e-6 of the collateral: what leaves takes floor(cost x left / held), so what is left over stays in the cost until the last share goes.
 */

/** Shares (negative: sold without having them) and what they cost; the cost of no shares or fewer is 0. Units of 1e-6. */
export interface Holding {
  readonly shares: bigint;
  readonly cost: bigint;
}

/** What changed hands, and what it cost. */
export interface Traded {
  readonly size: bigint;
  readonly cost: bigint;
}

/** The holding after shares came in at a cost. Come in from below zero, only the part above zero brings cost, in proportion. */
export function buy({ shares, cost }: Holding, bought: Traded): Holding {
  const after = shares + bought.size;
  if (after <= 0n) return { shares: after, cost: 0n };
  if (shares >= 0n) return { shares: after, cost: cost + bought.cost };
  return { shares: after, cost: bought.cost * after / bought.size };
}

/** The holding after shares left; what they brought in is not part of it. */
export function sell({ shares, cost }: Holding, size: bigint): Holding {
  const after = shares - size;
  return { shares: after, cost: after <= 0n ? 0n : cost - cost * size / shares };
}

/** Both holdings after shares went from one to the other with their part of the cost: together they cost what they did before. */
export function transfer(from: Holding, to: Holding, size: bigint): { from: Holding; to: Holding } {
  const left = sell(from, size);
  return { from: left, to: buy(to, { size, cost: from.cost - left.cost }) };
}

/** The cost of one side's shares of a split of `size`: half of it; of an odd size the YES side (0) costs the odd unit. */
export function splitCost(size: bigint, outcome: 0 | 1): bigint {
  return outcome === 0 ? size - size / 2n : size / 2n;
}

/** The holding once it turned out to be of `shares`: the missing ones take their cost along, those too many cost nothing. */
export function correct(held: Holding, shares: bigint): Holding {
  return shares < held.shares ? sell(held, held.shares - shares) : { shares, cost: held.cost };
}
