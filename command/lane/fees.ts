/** The fees of a transaction (EIP-1559), and the higher fees of its replacement. */

/** In wei per unit of gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface FeeLimits {
  /** The most that a transaction may offer. */
  readonly maxFeePerGas: bigint;
  /** The least priority fee, even when nodes suggest less. */
  readonly minPriorityFeePerGas: bigint;
}

/** The chain's present fees. */
export interface FeeMarket {
  readonly baseFeePerGas: bigint;
  /** The node's suggestion. */
  readonly priorityFeePerGas: bigint;
}

/** Fees of a new transaction. They pay the base fee for five full blocks in a row: each raises it by an eighth. */
export function freshFees({ baseFeePerGas, priorityFeePerGas }: FeeMarket, limits: FeeLimits): Fees {
  const priority = larger(priorityFeePerGas, limits.minPriorityFeePerGas);
  const maxFeePerGas = smaller(2n * baseFeePerGas + priority, limits.maxFeePerGas);
  return { maxFeePerGas, maxPriorityFeePerGas: smaller(priority, maxFeePerGas) };
}

/**
 * Fees of a replacement: both raised by at least an eighth, which every node accepts (most require a tenth), and at
 * least as high as those of a new transaction. When a node has asked for more (`isUnderpriced`), the priority fee is
 * doubled: where a few wei were offered, the fee limit would be reached by eighths long before the tip is one that the
 * node takes. Undefined when the limit does not allow that.
 */
export function replacementFees(
  previous: Fees, market: FeeMarket, limits: FeeLimits, isUnderpriced = false,
): Fees | undefined {
  const priority = raised(previous.maxPriorityFeePerGas);
  const least = {
    maxFeePerGas: raised(previous.maxFeePerGas),
    maxPriorityFeePerGas: isUnderpriced
      ? larger(priority, smaller(2n * previous.maxPriorityFeePerGas, limits.maxFeePerGas))
      : priority,
  };
  if (least.maxFeePerGas > limits.maxFeePerGas || least.maxPriorityFeePerGas > limits.maxFeePerGas) return undefined;
  const fresh = freshFees(market, limits);
  const maxFeePerGas = larger(larger(least.maxFeePerGas, fresh.maxFeePerGas), least.maxPriorityFeePerGas);
  return { maxFeePerGas, maxPriorityFeePerGas: larger(least.maxPriorityFeePerGas, fresh.maxPriorityFeePerGas) };
}

/** The fee plus an eighth, rounded up, and plus at least one wei. */
function raised(fee: bigint): bigint {
  return larger((fee * 9n + 7n) / 8n, fee + 1n);
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
