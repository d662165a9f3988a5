/** Unsigned integers of a request, given as JSON integers or as decimal strings. */

export const UINT64_MAX = 2n ** 64n - 1n;
export const UINT256_MAX = 2n ** 256n - 1n;

const DECIMAL = /^(?:0|[1-9]\d{0,77})$/;

/**
 * The integer in decimal digits, as in records; undefined for anything except a JSON integer or a decimal string (digits only, no leading
 * zero) from 0 to `max`.
 */
export function uintText(value: unknown, max: bigint): string | undefined {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) && value >= 0 && (max >= SAFE_MAX || BigInt(value) <= max) ? String(value) : undefined;
  }
  if (typeof value === 'bigint') return value >= 0n && value <= max ? String(value) : undefined;
  if (typeof value !== 'string' || !DECIMAL.test(value)) return undefined;
  const fits = value.length <= 15 && max >= SAFE_MAX;
  return fits || BigInt(value) <= max ? value : undefined;
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);
