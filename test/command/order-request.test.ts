/** The body of an order: every field, its boundaries, and which fault is told first. */
import assert from 'node:assert/strict';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { expiresTooSoon, parseOrder, PlaceOrderRequest } from '../../command/orders/order-request.js';
import { parsePermit } from '../../command/orders/permit.js';
import type { ErrorCode, RequestError } from '../../engine/records/errors.js';
import { compileSchema } from '../../engine/records/schema.js';
import { START_MS, START_S, alice, anOrder, bodyOf, marketId, type Fields } from '../harness/order-world.js';

const UINT64_MAX = 2n ** 64n - 1n;
const absent = Symbol('absent');

const parse = (body: unknown) => parseOrder(parseJsonObject(bodyOf(body)));
const without = (fields: Fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== absent));
const withField = (name: string, value: unknown) => ({ order: without(anOrder({ [name]: value })), signature: '0x' });

function refuses(action: () => unknown, code: ErrorCode, fields: readonly string[], what = '') {
  assert.throws(action, (error: RequestError) => {
    assert.deepEqual({ code: error.code, fields: error.fields.map(({ field }) => field) }, { code, fields }, what);
    return true;
  }, what);
}

const accepted: readonly [string, unknown, unknown][] = [
  ['price', 1, 1], ['price', 999_999, 999_999], ['price', '1', 1], ['price', '999999', 999_999],
  ['size', 1, '1'], ['size', UINT64_MAX, '18446744073709551615'], ['size', '18446744073709551615', '18446744073709551615'],
  ['size', 2n ** 53n + 1n, '9007199254740993'],
  ['nonce', 0, '0'], ['nonce', '0', '0'], ['nonce', UINT64_MAX, '18446744073709551615'],
  ['expiration', 0, '0'], ['expiration', UINT64_MAX, '18446744073709551615'], ['expiration', String(START_S), String(START_S)],
  ['side', 0, 0], ['side', 1, 1], ['side', '0', 0], ['side', '1', 1], ['outcome', 0, 0], ['outcome', 1, 1], ['outcome', '1', 1],
  ['marketId', marketId.toUpperCase().replace('0X', '0x'), marketId],
  ['trader', alice.address, alice.address.toLowerCase()], ['trader', alice.address.toLowerCase(), alice.address.toLowerCase()],
  ['trader', alice.address.toUpperCase().replace('0X', '0x'), alice.address.toLowerCase()],
];

const notIntegers: readonly unknown[] = [absent, null, true, [], {}, [1], '', ' 1', '1 ', '+1', '-1', '01', '0x1', '1.0', '1e2', '1n', '１', -1, 1.5, -0.5];
const beyondUint64: readonly unknown[] = [UINT64_MAX + 1n, '18446744073709551616', -(2n ** 63n), 2n ** 256n, '9'.repeat(78), '9'.repeat(5_000)];

const hexFaults = (digits: number): readonly unknown[] => [
  absent, null, 1, '', '0x', 'ab'.repeat(digits / 2), `0X${'a'.repeat(digits)}`, `0x${'a'.repeat(digits - 1)}`, `0x${'a'.repeat(digits + 1)}`, `0x${'g'.repeat(digits)}`,
  `0x${'a'.repeat(digits)}\n`, ` 0x${'a'.repeat(digits)}`, `0x${'a'.repeat(digits - 1)}é`, [`0x${'a'.repeat(digits)}`],
];

const refused: readonly [string, ErrorCode, readonly unknown[]][] = [
  ['price', 'invalid_price', [...notIntegers, ...beyondUint64, 0, '0', 1_000_000, '1000000', UINT64_MAX]],
  ['size', 'invalid_size', [...notIntegers, ...beyondUint64, 0, '0']],
  ['expiration', 'invalid_expiration', [...notIntegers, ...beyondUint64]],
  ['nonce', 'invalid_request', [...notIntegers, ...beyondUint64]],
  ['side', 'invalid_request', [...notIntegers, ...beyondUint64, 2, '2', 255, 'buy', 'BUY', '00']],
  ['outcome', 'invalid_request', [...notIntegers, ...beyondUint64, 2, '2', 'YES', false]],
  ['marketId', 'invalid_request', hexFaults(64)],
  ['trader', 'invalid_request', hexFaults(40)],
  ['makerFeeRecipient', 'invalid_request', [...hexFaults(40), `0x${'0'.repeat(39)}1`, alice.address]],
  ['fee', 'invalid_request', [0, null]], ['Price', 'invalid_request', [1]],
];

const show = (value: unknown) => typeof value === 'symbol' ? 'absence' : typeof value === 'bigint' ? `${value}` : JSON.stringify(value).slice(0, 30);

describe('an order\'s body', () => {
  it('becomes what records carry', () => {
    assert.deepEqual(parse({ order: anOrder({ marketId: marketId.toUpperCase().replace('0X', '0x') }), signature: 7, permitSignature: null }), {
      marketId, trader: alice.address.toLowerCase(), side: 0, outcome: 0, price: 620_000, size: '25000000', nonce: '1', expiration: '1800003600',
    });
  });

  for (const [name, given, expected] of accepted) {
    it(`takes ${name} of ${show(given)}`, () => {
      assert.deepEqual(Object.entries(parse(withField(name, given))).find(([key]) => key === name), [name, expected]);
    });
  }

  for (const [name, code, values] of refused) {
    it(`refuses a wrong ${name} as ${code}`, () => {
      for (const value of values) {
        refuses(() => parse(withField(name, value)), code, [`/order/${name}`], show(value));
      }
    });
  }

  it('refuses numbers with a fraction or an exponent, also where they are whole', () => {
    for (const number of ['1.0', '1e2', '1e400', '500000.00000000000000001', '1e-400']) {
      const text = bodyOf({ order: anOrder(), signature: '0x' }).toString().replace('"price":620000', `"price":${number}`);
      refuses(() => parseOrder(parseJsonObject(Buffer.from(text))), 'invalid_price', ['/order/price']);
    }
  });

  it('refuses an own __proto__', () => {
    const text = bodyOf({ order: anOrder(), signature: '0x' }).toString().replace('"price"', '"__proto__":{"price":1},"price"');
    refuses(() => parseOrder(parseJsonObject(Buffer.from(text))), 'invalid_request', ['/order/__proto__']);
  });

  for (const [name, body, field] of [
    ['no order', { signature: '0x' }, '/order'], ['an order of null', { order: null }, '/order'], ['an order that is a list', { order: [] }, '/order'],
    ['an empty order', { order: {} }, '/order/marketId'], ['a field too many', { order: anOrder(), signature: '0x', sig: 1 }, '/sig'],
    ['a field with a hostile name', { order: anOrder({ [`a/b~c${'x'.repeat(10_000)}`]: 1 }) }, `/order/a~1b~0c${'x'.repeat(35)}`],
  ] as const) {
    it(`refuses ${name}`, () => { refuses(() => parse(body), 'invalid_request', [field]); });
  }

  it('names the first fault, in this order: shape, price, size, expiration', () => {
    const faults: [string, unknown, ErrorCode][] = [
      ['makerFeeRecipient', 'x', 'invalid_request'], ['side', 2, 'invalid_request'], ['outcome', 2, 'invalid_request'], ['nonce', -1, 'invalid_request'],
      ['price', 0, 'invalid_price'], ['size', 0, 'invalid_size'], ['expiration', 'never', 'invalid_expiration'],
    ];
    while (faults.length > 0) {
      const order = anOrder(Object.fromEntries(faults.map(([name, value]) => [name, value])));
      const [[name, , code]] = faults as [[string, unknown, ErrorCode]];
      refuses(() => parse({ order }), code, [`/order/${name}`]);
      faults.shift();
    }
    assert.doesNotThrow(() => parse({ order: anOrder() }));
  });
});

describe('the schema of an order\'s body', () => {
  const validate = compileSchema(PlaceOrderRequest);
  const signature = `0x${'ab'.repeat(65)}`;
  /** Of the integers the one form that is described; other fields have no other form. */
  const form: Readonly<Record<string, 'number' | 'string'>> = {
    side: 'number', outcome: 'number', price: 'number', size: 'string', nonce: 'string', expiration: 'string',
  };
  const described = Object.fromEntries(['size', 'nonce', 'expiration'].map((name) => [name, String(anOrder()[name])]));
  const bodies = (name: string, values: readonly unknown[]) => values.filter((value) => typeof value !== 'bigint')
    .map((value) => ({ name, value, body: { order: without({ ...anOrder(), ...described, [name]: value }), signature } }));

  it('describes one form of everything that is taken', () => {
    for (const { name, value, body } of accepted.flatMap(([each, given]) => bodies(each, [given]))) {
      assert.equal(validate(body), typeof value === (form[name] ?? 'string'), `${name} ${show(value)}`);
    }
  });

  it('describes nothing that is refused, but for the exact end of uint64 in a string', () => {
    for (const [name, , values] of refused) {
      for (const { value, body } of bodies(name, values)) {
        const isBeyond = value === '18446744073709551616' && ['size', 'nonce', 'expiration'].includes(name);
        assert.equal(validate(body), isBeyond, `${name} ${show(value)}`);
      }
    }
  });
});

describe('an order\'s expiration', () => {
  for (const [expiration, atMs, tooSoon] of [
    [START_S + 60, START_MS, false], [START_S + 59, START_MS, true], [START_S + 60, START_MS + 999, false],
    [START_S + 60, START_MS + 1_000, true],
    [0, START_MS, true], ['18446744073709551615', START_MS, false], [START_S - 1, START_MS, true],
  ] as const) {
    it(`of ${expiration} at ${atMs} ms is ${tooSoon ? 'too soon' : 'late enough'}`, () => { assert.equal(expiresTooSoon(String(expiration), atMs), tooSoon); });
  }
});

describe('a permit', () => {
  const r = `0x${'Ab'.repeat(32)}`;
  const s = `0x${'0c'.repeat(32)}`;
  const permit = { nonce: 0, value: '1000000', deadline: START_S + 1, v: 27, r, s };
  const parsed = { nonce: '0', value: '1000000', deadline: String(START_S + 1), v: 27, r: r.toLowerCase(), s };

  for (const [name, fields, expected] of [
    ['as documented', {}, {}], ['with v of 0', { v: 0 }, { v: 27 }], ['with v of 1', { v: '1' }, { v: 28 }], ['with v of 28', { v: 28 }, { v: 28 }],
    ['with a value of 2^256-1', { value: String(2n ** 256n - 1n) }, { value: String(2n ** 256n - 1n) }], ['with a value of 0', { value: '0' }, { value: '0' }],
    ['with the largest numbers', { nonce: UINT64_MAX, deadline: UINT64_MAX }, { nonce: String(UINT64_MAX), deadline: String(UINT64_MAX) }],
    ['with decimal strings', { nonce: '7', deadline: String(START_S + 9) }, { nonce: '7', deadline: String(START_S + 9) }],
  ] as const) {
    it(`is taken ${name}`, () => { assert.deepEqual(parsePermit({ ...permit, ...fields }, START_MS), { ...parsed, ...expected }); });
  }

  for (const [name, values] of [
    ['nonce', [absent, null, -1, UINT64_MAX + 1n, '', '1.5']],
    ['value', [absent, null, 1_000_000, 5n, '', '-1', '1.5', '01', '0x10', String(2n ** 256n)]],
    ['deadline', [absent, null, START_S, START_S - 1, 0, '', UINT64_MAX + 1n]],
    ['v', [absent, null, 2, 26, 29, '0x1b', 283, -1]],
    ['r', hexFaults(64)], ['s', hexFaults(64)],
  ] as const) {
    it(`is refused for a wrong ${name}`, () => {
      for (const value of values) {
        refuses(() => parsePermit(without({ ...permit, [name]: value }), START_MS), 'invalid_permit', [`/permitSignature/${name}`]);
      }
    });
  }

  it('is refused unless it is an object of exactly these fields, and every fault is named', () => {
    for (const value of [null, 'permit', 1, [], [permit]]) refuses(() => parsePermit(value, START_MS), 'invalid_permit', ['/permitSignature']);
    refuses(() => parsePermit({ ...permit, owner: '0x' }, START_MS), 'invalid_permit', ['/permitSignature/owner']);
    refuses(() => parsePermit({}, START_MS), 'invalid_permit', ['nonce', 'value', 'deadline', 'v', 'r', 's'].map((name) => `/permitSignature/${name}`));
  });

  it('is good until its deadline\'s second begins', () => {
    assert.doesNotThrow(() => parsePermit(permit, START_MS + 999));
    refuses(() => parsePermit(permit, START_MS + 1_000), 'invalid_permit', ['/permitSignature/deadline']);
  });
});
