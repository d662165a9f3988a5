/** What a transaction offers for its gas (EIP-1559), and by how much a replacement must offer more. */

/** Wei for a unit of gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface FeeLimits {
  /** No transaction ever offers more. */
  readonly maxFeePerGas: bigint;
  /** No less priority fee, though nodes suggest it. */
  readonly minPriorityFeePerGas: bigint;
}

/** What the chain asks at present. */
export interface FeeMarket {
  readonly baseFeePerGas: bigint;
  /** The node's suggestion. */
  readonly priorityFeePerGas: bigint;
}

/** Fees that six full blocks in a row do not outgrow: each raises the base fee by an eighth at most. */
export function freshFees({ baseFeePerGas, priorityFeePerGas }: FeeMarket, limits: FeeLimits): Fees {
  const priority = larger(priorityFeePerGas, limits.minPriorityFeePerGas);
  const maxFeePerGas = smaller(2n * baseFeePerGas + priority, limits.maxFeePerGas);
  return { maxFeePerGas, maxPriorityFeePerGas: smaller(priority, maxFeePerGas) };
}

/**
 * Fees of a replacement: both raised by an eighth at least, which every node accepts (most ask a tenth), and as high as fresh
 * ones. Undefined when the limit does not allow that.
 */
export function replacementFees(previous: Fees, market: FeeMarket, limits: FeeLimits): Fees | undefined {
  const least = { maxFeePerGas: raised(previous.maxFeePerGas), maxPriorityFeePerGas: raised(previous.maxPriorityFeePerGas) };
  if (least.maxFeePerGas > limits.maxFeePerGas || least.maxPriorityFeePerGas > limits.maxFeePerGas) return undefined;
  const fresh = freshFees(market, limits);
  const maxFeePerGas = larger(larger(least.maxFeePerGas, fresh.maxFeePerGas), least.maxPriorityFeePerGas);
  return { maxFeePerGas, maxPriorityFeePerGas: larger(least.maxPriorityFeePerGas, fresh.maxPriorityFeePerGas) };
}

/** By an eighth, rounded up, and by one at least. */
function raised(fee: bigint): bigint {
  return larger((fee * 9n + 7n) / 8n, fee + 1n);
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
