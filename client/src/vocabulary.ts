/** The words in which the exchange is spoken to. */

/** An address, a hash, an id or a signature. */
export type Hex = `0x${string}`;

export const Side = { Buy: 0, Sell: 1 } as const;
export type Side = (typeof Side)[keyof typeof Side];

/** One of a market's two outcomes; each has a book of its own. */
export const Outcome = { Yes: 0, No: 1 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

/**
 * A price, a size or money. A bigint counts units of 1e-6, as every answer does; a string is the decimal number, such
 * as `'0.62'`. Numbers are refused: 0.1 + 0.2 is no price.
 */
export type Amount = bigint | string;
