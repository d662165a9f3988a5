/**
 * JSON bodies without losing an integer: numbers beyond 2^53 come as bigint, and what is no integer can never pass for one.
 *
 * Both ways through are `JSON.parse`, so they agree on everything that is not a number: escapes, repeated keys (the last one
 * counts), `__proto__` (an ordinary key), and depth, at which it does not recurse.
 */
import { RequestError } from '../../engine/records/errors.js';

/** Fields are numbers (safe integers), bigints, NaN (a fraction, an exponent, an absurdly long number), or what JSON says. */
export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Something like a number that `JSON.parse` might round: 16 digits or more, a fraction or an exponent. A false alarm inside a
 * string costs only time.
 */
const INEXACT = /[\s:,[]-?(?:\d{16}|\d+[.eE])/;

/** Every string whole, so that nothing in it is taken for a number, and everything like a number, as far as it goes. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|[-\d][\d.eE+-]*/g;

/** A whole number as JSON writes it, of at most 78 digits (2^256 has as many). */
const INTEGER = /^-?\d{1,78}$/;

/** The JSON object in a body. Integers are written as digits: 1.0 is none, nor is 1e2. Throws RequestError `invalid_json`. */
export function parseJsonObject(body: Uint8Array): JsonObject {
  let value: unknown;
  try {
    const text = utf8.decode(body);
    value = INEXACT.test(text) ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new RequestError('invalid_json', whereOf(error));
    if (error instanceof TypeError) throw new RequestError('invalid_json', 'it is not UTF-8');
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RequestError('invalid_json');
  return value as JsonObject;
}

/**
 * Puts a number with a fraction in the place of each number that might be rounded: 0.5 for the first one, 1.5 for the second. No
 * other number in the text has a fraction then, so these are found and replaced after parsing.
 */
function parseExactly(text: string): unknown {
  const numbers: (number | bigint)[] = [];
  const marked = text.replace(STRING_OR_NUMBER, (token) => {
    if (token.charCodeAt(0) === QUOTE || (token.length <= 15 && INTEGER.test(token))) return token;
    if (!JSON_NUMBER.test(token)) return token;
    numbers.push(exactNumber(token));
    return `${numbers.length - 1}.5`;
  });
  const root = [JSON.parse(marked) as unknown];
  const open: object[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const key of Object.keys(next)) {
      const value = (next as Record<string, unknown>)[key];
      if (typeof value === 'object' && value !== null) open.push(value);
      else if (typeof value === 'number' && !Number.isInteger(value)) {
        // Never the setter of `__proto__`.
        Object.defineProperty(next, key, { value: numbers[Math.floor(value)] });
      }
    }
  }
  return root[0];
}

const QUOTE = 0x22;

/** A number as JSON allows it; anything else is left in place for `JSON.parse` to refuse. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function exactNumber(token: string): number | bigint {
  if (!INTEGER.test(token)) return NaN;
  const number = Number(token);
  return Number.isSafeInteger(number) ? number : BigInt(token);
}

/** Where the text stops being JSON, if the parser said so; never the text itself. */
function whereOf(error: SyntaxError): string {
  return /at position \d+/.exec(error.message)?.[0] ?? '';
}
