/** The body of `POST /api/v1/orders`, checked field by field and brought to the form that records carry. */
import Type from 'typebox';
import type { ErrorObject } from 'ajv';
import { BUY, NO, SELL, YES, record, type Outcome, type Side } from '../../engine/records/fields.js';
import { RequestError, type ErrorCode, type FieldError } from '../../engine/records/errors.js';
import { MIN_LIFETIME_S } from '../../engine/rules/limits.js';
import { compileSchema } from '../../engine/records/schema.js';
import type { JsonObject } from './exact-json.js';
import { ADDRESS_PATTERN, BYTES32_PATTERN } from '../../engine/records/hex.js';
import type { OrderFields } from '../signing/typed-data.js';
import { UINT64_MAX, uintText } from './uint.js';

const MAX_PRICE = 999_999;

const AnyCaseBytes32 = Type.String({ pattern: BYTES32_PATTERN });

/**
 * Any case, and the checksum of EIP-55 is not looked at: the address is signed, and the signer must be just this one, which is a
 * better proof that nobody mistyped it.
 */
const AnyCaseAddress = Type.String({ pattern: ADDRESS_PATTERN });

const ZERO_PATTERN = '^0x0{40}$';
const ZeroAddress = Type.String({ pattern: ZERO_PATTERN });

/** The patterns in words. */
const meaning: Readonly<Record<string, string>> = {
  [BYTES32_PATTERN]: 'is 0x and 64 hex digits',
  [ADDRESS_PATTERN]: 'is 0x and 40 hex digits',
  [ZERO_PATTERN]: 'is the zero address, 0x and 40 zeros',
};

/** Integers are looked at one by one afterwards, since they may be numbers, bigints or strings, and have errors of their own. */
const AnyInteger = Type.Unknown();

/** Fields that this does not name are refused: they would not be signed, so to leave them out would be to change the order. */
const validateShape = compileSchema(record({
  order: record({
    marketId: AnyCaseBytes32, trader: AnyCaseAddress, side: AnyInteger, outcome: AnyInteger, price: Type.Optional(AnyInteger),
    size: Type.Optional(AnyInteger), nonce: AnyInteger, expiration: Type.Optional(AnyInteger), makerFeeRecipient: ZeroAddress,
  }),
  signature: Type.Optional(Type.Unknown()),
  permitSignature: Type.Optional(Type.Unknown()),
}));

/**
 * The order's fields. Throws RequestError for the first fault in this order: the shape and the fields without a code of their own
 * (`invalid_request`), then price, size, expiration. How near the expiration is, is `expiresTooSoon`'s to say.
 */
export function parseOrder(body: JsonObject): OrderFields {
  if (!validateShape(body)) throw shapeError(validateShape.errors![0]!);
  const { order } = body;
  const side = binary(order.side, '/order/side', '0 (BUY) or 1 (SELL)');
  const outcome = binary(order.outcome, '/order/outcome', '0 (YES) or 1 (NO)');
  const nonce = uintText(order.nonce, UINT64_MAX);
  if (nonce === undefined) throw fieldError('invalid_request', '/order/nonce', 'is an integer of 0 to 18446744073709551615');
  const price = Number(uintText(order.price, UINT64_MAX) ?? NaN);
  if (!(price >= 1 && price <= MAX_PRICE)) throw fieldError('invalid_price', '/order/price', `is an integer of 1 to ${MAX_PRICE}`);
  const size = uintText(order.size, UINT64_MAX);
  if (size === undefined || size === '0') {
    throw fieldError('invalid_size', '/order/size', 'is an integer of 1 to 18446744073709551615');
  }
  const expiration = uintText(order.expiration, UINT64_MAX);
  if (expiration === undefined) {
    throw fieldError('invalid_expiration', '/order/expiration', 'is an integer of 0 to 18446744073709551615, in Unix seconds');
  }
  return {
    marketId: order.marketId.toLowerCase(), trader: order.trader.toLowerCase(), side: side === 0 ? BUY : SELL,
    outcome: outcome === 0 ? YES : NO, price, size, nonce, expiration,
  };
}

/** Whether an order that comes at `atMs` expires less than 60 seconds later. The engine has the same rule. */
export function expiresTooSoon(expiration: string, atMs: number): boolean {
  return Number(expiration) < Math.floor(atMs / 1_000) + MIN_LIFETIME_S;
}

/** The `invalid_expiration` of an order that `expiresTooSoon`. */
export function tooSoon(expiration: string, atMs: number): RequestError {
  const earliest = Math.floor(atMs / 1_000) + MIN_LIFETIME_S;
  return fieldError('invalid_expiration', '/order/expiration', `is ${earliest} or later as this request comes, not ${expiration}`);
}

/** A request's fault in one field. */
export function fieldError(
  code: ErrorCode, field: string, message: string, extra?: Readonly<Record<string, unknown>>,
): RequestError {
  return new RequestError(code, `${field} ${message}`, [{ field, message }], extra);
}

function binary(value: unknown, field: string, values: string): Side | Outcome {
  if (value === 0 || value === 1) return value;
  if (value === '0' || value === '1') return value === '0' ? 0 : 1;
  throw fieldError('invalid_request', field, `is ${values}`);
}

/** What ajv found, with a JSON pointer (RFC 6901) to the field itself, also where it is missing or one too many. */
function shapeError(error: ErrorObject): RequestError {
  const { field, message } = fieldOf(error);
  return fieldError('invalid_request', field, message);
}

function fieldOf({ instancePath, keyword, params, message }: ErrorObject): FieldError {
  switch (keyword) {
    case 'required': return { field: `${instancePath}/${pointer(params['missingProperty'])}`, message: 'is missing' };
    case 'additionalProperties':
      return { field: `${instancePath}/${pointer(params['additionalProperty'])}`, message: 'is not a field that is known here; leave it out' };
    case 'pattern': return { field: instancePath, message: meaning[String(params['pattern'])]! };
    default: return { field: instancePath, message: message ?? `breaks the rule ${keyword}` };
  }
}

/** A name as part of a JSON pointer, shortened: it is the client's text. */
function pointer(name: unknown): string {
  return String(name).slice(0, 40).replaceAll('~', '~0').replaceAll('/', '~1');
}
