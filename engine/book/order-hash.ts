/** Order hashes between text (`0x` and 64 lower-case hex digits) and eight 32-bit words. */

export const HASH_WORDS = 8;
const HASH_TEXT = 2 + HASH_WORDS * 8;

/**
 * A digit's value by UTF-16 code; 255 for a code that is not a lower-case hex digit. Upper case is refused, because two spellings of one
 * hash would be two orders. All 2^16 codes have an entry, so reading needs no range check.
 */
const DIGIT = new Uint8Array(2 ** 16).fill(255);
for (const [value, digit] of Array.from('0123456789abcdef').entries()) DIGIT[digit.charCodeAt(0)] = value;

/** Writes the hash's words to `into`. Throws RangeError for anything but `0x` and 64 lower-case hex digits. */
export function readHash(text: string, into: Int32Array): void {
  if (text.length !== HASH_TEXT || text.charCodeAt(0) !== 48 || text.charCodeAt(1) !== 120) throw notHash(text);
  let seen = 0;
  // Unrolled by hand: a loop over the eight digits takes 50% longer, and every command reads a hash.
  for (let word = 0, at = 2; word < HASH_WORDS; word++, at += 8) {
    const a = DIGIT[text.charCodeAt(at)]!;
    const b = DIGIT[text.charCodeAt(at + 1)]!;
    const c = DIGIT[text.charCodeAt(at + 2)]!;
    const d = DIGIT[text.charCodeAt(at + 3)]!;
    const e = DIGIT[text.charCodeAt(at + 4)]!;
    const f = DIGIT[text.charCodeAt(at + 5)]!;
    const g = DIGIT[text.charCodeAt(at + 6)]!;
    const h = DIGIT[text.charCodeAt(at + 7)]!;
    seen |= a | b | c | d | e | f | g | h;
    into[word] = (a << 28) | (b << 24) | (c << 20) | (d << 16) | (e << 12) | (f << 8) | (g << 4) | h;
  }
  if (seen > 15) throw notHash(text);
}

/** The text of the hash whose words are in `words` from index `at` on. */
export function formatHash(words: Int32Array, at: number): string {
  let text = '0x';
  for (let i = 0; i < HASH_WORDS; i++) text += (words[at + i]! >>> 0).toString(16).padStart(8, '0');
  return text;
}

function notHash(text: string): RangeError {
  return new RangeError(`not 0x and 64 lower-case hex digits: ${text.slice(0, 80)}`);
}
