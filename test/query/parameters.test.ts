/** Path and query parameters: every accepted form and what it becomes, every refused one and its error. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import {
  addressOf, chainIdOf, limitOf, marketIdOf, marketReferenceOf, optionalChainIdOf, optionalMarketIdOf, optionalOutcomeOf,
  optionalPositionOf, orderHashOf, transactionHashOf, type Parameter,
} from '../../query/parameters.js';

const ADDRESS = `0x${'aB'.repeat(20)}`;
const BYTES32 = `0x${'Cd'.repeat(32)}`;
const limit50 = (parameter: Parameter) => limitOf(parameter, { byDefault: 50, max: 100 });

describe('query: parameters', () => {
  const accepted: [(parameter: Parameter) => unknown, unknown, unknown][] = [
    [addressOf, ADDRESS, ADDRESS.toLowerCase()],
    [addressOf, `0X${'F'.repeat(40)}`, `0x${'f'.repeat(40)}`],
    [marketIdOf, BYTES32, BYTES32.toLowerCase()],
    [orderHashOf, BYTES32, BYTES32.toLowerCase()],
    [transactionHashOf, BYTES32, BYTES32.toLowerCase()],
    [optionalMarketIdOf, BYTES32, BYTES32.toLowerCase()],
    [optionalMarketIdOf, undefined, undefined],
    [marketReferenceOf, ADDRESS, { contractAddress: ADDRESS.toLowerCase() }],
    [marketReferenceOf, BYTES32, { marketId: BYTES32.toLowerCase() }],
    [chainIdOf, '137', 137],
    [optionalChainIdOf, '9007199254740991', Number.MAX_SAFE_INTEGER],
    [optionalChainIdOf, undefined, undefined],
    ...['YES', 'yes', 'Yes', '0'].map((text): [typeof optionalOutcomeOf, string, number] => [optionalOutcomeOf, text, 0]),
    ...['NO', 'no', '1'].map((text): [typeof optionalOutcomeOf, string, number] => [optionalOutcomeOf, text, 1]),
    [optionalOutcomeOf, undefined, undefined],
    [limit50, undefined, 50], [limit50, '1', 1], [limit50, '100', 100],
    [optionalPositionOf, '0', 0], [optionalPositionOf, undefined, undefined],
  ];
  for (const [parse, value, result] of accepted) {
    it(`${parse.name || 'limit'} takes ${JSON.stringify(value)}`, () => {
      assert.deepEqual(parse({ name: 'parameter', value }), result);
    });
  }

  const refused: [(parameter: Parameter) => unknown, string, unknown[]][] = [
    [addressOf, 'invalid_address', ['', '0x', ADDRESS.slice(2), ADDRESS.slice(0, -1), `${ADDRESS}0`, `${ADDRESS}\n`, ` ${ADDRESS}`,
      `0x${'g'.repeat(40)}`, BYTES32, 'vitalik.eth']],
    [marketIdOf, 'invalid_market_id', ['', ADDRESS, BYTES32.slice(0, -1), `${BYTES32}0`, `0x${'z'.repeat(64)}`, `${BYTES32}\0`]],
    [optionalMarketIdOf, 'invalid_market_id', ['', 'x']],
    [orderHashOf, 'invalid_order_hash', ['', ADDRESS, `${BYTES32}ff`]],
    [transactionHashOf, 'invalid_request', ['', ADDRESS, `${BYTES32}ff`, BYTES32.slice(2)]],
    [marketReferenceOf, 'invalid_address', ['', 'x', `${BYTES32}0`]],
    [marketReferenceOf, 'invalid_market_id', [`0x${'z'.repeat(64)}`]],
    [chainIdOf, 'invalid_chain_id', ['', '0', '-1', '1.5', '1e3', '0x89', ' 1', '9007199254740992', '99999999999999999999', 'polygon']],
    [optionalChainIdOf, 'invalid_chain_id', ['', '0']],
    [optionalOutcomeOf, 'invalid_request', ['', '2', 'maybe', '00', 'YES ', 'constructor', '__proto__']],
    [limit50, 'invalid_request', ['', '0', '101', '-1', '1.0', 'all', 'NaN', '1e2', '9'.repeat(400)]],
    [optionalPositionOf, 'invalid_request', ['', '-1', '9007199254740992', 'end']],
  ];
  for (const [parse, code, values] of refused) {
    for (const value of values) {
      it(`${parse.name || 'limit'} refuses ${JSON.stringify(value)} with ${code}`, () => {
        const error = errorOf(() => parse({ name: 'parameter', value }));
        assert.deepEqual([error.code, error.kind.status, error.fields.map(({ field }) => field)], [code, 400, ['/parameter']]);
      });
    }
  }

  for (const parse of [addressOf, marketIdOf, orderHashOf, transactionHashOf, marketReferenceOf, chainIdOf]) {
    it(`${parse.name} says that a missing parameter is required`, () => {
      const error = errorOf(() => parse({ name: 'user', value: undefined }));
      assert.deepEqual([error.code, error.fields], ['invalid_request', [{ field: '/user', message: 'required' }]]);
    });
  }

  for (const parse of [addressOf, marketReferenceOf, optionalChainIdOf, optionalOutcomeOf, limit50, optionalPositionOf]) {
    it(`${parse.name || 'limit'} refuses a parameter that is repeated or nested`, () => {
      for (const value of [[ADDRESS, ADDRESS], { a: '1' }, 7, null]) {
        const error = errorOf(() => parse({ name: 'user', value }));
        assert.deepEqual([error.code, error.fields], ['invalid_request', [{ field: '/user', message: 'given once' }]]);
      }
    });
  }
});

function errorOf(run: () => unknown): RequestError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof RequestError);
    return error;
  }
  return assert.fail('it was accepted');
}
