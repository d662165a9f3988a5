/** The client's JSON: every integer is exact, amounts are bigints, and it takes the very texts that JSON is. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseJson, writeJson } from '../../client/src/exact-json.js';

describe('client: exact JSON', () => {
  it('reads integers beyond 2^53 exactly, and amounts as bigints whatever their size', () => {
    assert.deepEqual(parseJson('{"size":18446744073709551615,"price":620000,"remainingSize":0}'), {
      size: 18_446_744_073_709_551_615n, price: 620_000n, remainingSize: 0n,
    });
    assert.deepEqual(parseJson('{"position":4217,"fill":9007199254740993,"chainId":31337}'), { position: 4_217, fill: 9_007_199_254_740_993n, chainId: 31_337 });
    assert.deepEqual(parseJson('{"change24h":-5,"priceUSD":64123.5,"lag":-3,"price":[1,2],"size":null}'), {
      change24h: -5n, priceUSD: 64_123.5, lag: -3, price: [1n, 2n], size: null,
    });
  });

  it('reads any JSON as the platform does', () => {
    fc.assert(fc.property(fc.json(), fc.constantFrom('', ' ', '\n\t'), (text, space) => {
      const spaced = space + JSON.stringify(JSON.parse(text), null, space) + space;
      assert.deepEqual(numbersOf(parseJson(spaced)), numbersOf(JSON.parse(spaced)));
    }));
  });

  it('refuses what is no JSON, as the platform does', () => {
    const texts = [
      '', '{', '[1,]', '{"a":1,}', '{a:1}', '01', '1.', '.5', '+1', '-', '1e', 'nul', 'truefalse', '"\n"', '"\\x"', '"open', '[1 2]', '{"a" 1}', '1 1', 'NaN', '\'a\'', ']',
    ];
    for (const text of texts) {
      assert.throws(() => JSON.parse(text) as unknown, SyntaxError, text);
      assert.throws(() => parseJson(text), SyntaxError, text);
    }
    assert.throws(() => parseJson('['.repeat(200) + ']'.repeat(200)), /too deeply/);
  });

  it('keeps a field named __proto__ a field', () => {
    assert.deepEqual(Object.keys(parseJson('{"__proto__":{"a":1}}') as object), ['__proto__']);
  });

  it('writes bigints as decimal strings', () => {
    assert.equal(writeJson({ size: 18_446_744_073_709_551_615n, price: 5, sets: [1n, 2n], absent: undefined }), '{"size":"18446744073709551615","price":5,"sets":["1","2"]}');
  });
});

/** The same with numbers for bigints: JSON's own cannot tell them apart. */
function numbersOf(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(numbersOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, numbersOf(each)]));
}
