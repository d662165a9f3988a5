/**
 * Parses JSON bodies without rounding integers: numbers beyond 2^53 become bigint, and a number that is not an integer
 * becomes NaN.
 *
 * The fast and the exact path both use `JSON.parse`, so they agree on everything else: escapes, repeated keys (the last
 * one counts), `__proto__` (an ordinary key), and deep nesting, for which no recursion is used.
 */
import { RequestError } from './errors.js';

/**
 * Numbers are safe integers, bigints, or NaN (a fraction, an exponent, more than 78 digits); other values are as JSON
 * has them.
 */
export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Matches what may be a number that `JSON.parse` rounds: 16 digits or more, a fraction or an exponent. A match inside a
 * string only costs time.
 */
const INEXACT = /[\s:,[]-?(?:\d{16}|\d+[.eE])/;

/** Matches each complete string, so that its content is not taken for a number, and each run of number characters. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|[-\d][\d.eE+-]*/g;

/** A whole number as JSON writes it, of at most 78 digits (2^256 has as many). */
const INTEGER = /^-?\d{1,78}$/;

/**
 * The JSON object in a body. Integers consist of digits only: 1.0 and 1e2 are not integers. Throws RequestError
 * `invalid_json`.
 */
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
 * Replaces each number that might be rounded by a placeholder with a fraction: 0.5 for the first, 1.5 for the second.
 * No other number in the text then has a fraction, so the placeholders are found and replaced after parsing.
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
        // Not an assignment, which would call the setter of `__proto__`.
        Object.defineProperty(next, key, { value: numbers[Math.floor(value)] });
      }
    }
  }
  return root[0];
}

const QUOTE = 0x22;

/** A number in JSON's grammar; anything else stays in the text, so that `JSON.parse` rejects it. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function exactNumber(token: string): number | bigint {
  if (!INTEGER.test(token)) return NaN;
  const number = Number(token);
  return Number.isSafeInteger(number) ? number : BigInt(token);
}

/** The position of the syntax error, if the parser names it; never the text itself. */
function whereOf(error: SyntaxError): string {
  return /at position \d+/.exec(error.message)?.[0] ?? '';
}
