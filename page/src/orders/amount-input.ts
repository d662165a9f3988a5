/** What a trader types as a price or a size, as exact units of 1e-6; and why it is none. */
import { decimalOf } from '../../../client/src/arguments.js';

/** `empty`: nothing was typed, which is no fault yet. */
export type AmountInput
  = { readonly kind: 'empty' } | { readonly kind: 'fault'; readonly fault: string }
    | { readonly kind: 'amount'; readonly units: bigint };

export interface AmountBounds {
  readonly min: bigint;
  readonly max: bigint;
}

const DECIMALS = 6;
const NUMBER = /^(\d{0,20})(?:\.(\d*))?$/;

/**
 * Reads a decimal number such as `0.62` or `.62`. A comma is refused: to some it separates decimals, to others
 * thousands.
 */
export function amountIn(text: string, { min, max }: AmountBounds): AmountInput {
  const typed = text.trim();
  if (typed === '') return { kind: 'empty' };
  if (typed.includes(',')) return fault('Write decimals with a point, and thousands without a comma.');
  const [, whole, fraction = ''] = NUMBER.exec(typed) ?? [];
  if (whole === undefined || whole + fraction === '') return fault('This is not a number.');
  if (fraction.length > DECIMALS) return fault(`At most ${DECIMALS} decimals.`);
  const units = BigInt(whole + fraction.padEnd(DECIMALS, '0'));
  if (units < min) return fault(`At least ${decimalOf(min)}.`);
  if (units > max) return fault(`At most ${decimalOf(max)}.`);
  return { kind: 'amount', units };
}

function fault(text: string): AmountInput {
  return { kind: 'fault', fault: text };
}

/** What the chain takes for a size or an amount: 64 bits. */
export const MAX_AMOUNT = 2n ** 64n - 1n;
