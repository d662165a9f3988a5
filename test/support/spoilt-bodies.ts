/** Bodies that are hardly JSON, or JSON at its edges: a seeded mutation of a valid body's bytes. */
const NUMBERS = [
  '-0', '0', '00', '01', '+1', '.5', '1.', '1.0', '1e2', '1E400', '1e400', '-1e400', '1e-400', '9007199254740991', '9007199254740993', '18446744073709551615',
  '18446744073709551616', '9'.repeat(78), '9'.repeat(79), '9'.repeat(5_000), '-9007199254740993', 'NaN', 'Infinity', '0x1f', '1_000', '-', 'null', '"1"', '"01"', '"-0"', '[]',
];
const STRINGS = [
  '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\u0000"', '"\\x41"', '"\\u12"', '"\t"', '"\\"', '"', '""', '"\u2028"', '"\ufeff"', '"toString"', '{}', '[[]]', 'true', 'undefined', '\'a\'',
  '{"__proto__":{"side":1}}',
];
/** What is put before, behind and into a body. */
const PIECES = [
  Buffer.from('\ufeff'), Buffer.from([0xff, 0xfe]), Buffer.from([0]), Buffer.from([0xc0, 0x80]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0xf5, 0x80, 0x80, 0x80]),
  Buffer.from([0xe2, 0x82]), ...[' {}', '}', ',', ']', '\\', '"', '{', ':', '/**/', '//', '\u00a0', '\r\n\t ', '\u000b', 'null', '\n\n{"a":1}'].map((text) => Buffer.from(text)),
];
const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '', '\\u0073ide', 'order', '\\ud800'];

/** The body with each of the odd pieces before it, and behind it. */
export function framedBodies(body: Buffer): Buffer[] {
  return PIECES.flatMap((piece) => [Buffer.concat([piece, body]), Buffer.concat([body, piece])]);
}

export type Below = (n: number) => number;

/** One to three mutations of the body, none in one of eight. */
export function spoiltBody(below: Below, body: Buffer): Buffer {
  let bytes = body;
  if (below(8) === 0) return bytes;
  for (let left = 1 + below(3); left > 0; left--) bytes = MUTATIONS[below(MUTATIONS.length)]!(bytes, below);
  return bytes;
}

type Mutation = (bytes: Buffer, below: Below) => Buffer;
const pick = <T>(below: Below, list: readonly T[]): T => list[below(list.length)]!;

/** Replaces the text of one of the matches. Bytes that are not UTF-8 stay as they are. */
function replacing(pattern: RegExp, by: (match: string, below: Below) => string): Mutation {
  return (bytes, below) => {
    const text = bytes.toString('latin1');
    const matches = [...text.matchAll(pattern)];
    if (matches.length === 0) return bytes;
    const { 0: match, index } = pick(below, matches);
    const put = Buffer.from(by(Buffer.from(match, 'latin1').toString(), below)).toString('latin1');
    return Buffer.from(text.slice(0, index) + put + text.slice(index + match.length), 'latin1');
  };
}

const STRING = /"[^"\\]*"/g;

const MUTATIONS: readonly Mutation[] = [
  (bytes, below) => bytes.subarray(0, below(bytes.length + 1)),
  (bytes, below) => Buffer.concat([bytes, pick(below, PIECES)]),
  (bytes, below) => Buffer.concat([pick(below, PIECES), bytes]),
  (bytes, below) => {
    const at = below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), pick(below, PIECES), bytes.subarray(at)]);
  },
  (bytes, below) => {
    const flipped = Buffer.from(bytes);
    if (flipped.length > 0) flipped[below(flipped.length)]! ^= 1 << below(8);
    return flipped;
  },
  (bytes, below) => {
    const at = below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(12))]);
  },
  replacing(/(?<=[:[,]\s*)-?\d+/g, (_, below) => pick(below, NUMBERS)),
  replacing(STRING, (_, below) => pick(below, STRINGS)),
  replacing(/(?<=[:[,])("[^"\\]*"|-?\d+|true|false)/g, (match, below) => pick(below, [...NUMBERS, ...STRINGS, `[${match}]`, `{"a":${match}}`, ` ${match}\n`])),
  // The same name twice: the last one counts.
  replacing(/"\w+":("[^"\\]*"|-?\d+|true|false)/g, (match, below) => `${match},${match.replace(/:.*/s, `:${pick(below, [...NUMBERS, ...STRINGS])}`)}`),
  replacing(/"\w+":("[^"\\]*"|-?\d+|true|false)/g, (match, below) => `${match.replace(/:.*/s, `:${pick(below, [...NUMBERS, ...STRINGS])}`)},${match}`),
  replacing(/\{/g, (_, below) => `{"${pick(below, NAMES)}":${pick(below, [...NUMBERS, ...STRINGS])},`),
  // The same text, written in another way.
  replacing(/[a-zA-Z\d](?=[^"\\]*")/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16).padStart(2, '0')}`),
  replacing(/[:,]/g, (match, below) => match + ' \t\r\n'.repeat(below(30))),
  replacing(/(?<=:)("[^"\\]*"|-?\d+)/g, (match, below) => {
    const depth = pick(below, [2, 50, 5_000, 30_000]);
    return below(2) === 0 ? `${'['.repeat(depth)}${match}${']'.repeat(below(20) === 0 ? depth - 1 : depth)}` : `${'{"a":'.repeat(Math.min(depth, 8_000))}1`;
  }),
];
