/** Exact unsigned 64-bit integers: as two unsigned 32-bit halves (hi, lo), as bigint, or as decimal text. */

const WORD = 2 ** 32;
const MAX = 2n ** 64n - 1n;

/**
 * Six decimal digits: 10^6 is the largest power of ten whose product with a 32-bit word stays below 2^53, where numbers
 * are exact.
 */
const DIGITS = 6;
const BASE = 10 ** DIGITS;

/**
 * The value of canonical decimal text (no sign, no leading zero). Throws RangeError for other text, and beyond 2^64-1.
 */
export function parseUint64(text: string): bigint {
  if (!isCanonical(text)) throw notUint64(text);
  const value = BigInt(text);
  if (value > MAX) throw notUint64(text);
  return value;
}

/**
 * Writes the halves of canonical decimal text to `into` as [hi, lo], without an allocation. Throws RangeError like
 * parseUint64.
 */
export function readUint64(text: string, into: Uint32Array): void {
  if (!isCanonical(text)) throw notUint64(text);
  if (text.length <= 15) {
    const value = Number(text);
    into[0] = value / WORD;
    into[1] = value;
    return;
  }
  let hi = 0;
  let lo = 0;
  let at = 0;
  for (let end = text.length % DIGITS || DIGITS; at < text.length; end += DIGITS) {
    let part = 0;
    for (; at < end; at++) part = part * 10 + text.charCodeAt(at) - 48;
    lo = lo * BASE + part;
    const carry = Math.floor(lo / WORD);
    lo -= carry * WORD;
    hi = hi * BASE + carry;
  }
  if (hi >= WORD) throw notUint64(text);
  into[0] = hi;
  into[1] = lo;
}

/** The decimal text of a value that is given as halves. */
export function formatUint64(hi: number, lo: number): string {
  if (hi < 0x20_0000) return String(hi * WORD + lo);
  const upper = Math.floor(hi / BASE);
  const below = (hi - upper * BASE) * WORD + lo;
  const middle = Math.floor(below / BASE);
  return String(upper * WORD + middle) + String(below - middle * BASE).padStart(DIGITS, '0');
}

/** The bigint of a value that is given as halves. */
export function uint64(hi: number, lo: number): bigint {
  return (BigInt(hi) << 32n) | BigInt(lo);
}

/** The upper 32 bits. */
export function highWord(value: bigint): number {
  return Number(value >> 32n);
}

/** The lower 32 bits. */
export function lowWord(value: bigint): number {
  return Number(value & 0xffff_ffffn);
}

function isCanonical(text: string): boolean {
  if (text.length === 0 || text.length > 20 || (text.length > 1 && text.charCodeAt(0) === 48)) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 48 || code > 57) return false;
  }
  return true;
}

function notUint64(text: string): RangeError {
  return new RangeError(`not an integer of 0 to 2^64-1 in decimal digits: ${text.slice(0, 40)}`);
}
