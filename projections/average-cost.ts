/**
 * Average cost of a holding: a buy adds its cost, a sell removes cost in proportion. Exact on bigint, rounded down to 1e-6 of the
 * collateral: a sell removes floor(cost x sold / held), so what is left over stays in the cost until the last share goes.
 */

/** Shares (negative: sold without having them) and what they cost; the cost of no shares or fewer is 0. Units of 1e-6. */
export interface Holding {
  readonly shares: bigint;
  readonly cost: bigint;
}

/** What changed hands, and what the buyer paid for it. */
export interface Traded {
  readonly size: bigint;
  readonly cost: bigint;
}

/** The holding after a buy. Bought from below zero, only the part above zero brings cost, in proportion. */
export function buy({ shares, cost }: Holding, bought: Traded): Holding {
  const after = shares + bought.size;
  if (after <= 0n) return { shares: after, cost: 0n };
  if (shares >= 0n) return { shares: after, cost: cost + bought.cost };
  return { shares: after, cost: bought.cost * after / bought.size };
}

/** The holding after a sell; what the sell brought in is not part of it. */
export function sell({ shares, cost }: Holding, { size }: Traded): Holding {
  const after = shares - size;
  return { shares: after, cost: after <= 0n ? 0n : cost - cost * size / shares };
}

/** The holding once a counted buy turned out to have failed: its shares and its own cost go, the cost never below 0. */
export function undoBuy({ shares, cost }: Holding, bought: Traded): Holding {
  const after = shares - bought.size;
  return { shares: after, cost: after <= 0n || cost <= bought.cost ? 0n : cost - bought.cost };
}

/**
 * The holding once a counted sell turned out to have failed: its shares come back at the average cost of those still held, or,
 * when none is, at the failed sell's own price. What the sell removed is not kept, so this is the
 * nearest that every replay agrees on.
 */
export function undoSell(held: Holding, sold: Traded): Holding {
  const { shares, cost } = held;
  if (shares <= 0n) return buy(held, sold);
  return { shares: shares + sold.size, cost: cost + cost * sold.size / shares };
}
