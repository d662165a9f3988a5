/**
 * Integers beyond 2^53, exact: as decimal text, which is what records have; as bigint; and of 64 bits as two unsigned
 * 32-bit halves (hi, lo).
 */
export const UINT64_MAX = 2n ** 64n - 1n;
export const UINT256_MAX = 2n ** 256n - 1n;

const UINT64_MAX_TEXT = String(UINT64_MAX);
const UINT256_MAX_TEXT = String(UINT256_MAX);
const INT64_MAX_TEXT = String(2n ** 63n - 1n);

/** The formats that schemas may name. */
export const formats = {
  uint64: (text: string) => isDecimal(text, UINT64_MAX_TEXT),
  uint256: (text: string) => isDecimal(text, UINT256_MAX_TEXT),
  asset_price: (text: string) => text !== '0' && isDecimal(text, INT64_MAX_TEXT),
};

/** The same for validators that do not know these formats; a few greater integers match, too. */
export const patterns = { uint64: '^(0|[1-9][0-9]{0,19})$', uint256: '^(0|[1-9][0-9]{0,77})$' } as const;

/**
 * Whether the text is decimal digits without a leading zero, and at most `max`. Texts of equal length compare like
 * numbers.
 */
function isDecimal(text: string, max: string): boolean {
  if (text.length === 0 || text.length > max.length) return false;
  if (text.charCodeAt(0) === 48) return text.length === 1;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return false;
  }
  return text.length < max.length || text <= max;
}

const WORD = 2 ** 32;

/**
 * Six decimal digits: 10^6 is the largest power of ten whose product with a 32-bit word stays below 2^53, where numbers
 * are exact.
 */
const DIGITS = 6;
const BASE = 10 ** DIGITS;

/** The value of decimal text without a leading zero. Throws RangeError for other text, and beyond 2^64-1. */
export function parseUint64(text: string): bigint {
  if (!isDecimal(text, UINT64_MAX_TEXT)) throw notUint64(text);
  return BigInt(text);
}

/**
 * Writes the halves of such a text to `into` as [hi, lo], without an allocation. Throws RangeError like parseUint64.
 */
export function readUint64(text: string, into: Uint32Array): void {
  if (!isDecimal(text, UINT64_MAX_TEXT)) throw notUint64(text);
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

function notUint64(text: string): RangeError {
  return new RangeError(`not an integer of 0 to 2^64-1 in decimal digits: ${text.slice(0, 40)}`);
}
