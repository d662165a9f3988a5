/** Order hashes between text (`0x` and 64 lower-case hex digits) and eight 32-bit words. */

export const HASH_WORDS = 8;
const HASH_TEXT = 2 + HASH_WORDS * 8;

/** Digit's value by character code; 255 for what is no lower-case hex digit. Two spellings of one hash would be two orders. */
const DIGIT = new Uint8Array(128).fill(255);
const HEX = '0123456789abcdef';
for (let i = 0; i < 16; i++) DIGIT[HEX.charCodeAt(i)] = i;

/** Writes the hash's words to `into`. Throws RangeError for anything but `0x` and 64 lower-case hex digits. */
export function readHash(text: string, into: Int32Array): void {
  if (text.length !== HASH_TEXT || !text.startsWith('0x')) throw notHash(text);
  let at = 2;
  for (let word = 0; word < HASH_WORDS; word++) {
    let value = 0;
    for (const end = at + 8; at < end; at++) {
      const code = text.charCodeAt(at);
      const digit = code < 128 ? DIGIT[code]! : 255;
      if (digit > 15) throw notHash(text);
      value = (value << 4) | digit;
    }
    into[word] = value;
  }
}

/** The text of the hash whose words stand in `words` from `at` on. */
export function formatHash(words: Int32Array, at: number): string {
  let text = '0x';
  for (let i = 0; i < HASH_WORDS; i++) text += (words[at + i]! >>> 0).toString(16).padStart(8, '0');
  return text;
}

function notHash(text: string): RangeError {
  return new RangeError(`not 0x and 64 lower-case hex digits: ${text.slice(0, 80)}`);
}
