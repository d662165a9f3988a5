/** The formats that schemas may name: decimal integers as text. */
const UINT64_MAX = '18446744073709551615';
const INT64_MAX = '9223372036854775807';
const UINT256_MAX = (2n ** 256n - 1n).toString();

export const formats = {
  uint64: (text: string) => isDecimal(text, UINT64_MAX),
  uint256: (text: string) => isDecimal(text, UINT256_MAX),
  asset_price: (text: string) => text !== '0' && isDecimal(text, INT64_MAX),
};

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
