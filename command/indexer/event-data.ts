/**
 * Decodes event data strictly: only the ABI types that the contracts' events use, more than ten times as fast as a
 * general decoder.
 */

/** A value does not have the form of its type, or lies beyond the end of the data. */
export class MalformedData extends Error {}

const WORD = 64;
const text = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Decodes a tuple of `address`, `bytes32`, `bool`, `uint8` to `uint256`, `int64`, `uint256[]` and `string` (Solidity's
 * "Contract ABI Specification"). Returns lower-case hex, bigint, boolean, array or text; invalid UTF-8 becomes U+FFFD.
 * `data` is lower-case hex with `0x`. Throws MalformedData.
 */
export function decodeEventData(types: readonly string[], data: string): unknown[] {
  const hex = data.slice(2);
  return types.map((type, i) => {
    const word = wordAt(hex, i * WORD);
    switch (type) {
      case 'bytes32': return `0x${word}`;
      case 'address':
        if (!word.startsWith('0'.repeat(24))) throw new MalformedData('an address has 20 bytes');
        return `0x${word.slice(24)}`;
      case 'bool': return uint(word, 1) === 1n;
      case 'int64': {
        const value = BigInt.asIntN(64, BigInt(`0x${word}`));
        if (BigInt.asUintN(256, value) !== BigInt(`0x${word}`)) throw new MalformedData('a number has more than 64 bits');
        return value;
      }
      case 'uint256[]': {
        const { start, length } = arrayAt(hex, word, WORD);
        return Array.from({ length }, (_, j) => uint(wordAt(hex, start + j * WORD), 256));
      }
      case 'string': {
        const { start, length } = arrayAt(hex, word, 2);
        return text.decode(Buffer.from(hex.slice(start, start + length * 2), 'hex'));
      }
      default: return uint(word, bitsOf(type));
    }
  });
}

function wordAt(hex: string, start: number): string {
  if (start + WORD > hex.length) throw new MalformedData('the data ends too early');
  return hex.slice(start, start + WORD);
}

function uint(word: string, bits: number): bigint {
  const value = BigInt(`0x${word}`);
  if (value >> BigInt(bits) !== 0n) throw new MalformedData(`a number has more than ${bits} bits`);
  return value;
}

/**
 * Where an array's elements of `width` hex digits begin, and how many there are. Throws MalformedData unless all are
 * within the data.
 */
function arrayAt(hex: string, offset: string, width: number): { start: number; length: number } {
  const at = uint(offset, 256) * 2n;
  if (at > BigInt(hex.length)) throw new MalformedData('an offset points beyond the data');
  const start = Number(at) + WORD;
  const length = uint(wordAt(hex, Number(at)), 256);
  if (length * BigInt(width) > BigInt(hex.length - start)) throw new MalformedData('an array is longer than the data');
  return { start, length: Number(length) };
}

function bitsOf(type: string): number {
  const bits = Number(/^uint(\d+)$/.exec(type)?.[1]);
  if (!Number.isInteger(bits)) throw new TypeError(`event data of type ${type} cannot be decoded: add it here`);
  return bits;
}
