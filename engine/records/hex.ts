/**
 * Hex text: the forms of an address, of 32 bytes and of a signature, and bytes as hex. Only this module defines them.
 */

/** The text form of a fixed number of bytes: `0x`, then two hex digits per byte. Regular expressions as text. */
export interface HexForm {
  /** Lower case, as in records and answers; without anchors, for use within a longer pattern. */
  readonly text: string;
  /** A whole text in lower case. */
  readonly recorded: string;
  /** A whole text with digits of any case, as in requests. */
  readonly given: string;
  /** The form in words, for error texts. */
  readonly meaning: string;
}

const form = (digits: number): HexForm => ({
  text: `0x[0-9a-f]{${digits}}`, recorded: `^0x[0-9a-f]{${digits}}$`, given: `^0x[0-9a-fA-F]{${digits}}$`, meaning: `0x and ${digits} hex digits`,
});

/** 20 bytes. */
export const ADDRESS = form(40);
/** Market ids, order hashes, transaction hashes, digests. */
export const BYTES32 = form(64);
/** 65 bytes: r, s, v. */
export const SIGNATURE = form(130);

const givenAddress = new RegExp(ADDRESS.given);
const givenBytes32 = new RegExp(BYTES32.given);
const HEX_BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;

/** Whether a value is an address with digits of any case. */
export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && givenAddress.test(value);
}

/** Whether a value is 32 bytes with digits of any case. */
export function isBytes32(value: unknown): value is string {
  return typeof value === 'string' && givenBytes32.test(value);
}

/** Whether a value is `0x` and any number of whole bytes, with digits of any case. */
export function isHexBytes(value: unknown): value is string {
  return typeof value === 'string' && HEX_BYTES.test(value);
}

/** The character codes of each byte's two digits. */
const DIGITS = Uint8Array.from({ length: 512 }, (_, i) => (i >> (i % 2 === 0 ? 5 : 1) & 15).toString(16).charCodeAt(0));

/** Room for the text of a signature. */
const room = Uint8Array.from('0x'.padEnd(132, '0'), (character) => character.charCodeAt(0));

const ascii = new TextDecoder();

/**
 * Bytes as lower-case hex with `0x`. A text that is put together digit by digit would be a tree of pieces, of 30 bytes per
 * byte; and a browser takes 2.8 µs to begin with a decoder, so short texts are made without one.
 */
export function toHex(bytes: Uint8Array): string {
  const length = 2 + 2 * bytes.length;
  const isShort = length <= room.length;
  const text = isShort ? room.subarray(0, length) : new Uint8Array(length);
  text.set(room.subarray(0, 2));
  for (let i = 0, at = 2; at < length; i++) {
    const digits = (bytes[i] ?? 0) * 2;
    text[at++] = DIGITS[digits] ?? 0;
    text[at++] = DIGITS[digits + 1] ?? 0;
  }
  return isShort ? String.fromCharCode.apply(undefined, text as unknown as number[]) : ascii.decode(text);
}

const QUANTITY = /^0x[0-9a-f]{1,14}$/i;

/** The integer in a quantity of the Ethereum JSON-RPC specification, 0 to 2^53-1; undefined for anything else. */
export function quantityOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && QUANTITY.test(value) ? Number(value) : NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}
