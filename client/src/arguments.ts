/** What callers give, checked before anything is sent: amounts that are exact, and hex of the right length. */
import { BadArgument } from './errors.js';
import type { Amount, Hex } from './vocabulary.js';

const DECIMALS = 6;
const DECIMAL = /^(\d{1,30})(?:\.(\d{1,6}))?$/;

/** The amount in units of 1e-6. Throws BadArgument, which names the argument. */
export function unitsOf(argument: string, amount: Amount): bigint {
  if (typeof amount === 'bigint' && amount >= 0n) return amount;
  const [, whole, fraction = ''] = typeof amount === 'string' ? DECIMAL.exec(amount) ?? [] : [];
  if (whole !== undefined) return BigInt(whole + fraction.padEnd(DECIMALS, '0'));
  const why = typeof amount === 'number' ? 'numbers are refused, since they are rounded' : `not ${shown(amount)}`;
  throw new BadArgument(argument, 'is a bigint in units of 1e-6, or a decimal string with at most '
    + `${DECIMALS} decimals such as '0.62': ${why}`);
}

const shown = (value: unknown): string => JSON.stringify(String(value));

/** The same within bounds. */
export function unitsWithin(
  argument: string, amount: Amount, { min, max }: { readonly min: bigint; readonly max: bigint },
): bigint {
  const units = unitsOf(argument, amount);
  if (units >= min && units <= max) return units;
  throw new BadArgument(argument, `is ${decimalOf(min)} to ${decimalOf(max)}, not ${decimalOf(units)}`);
}

/** Units of 1e-6 as a decimal string: `620_000n` is `'0.62'`. */
export function decimalOf(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The hex in lower case. Throws BadArgument unless it has `bytes` bytes. */
export function hexOf(argument: string, value: string, bytes: number): Hex {
  const isRight = typeof value === 'string' && value.length === 2 + 2 * bytes && /^0x[0-9a-fA-F]+$/.test(value);
  if (isRight) return value.toLowerCase() as Hex;
  throw new BadArgument(argument, `is 0x and ${2 * bytes} hex digits, not ${JSON.stringify(value)}`);
}

/** One of a few values, such as a side. Throws BadArgument. */
export function oneOf<V extends number>(argument: string, value: V, values: Readonly<Record<string, V>>): V {
  if (Object.values(values).includes(value)) return value;
  const choices = Object.entries(values).map(([name, each]) => `${each} (${name})`);
  throw new BadArgument(argument, `is ${choices.join(' or ')}, not ${String(value)}`);
}

/** A whole number of at least `min`. Throws BadArgument. */
export function wholeNumber(argument: string, value: number, min = 0): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new BadArgument(argument, `is a whole number of at least ${min}, not ${String(value)}`);
}
