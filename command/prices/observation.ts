/**
 * A price that a source has published, and how the providers' numbers become integers of 1e-8 USD, by string arithmetic
 * only.
 */

export const SOURCE_NAMES = ['pyth', 'coinbase', 'binance', 'simulated'] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

export interface Observation {
  /** For example BTC. */
  readonly asset: string;
  readonly source: SourceName;
  /** In units of 1e-8 USD, from 1 to 2^63-1. */
  readonly priceE8: bigint;
  /** How far the true price may be off, in units of 1e-8 USD. Only Pyth tells it. */
  readonly confidenceE8?: bigint;
  /** The provider's time of the price, in whole milliseconds since the Unix epoch. */
  readonly publishedAtMs: number;
}

/** A message of a provider that cannot be used. Others of the same connection may be good. */
export class BadMessage extends Error {
  override readonly name = 'BadMessage';
}

/** Throws an error for names that cannot be the sources of one exchange. */
export function checkNames(names: readonly SourceName[]): void {
  if (new Set(names).size < names.length) throw new Error(`the price sources ${names.join(', ')} name one twice: name each once, the best first`);
  if (names.includes('simulated') && names.length > 1) {
    throw new Error(`simulated prices cannot be mixed with real ones: of ${names.join(', ')}, leave out simulated, or all others`);
  }
}

const DECIMALS = 8;
const MAX_E8 = 2n ** 63n - 1n;
const LONGEST = 40;
const DECIMAL = /^(\d{1,20})(?:\.(\d{1,20}))?$/;
const MANTISSA = /^\d{1,20}$/;
const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
/** The last time that a Date can have. */
const LAST_MS = 8.64e15;

/**
 * A decimal string as an integer of 1e-8. Further digits are cut off.
 * Throws BadMessage.
 */
export function decimalE8(text: unknown): bigint {
  const [, whole = '', fraction = ''] = typeof text === 'string' ? DECIMAL.exec(text) ?? [] : [];
  if (whole === '') throw new BadMessage(`not a decimal string: ${shown(text)}`);
  return scaled(whole + fraction, -fraction.length);
}

/**
 * mantissa · 10^exponent, as Pyth writes prices, as an integer of 1e-8. Further digits are cut off. Throws BadMessage.
 */
export function mantissaE8(mantissa: unknown, exponent: unknown): bigint {
  if (typeof mantissa !== 'string' || !MANTISSA.test(mantissa)) throw new BadMessage(`not the digits of a price: ${shown(mantissa)}`);
  if (typeof exponent !== 'number' || !Number.isInteger(exponent) || Math.abs(exponent) > LONGEST) {
    throw new BadMessage(`not the exponent of a price: ${shown(exponent)}`);
  }
  return scaled(mantissa, exponent);
}

/** The price, if it is not zero. Throws BadMessage. */
export function positive(valueE8: bigint): bigint {
  if (valueE8 === 0n) throw new BadMessage('a price of zero');
  return valueE8;
}

/** A provider's time in whole milliseconds since the Unix epoch. Throws BadMessage. */
export function timeMs(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0 || value > LAST_MS) throw new BadMessage(`not a time: ${shown(value)}`);
  return value;
}

/** An ISO 8601 time in UTC, in whole milliseconds since the Unix epoch. Throws BadMessage. */
export function isoTimeMs(text: unknown): number {
  if (typeof text !== 'string' || !ISO_UTC.test(text)) throw new BadMessage(`not a time: ${shown(text)}`);
  return timeMs(Date.parse(text));
}

/** The JSON object in a text. Throws BadMessage. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadMessage(`not JSON: ${shown(text)}`);
  }
  return objectOf(value);
}

/** The value, if it is an object. Throws BadMessage. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadMessage(`not an object: ${shown(value)}`);
  return value as Readonly<Record<string, unknown>>;
}

/** The value, if it is a list. Throws BadMessage. */
export function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new BadMessage(`not a list: ${shown(value)}`);
  return value as readonly unknown[];
}

/** What a provider has sent, for a line of text: its beginning, and printable characters only. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? String(value);
  return text.slice(0, 120).replaceAll(/[^\x20-\x7e]/g, '?');
}

function scaled(digits: string, exponent: number): bigint {
  const shift = exponent + DECIMALS;
  const value = BigInt(shift >= 0 ? digits + '0'.repeat(shift) : digits.slice(0, shift) || '0');
  if (value > MAX_E8) throw new BadMessage(`a number that is too large: ${shown(digits)} · 10^${exponent}`);
  return value;
}

/** A symbol, for example BTC. */
const ASSET = /^[A-Z][A-Z\d]{1,9}$/;

/** Whether a text can be the symbol of an asset. */
export function isAsset(text: string): boolean {
  return ASSET.test(text);
}
