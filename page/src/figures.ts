/** Amounts in words and figures: exact, from bigints of 1e-6, never through floats. */
import type { Hex } from '../../client/src/vocabulary.js';
import { decimalOf } from '../../client/src/arguments.js';

/** What stands where there is no figure. */
export const NONE = '–';

/** A decimal text with its thousands apart and at least so many decimals. */
function grouped(decimal: string, minDecimals: number): string {
  const [whole = '', fraction = ''] = decimal.split('.');
  const digits = whole.replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',');
  const decimals = fraction.padEnd(minDecimals, '0');
  return decimals === '' ? digits : `${digits}.${decimals}`;
}

/** A price of a share: `0.62`. A price of 0 is none. */
export function shownPrice(units: bigint | undefined): string {
  return units === undefined || units === 0n ? NONE : grouped(decimalOf(units), 2);
}

/** Shares, as exact as they are: `1,200.5`. */
export function shownShares(units: bigint): string {
  return grouped(decimalOf(units), 0);
}

/** Stablecoin, as exact as it is, with two decimals at least: `1,200.50`. */
export function shownMoney(units: bigint): string {
  return grouped(decimalOf(units), 2);
}

/** A change of a price, with its sign. */
export function shownChange(units: bigint): string {
  return units > 0n ? `+${shownMoney(units)}` : shownMoney(units).replace('-', '−');
}

/** The price of an asset in dollars, from units of 1e-8, exactly: `64,250.12004`. */
export function exactAssetPrice(units: bigint): string {
  const digits = units.toString().padStart(9, '0');
  return grouped(`${digits.slice(0, -8)}.${digits.slice(-8).replace(/0+$/, '')}`, 2);
}

/** The same cut off after two decimals, or after as many as make six figures: `64,250.12`, `0.153201`. */
export function shownAssetPrice(units: bigint | null | undefined): string {
  if (units === null || units === undefined || units === 0n) return NONE;
  const exact = exactAssetPrice(units);
  const [whole = '', fraction = ''] = exact.split('.');
  const decimals = Math.max(2, 6 - whole.replace(/^0$/, '').replaceAll(',', '').length);
  return `${whole}.${fraction.slice(0, decimals)}`;
}

/** What a price is as a part of 1, for charts alone. */
export const chartPrice = (units: bigint): number => Number(units) / 1e6;

/** The beginning and the end of an address, a hash or an id. */
export function shortened(hex: Hex | string): string {
  return hex.length <= 14 ? hex : `${hex.slice(0, 8)}…${hex.slice(-4)}`;
}

/** The whole text of an error: a refusal is in the API's own words, with its faulty fields. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const fields = (error as { fields?: readonly { field: string; message: string }[] }).fields ?? [];
  return [error.message, ...fields.map(({ field, message }) => `${field} ${message}`)].join('; ');
}
