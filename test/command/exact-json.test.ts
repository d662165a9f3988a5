/** Exact JSON: against `JSON.parse` where that is exact, against lossless-json where it is not, and on hostile bodies. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parse as parseLossless } from 'lossless-json';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import type { RequestError } from '../../engine/records/errors.js';
import { extent, SEED } from '../support/extent.js';

const parse = (text: string) => parseJsonObject(Buffer.from(text));

function refuses(body: string | Uint8Array) {
  assert.throws(() => parseJsonObject(typeof body === 'string' ? Buffer.from(body) : body), (error: RequestError) => {
    assert.equal(error.code, 'invalid_json');
    return true;
  });
}

/** A number that is read by the exact path alone makes the rest of a body be read by it too. */
const forceExact = (text: string) => `{"exact": 1.5, "body": ${text}}`;

const exactNumber = (text: string) => {
  if (!/^-?\d{1,78}$/.test(text)) return NaN;
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
};

/** JSON text as people and programs write it: any numbers, whitespace, escapes, strings that look like numbers. */
const numberText = fc.oneof(
  fc.constantFrom('0', '-0', '1', '999999999999999', '1000000000000000', '9007199254740991', '9007199254740992', '9007199254740993',
    '-9007199254740991', '-9007199254740993', '18446744073709551615', '18446744073709551616', '1.0', '1e2', '1E-400', '1e400', '-1e400',
    '0.9999999999999999999', '500000.00000000000000001', '9'.repeat(78), '9'.repeat(79), '9'.repeat(400)),
  fc.bigInt().map(String), fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
);
const stringText = fc.oneof(
  fc.string({ unit: 'binary' }), fc.constantFrom('1.5', ': 12345678901234567', ',1e5', '\\', '"', '\\"', '"1.5', '\u2028', 'toString', '0x1e5'),
).map((text) => JSON.stringify(text));
/**
 * Without backslashes: V8 of Node 24 takes the key `"\""` for a backslash once it has parsed an object with that key in its place
 * (`JSON.parse('{"x":0,"\\":0}')`, then `'{"x":0,"\"":0}'`), so `JSON.parse` does not agree with itself there.
 */
const keyText = stringText.filter((text) => !(JSON.parse(text) as string).includes('\\'));
const space = fc.constantFrom('', '', ' ', '\n', '\t', '\r\n  ');

const jsonText = (distinctKeys: boolean) => fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    numberText, stringText, fc.constantFrom('true', 'false', 'null'),
    fc.tuple(space, fc.array(tie('value'), { maxLength: 4 })).map(([s, items]) => `[${s}${items.join(`${s},${s}`)}${s}]`),
    fc.tuple(space, fc.uniqueArray(fc.tuple(fc.oneof(keyText, fc.constantFrom('"a"', '"__proto__"', '"constructor"')), tie('value')), {
      maxLength: 4,
      ...(distinctKeys ? { selector: ([key]: [string, string]) => JSON.parse(key) as string } : { comparator: () => false }),
    })).map(([s, members]) => `{${s}${members.map(([key, value]) => `${key}${s}:${s}${value}`).join(`${s},${s}`)}${s}}`),
  ),
})).value;

/** As deepEqual sees it, but telling bigint from number, and -0 from 0, in text. */
const shown = (value: unknown) => JSON.stringify(value, (_, each: unknown) => {
  if (typeof each === 'bigint') return `bigint ${each}`;
  return typeof each === 'number' && (Number.isNaN(each) || Object.is(each, -0)) ? `number ${Object.is(each, -0) ? '-0' : 'NaN'}` : each;
});

describe('exact JSON', () => {
  it('is what lossless-json reads, whatever the numbers', () => {
    fc.assert(fc.property(jsonText(true), (text) => {
      const expected = parseLossless(text, null, exactNumber);
      assert.equal(shown(parse(forceExact(text))['body']), shown(expected));
      assert.equal(shown(parse(`{"body":${text}}`)['body']), shown(expected));
    }), { numRuns: 2_000 });
  });

  it('is what JSON.parse reads, repeated keys and all, where every number is a short integer', () => {
    fc.assert(fc.property(jsonText(false), fc.integer(), (text, number) => {
      const tame = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => token.startsWith('"') ? token : String(number));
      const expected = shown(JSON.parse(tame));
      assert.equal(shown(parse(`{"body":${tame}}`)['body']), expected);
      assert.equal(shown(parse(forceExact(tame))['body']), expected);
    }), { numRuns: 1_000 });
  });

  it('accepts and refuses what JSON.parse does, on mangled text too', () => {
    const mangle = fc.record({ at: fc.nat(), remove: fc.nat({ max: 3 }), insert: fc.oneof(fc.constantFrom('"', '\\', '-', '.', 'e', '1', '{', ']', ',', ':', '0'), fc.string({ maxLength: 2 })) });
    fc.assert(fc.property(jsonText(true), mangle, (text, { at, remove, insert }) => {
      const valid = forceExact(text);
      const start = at % valid.length;
      const body = valid.slice(0, start) + insert + valid.slice(start + remove);
      let expected: boolean;
      try {
        const value = JSON.parse(Buffer.from(body).toString()) as unknown;
        expected = typeof value === 'object' && value !== null && !Array.isArray(value);
      } catch {
        expected = false;
      }
      if (expected) parse(body);
      else refuses(body);
    }), { numRuns: extent({ push: 4_000, long: 100_000 }), seed: SEED });
  });

  const values: readonly [string, unknown][] = [
    ['0', 0], ['-1', -1], ['999999999999999', 999_999_999_999_999], ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740992', 9_007_199_254_740_992n], ['9007199254740993', 9_007_199_254_740_993n], ['-9007199254740993', -9_007_199_254_740_993n],
    ['18446744073709551615', 18_446_744_073_709_551_615n], ['9'.repeat(78), BigInt('9'.repeat(78))], ['9'.repeat(79), NaN], ['1'.repeat(60_000), NaN],
    ['1.0', NaN], ['1e2', NaN], ['1E2', NaN], ['1e400', NaN], ['1e-400', NaN], ['500000.00000000000000001', NaN], ['0.5', NaN], ['-0.0', NaN],
    ['"18446744073709551615"', '18446744073709551615'], ['"1.5"', '1.5'], ['": 1.5, 12345678901234567"', ': 1.5, 12345678901234567'],
    ['"\\": 1.5"', '": 1.5'], ['"\\\\"', '\\'], ['"\\u0031.5"', '1.5'],
  ];
  for (const [text, expected] of values) {
    it(`reads ${text.slice(0, 40)}`, () => {
      assert.deepEqual(parse(`{"n":${text}}`), { n: expected });
      assert.deepEqual(parse(`{"big":12345678901234567,"n":[ ${text} ]}`), { big: 12_345_678_901_234_567n, n: [expected] });
    });
  }

  it('takes the last of repeated keys, on both paths', () => {
    assert.deepEqual(parse('{"a":1,"a":[],"a":{}}'), { a: {} });
    assert.deepEqual(parse('{"a":1.5,"a":12345678901234567,"a":{},"a":[]}'), { a: [] });
    assert.deepEqual(parse('{"a":1,"a":12345678901234567}'), { a: 12_345_678_901_234_567n });
    assert.deepEqual(parse('{"a":12345678901234567,"a":1}'), { a: 1 });
  });

  it('takes __proto__ for an ordinary key', () => {
    for (const number of ['1', '12345678901234567']) {
      const value = parse(`{"__proto__":${number},"a":{"__proto__":{"b":${number}},"constructor":{"prototype":${number}}}}`);
      assert.equal(Object.getPrototypeOf(value), Object.prototype);
      assert.deepEqual(Object.keys(value), ['__proto__', 'a']);
      assert.equal(String(Object.getOwnPropertyDescriptor(value, '__proto__')!.value), number);
      assert.equal(Object.getPrototypeOf(value['a']), Object.prototype);
    }
    assert.equal(({} as Record<string, unknown>)['b'], undefined);
  });

  it('reads nesting as deep as a body can hold', () => {
    for (const inner of ['1', '1.5']) {
      let value = parse(`{"a":${'['.repeat(32_000)}${inner}${']'.repeat(32_000)}}`)['a'];
      let depth = 0;
      for (; Array.isArray(value); depth++) value = value[0] as unknown;
      assert.equal(depth, 32_000);
      assert.equal(Object.is(value, inner === '1' ? 1 : NaN), true);
    }
    refuses(`{"a":${'['.repeat(60_000)}`);
    refuses(`{"a":1.5,"b":${'{"a":'.repeat(12_000)}`);
  });

  for (const body of [
    '', ' ', 'null', 'true', '1', '1.5', '12345678901234567', '"{}"', '[]', '[{}]', '{', '{}}', '{} {}', '{"a":}', '{"a":1,}', '{a:1}', '{\'a\':1}',
    '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":1e}', '{"a":0x10}', '{"a":NaN}', '{"a":1e400e1}', '{"a":-}', '{"a":1.5.5}', '{"a":--1.5}', '{"a":1.5-}', '{"a":1_000}',
    '{"a":123456789012345678-1}', '{"a":1.5"b":1}', '{"a":"\n"}', '{"a":"\\x"}', '{"a":"\\ud8"}', '\ufeff{}', '{"a":1}\0', '{"a":1.5}x', '{"a":undefined}',
  ]) {
    it(`refuses ${JSON.stringify(body)}`, () => { refuses(body); });
  }

  for (const [name, bytes] of [
    ['a lone continuation byte', [0x80]], ['an overlong slash', [0xc0, 0xaf]], ['a surrogate', [0xed, 0xa0, 0x80]], ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['a cut-off character', [0xe2, 0x82]], ['Latin-1', [0xe9]],
  ] as const) {
    it(`refuses ${name} inside a string`, () => { refuses(Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])); });
  }

  it('reads the next body after one that broke off inside a character', () => {
    refuses(Buffer.from([0x7b, 0x22, 0xe2, 0x82]));
    assert.deepEqual(parse('{"\u00e9":1}'), { é: 1 });
  });

  it('refuses UTF-16', () => { refuses(Buffer.from('{}', 'utf16le')); });

  it('reads any character of Unicode, and an escaped half of one', () => {
    assert.deepEqual(parse('{"é€😀":"é€😀\\ud83d\\ude00"}'), { 'é€😀': 'é€😀😀' });
    assert.deepEqual(parse('{"a":"\\ud83d"}'), { a: '\ud83d' });
  });
});
