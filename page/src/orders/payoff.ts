/** What an order costs and pays, what an account lacks for it, and what shares are worth: exact, in units of 1e-6. */
import { Side } from '../../../client/src/vocabulary.js';

/** One share, and one unit of the stablecoin. */
const UNIT = 1_000_000n;

/** The price of so many shares, rounded up as the settlement contract does. */
export function costOf(price: bigint, size: bigint): bigint {
  return (price * size + UNIT - 1n) / UNIT;
}

export interface OrderPayoff {
  /** Of a buy: the most that it pays. Of a sell: the shares that it gives. */
  readonly gives: bigint;
  /** Of a buy: what its shares pay if the outcome wins. Of a sell: the least that it receives. */
  readonly gets: bigint;
}

/** What the whole order gives and gets at its own price; matches at better prices make it better. */
export function payoffOf({ side, price, size }: { side: Side; price: bigint; size: bigint }): OrderPayoff {
  return side === Side.Buy
    ? { gives: costOf(price, size), gets: size }
    : { gives: size, gets: price * size / UNIT };
}

/** The parts of a refusal `insufficient_…`. */
export interface Shortage {
  readonly required?: bigint | undefined;
  readonly available?: bigint | undefined;
  readonly reserved?: bigint | undefined;
}

/** How much is missing; 0 where the refusal does not say. */
export function missingOf({ required = 0n, available = 0n, reserved = 0n }: Shortage): bigint {
  const free = available > reserved ? available - reserved : 0n;
  return required > free ? required - free : 0n;
}

/** What shares would bring if they were sold at this price; undefined where nobody bids. */
export function valueOf(shares: bigint, bid: bigint | undefined): bigint | undefined {
  if (shares === 0n) return 0n;
  return bid === undefined || bid === 0n ? undefined : shares * bid / UNIT;
}

export interface SharesOfMarket {
  readonly yesShares: bigint;
  readonly noShares: bigint;
}

/** What a resolved market pays: `winner` is 0 for YES, 1 for NO, and undefined where both are paid one half. */
export function payoutOf({ yesShares, noShares }: SharesOfMarket, winner: 0 | 1 | undefined): bigint {
  if (winner === undefined) return yesShares / 2n + noShares / 2n;
  return winner === 0 ? yesShares : noShares;
}

/** Whole sets of YES and NO, which can be merged into stablecoin. */
export function setsOf({ yesShares, noShares }: SharesOfMarket): bigint {
  return yesShares < noShares ? yesShares : noShares;
}
