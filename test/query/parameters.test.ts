/** Path and query parameters: every accepted form and what it becomes, every refused one and its error. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Type } from '../../engine/records/schema-types.js';
import { RequestError, type ErrorCode } from '../../engine/records/errors.js';
import { AnyCaseAddress } from '../../engine/records/fields.js';
import {
  address, chainId, limit, marketId, marketReference, moment, optional, orderHash, outcome, position, seconds, text, transactionHash, valueOf,
  withDefault,
  type RequestField,
} from '../../service/api/request-fields.js';

const ADDRESS = `0x${'aB'.repeat(20)}`;
const BYTES32 = `0x${'Cd'.repeat(32)}`;
const limit50 = limit({ byDefault: 50, max: 100 });
const fromZero = withDefault(position, 0);
const untilMillion = seconds(1_000_000);
const sent = text(Type.String());

/** The kinds by the names that the tests have. */
const kinds = {
  address, chainId, marketId, marketReference: marketReference(AnyCaseAddress), moment,
  orderHash, outcome, position, transactionHash, limit50, fromZero, untilMillion, sent,
  optionalMarketId: optional(marketId), optionalChainId: optional(chainId), optionalOutcome: optional(outcome), optionalPosition: optional(position),
} as const satisfies Record<string, RequestField<unknown>>;
type Kind = keyof typeof kinds;

/** Further forms of the same, which clients may send and documents do not name. */
const NOT_DOCUMENTED: Partial<Record<Kind, readonly string[]>> = {
  outcome: ['0', '1'], optionalOutcome: ['0', '1'], marketReference: [BYTES32], moment: [String(Number.MAX_SAFE_INTEGER)],
};

describe('query: parameters', () => {
  const accepted: [kind: Kind, value: unknown, result: unknown][] = [
    ['address', ADDRESS, ADDRESS.toLowerCase()],
    ['address', `0X${'F'.repeat(40)}`, `0x${'f'.repeat(40)}`],
    ['marketId', BYTES32, BYTES32.toLowerCase()],
    ['moment', '0', { position: 0 }], ['moment', '9007199254740991', { position: Number.MAX_SAFE_INTEGER }],
    ['moment', '1970-01-01T00:00:01Z', { timeMs: 1_000 }], ['moment', '2024-02-29T23:59:59.999Z', { timeMs: 1_709_251_199_999 }],
    ['moment', '2024-02-29T23:59:59.5Z', { timeMs: 1_709_251_199_500 }],
    ['orderHash', BYTES32, BYTES32.toLowerCase()],
    ['transactionHash', BYTES32, BYTES32.toLowerCase()],
    ['optionalMarketId', BYTES32, BYTES32.toLowerCase()],
    ['optionalMarketId', undefined, undefined],
    ['marketReference', ADDRESS, { contractAddress: ADDRESS.toLowerCase() }],
    ['marketReference', BYTES32, { marketId: BYTES32.toLowerCase() }],
    ['chainId', '137', 137],
    ['optionalChainId', '9007199254740991', Number.MAX_SAFE_INTEGER],
    ['optionalChainId', undefined, undefined],
    ...['YES', 'yes', 'Yes', '0'].map((given): [Kind, string, number] => ['optionalOutcome', given, 0]),
    ...['NO', 'no', '1'].map((given): [Kind, string, number] => ['optionalOutcome', given, 1]),
    ['optionalOutcome', undefined, undefined],
    ['limit50', undefined, 50], ['limit50', '1', 1], ['limit50', '100', 100],
    ['optionalPosition', '0', 0], ['optionalPosition', undefined, undefined],
    ['fromZero', undefined, 0], ['fromZero', '7', 7],
    ['untilMillion', '0', 0], ['untilMillion', '1000000', 1_000_000],
    ['sent', 'Anything', 'Anything'], ['sent', '', ''],
  ];
  for (const [kind, value, result] of accepted) {
    it(`${kind} takes ${JSON.stringify(value)}`, () => {
      assert.deepEqual(kinds[kind].parse(value), result);
    });
  }

  const refused: [kind: Kind, code: ErrorCode, values: unknown[]][] = [
    ['address', 'invalid_address', ['', '0x', ADDRESS.slice(2), ADDRESS.slice(0, -1), `${ADDRESS}0`, `${ADDRESS}\n`, ` ${ADDRESS}`,
      `0x${'g'.repeat(40)}`, BYTES32, 'vitalik.eth']],
    ['marketId', 'invalid_market_id', ['', ADDRESS, BYTES32.slice(0, -1), `${BYTES32}0`, `0x${'z'.repeat(64)}`, `${BYTES32}\0`]],
    ['optionalMarketId', 'invalid_market_id', ['', 'x']],
    ['orderHash', 'invalid_order_hash', ['', ADDRESS, `${BYTES32}ff`]],
    ['untilMillion', 'invalid_request', ['', '-1', '1.5', '1000001', '1e3', 'x']],
    ['transactionHash', 'invalid_request', ['', ADDRESS, `${BYTES32}ff`, BYTES32.slice(2)]],
    ['marketReference', 'invalid_address', ['', 'x', `${BYTES32}0`]],
    ['marketReference', 'invalid_market_id', [`0x${'z'.repeat(64)}`]],
    ['chainId', 'invalid_chain_id', ['', '0', '-1', '1.5', '1e3', '0x89', ' 1', '9007199254740992', '99999999999999999999', 'polygon']],
    ['optionalChainId', 'invalid_chain_id', ['', '0']],
    ['optionalOutcome', 'invalid_request', ['', '2', 'maybe', '00', 'YES ', 'constructor', '__proto__']],
    ['limit50', 'invalid_request', ['', '0', '101', '-1', '1.0', 'all', 'NaN', '1e2', '9'.repeat(400)]],
    ['optionalPosition', 'invalid_request', ['', '-1', '9007199254740992', 'end']],
    ['moment', 'invalid_request', ['', '-1', '1.5', '9007199254740992', 'now', '2026-01-31', '2026-01-31T12:00:00', '2026-01-31T12:00:00+01:00', '2026-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z', '2026-01-31T25:00:00Z', '2026-01-31T24:00:00Z', '2026-01-31T12:00:00.1234Z', '+02026-01-31T12:00:00Z']],
  ];
  for (const [kind, code, values] of refused) {
    for (const value of values) {
      it(`${kind} refuses ${JSON.stringify(value)} with ${code}`, () => {
        const error = errorOf(() => valueOf<unknown>('parameter', kinds[kind], value));
        assert.deepEqual([error.code, error.isUnavailable, error.fields.map(({ field }) => field)], [code, false, ['/parameter']]);
        assert.ok(code === 'invalid_request' || kinds[kind].errors.includes(code as never), `${kind} does not name ${code} among its errors`);
      });
    }
  }

  for (const kind of Object.keys(kinds) as Kind[]) {
    it(`${kind} takes undefined just where it is not required`, () => {
      if (!kinds[kind].required) {
        assert.doesNotThrow(() => valueOf<unknown>('user', kinds[kind], undefined));
        return;
      }
      const error = errorOf(() => valueOf<unknown>('user', kinds[kind], undefined));
      assert.deepEqual([error.code, error.fields], ['invalid_request', [{ field: '/user', message: 'is missing' }]]);
    });

    it(`${kind} refuses a parameter that is repeated or nested`, () => {
      for (const value of [[ADDRESS, ADDRESS], { a: '1' }, 7, null]) {
        const error = errorOf(() => valueOf<unknown>('user', kinds[kind], value));
        assert.deepEqual([error.code, error.fields], ['invalid_request', [{ field: '/user', message: 'is a text' }]]);
      }
    });

    it(`${kind} takes what its schema describes, and what is named here besides`, () => {
      const ajv = new Ajv2020();
      const { schema } = kinds[kind];
      const texts = [ADDRESS, BYTES32, `${BYTES32}0`, ADDRESS.slice(2), '0', '1', '100', '101', '-1', 'YES', '2', String(Number.MAX_SAFE_INTEGER)];
      for (const value of texts) {
        const takes = isAccepted(() => valueOf<unknown>('parameter', kinds[kind], value));
        const described = ajv.validate(schema, value) || (/^-?\d+$/.test(value) && ajv.validate(schema, Number(value)));
        assert.equal(takes, described || NOT_DOCUMENTED[kind]?.includes(value) === true, value);
      }
    });
  }
});

function isAccepted(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}

function errorOf(run: () => unknown): RequestError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof RequestError);
    return error;
  }
  return assert.fail('it was accepted');
}
