/** The body of `POST /api/v1/orders`: one set of fields documents it, checks it and converts it to the form of records. */
import { Type } from '../../engine/records/schema-types.js';
import type { ErrorObject } from 'ajv';
import { AnyCaseAddress, AnyCaseBytes32, AnyCaseSignature, record } from '../../engine/records/fields.js';
import { RequestError, type ErrorCode, type FieldError } from '../../engine/records/errors.js';
import { ADDRESS, BYTES32 } from '../../engine/records/hex.js';
import { named } from '../../engine/records/named-schema.js';
import { compileSchema } from '../../engine/records/schema.js';
import { MIN_LIFETIME_S } from '../../engine/rules/limits.js';
import type { OrderFields } from '../signing/typed-data.js';
import type { JsonObject } from '../../engine/records/exact-json.js';
import { PermitSignature } from './permit.js';
import { choice, objectSchema, uint } from './request-field.js';
import { UINT64_MAX } from './uint.js';

/** Hex fields, checked with the body's shape. Address checksums are not checked: the signature proves the trader better. */
const hexFields = {
  marketId: { schema: { ...AnyCaseBytes32, description: 'Market to trade in.' }, rule: `is ${BYTES32.meaning}` },
  trader: { schema: { ...AnyCaseAddress, description: 'Signer and owner of the order.' }, rule: `is ${ADDRESS.meaning}` },
  makerFeeRecipient: {
    schema: Type.String({ pattern: '^0x0{40}$', description: 'The zero address.' }), rule: 'is the zero address, 0x and 40 zeros',
  },
};

const { makerFeeRecipient, ...leadingHex } = hexFields;

const hexRules = new Map(Object.entries(hexFields).map(([name, { rule }]) => [`/order/${name}`, rule]));

/** Prices of orders, in ticks of 1e-6. */
export const PRICE_RANGE = { min: 1, max: 999_999 } as const;

/** Integer fields, checked one by one after the shape: they may be numbers, bigints or strings, and some have their own error codes. */
const integerFields = {
  side: choice([0, 1], { meaning: '0 (BUY) or 1 (SELL)', description: '0 = BUY, 1 = SELL.' }),
  outcome: choice([0, 1], { meaning: '0 (YES) or 1 (NO)', description: '0 = YES, 1 = NO.' }),
  price: uint({ min: PRICE_RANGE.min, max: BigInt(PRICE_RANGE.max), description: 'Price of one share in collateral, 6 decimals: 1000000 = 1.00.' }),
  size: uint({ min: 1, max: UINT64_MAX, description: 'Shares, 6 decimals.' }),
  nonce: uint({ max: UINT64_MAX, description: 'Unique among the trader\'s live orders.' }),
  expiration: uint({ max: UINT64_MAX, unit: ', in Unix seconds', description: 'Unix seconds, at least 60 ahead of the server.' }),
};

/** The body as it is sent. */
export const PlaceOrderRequest = named('PlaceOrderRequest', record({
  order: named('Order', Type.Object(objectSchema({ ...leadingHex, ...integerFields, makerFeeRecipient }).properties, {
    additionalProperties: false, description: 'The order, field for field as signed.',
  })),
  signature: { ...AnyCaseSignature, description: 'EIP-712 signature of the order in the chain\'s orderDomain: r, s, v.' },
  permitSignature: Type.Optional(PermitSignature),
}));

const AnyInteger = Type.Unknown();
/** A field with its own error code, which is also the error when the field is missing; so the shape does not require it. */
const CheckedLater = Type.Optional(Type.Unknown());

/** Rejects unknown fields: they are not signed, so ignoring them would change the order that the client meant. */
const validateShape = compileSchema(record({
  order: record({
    marketId: hexFields.marketId.schema, trader: hexFields.trader.schema, makerFeeRecipient: hexFields.makerFeeRecipient.schema,
    side: AnyInteger, outcome: AnyInteger, price: CheckedLater, size: CheckedLater, nonce: AnyInteger, expiration: CheckedLater,
  }),
  signature: Type.Optional(Type.Unknown()),
  permitSignature: Type.Optional(Type.Unknown()),
}));

/**
 * The order's fields. Throws RequestError for the first fault in this order: the shape and the fields without their own error code
 * (`invalid_request`), then price, size, expiration. Does not check the 60 s minimum; see `expiresTooSoon`.
 */
export function parseOrder(body: JsonObject): OrderFields {
  if (!validateShape(body)) throw shapeError(validateShape.errors?.[0]);
  const { order } = body;
  const side = integerFields.side.parse(order.side) ?? refuse('side', 'invalid_request');
  const outcome = integerFields.outcome.parse(order.outcome) ?? refuse('outcome', 'invalid_request');
  const nonce = integerFields.nonce.parse(order.nonce) ?? refuse('nonce', 'invalid_request');
  const price = integerFields.price.parse(order.price) ?? refuse('price', 'invalid_price');
  const size = integerFields.size.parse(order.size) ?? refuse('size', 'invalid_size');
  const expiration = integerFields.expiration.parse(order.expiration) ?? refuse('expiration', 'invalid_expiration');
  return {
    marketId: order.marketId.toLowerCase(), trader: order.trader.toLowerCase(), side, outcome, price: Number(price), size, nonce, expiration,
  };
}

function refuse(name: keyof typeof integerFields, code: ErrorCode): never {
  throw fieldError(code, `/order/${name}`, integerFields[name].rule);
}

/** Whether an order that comes at `atMs` expires less than 60 seconds later. The engine has the same rule. */
export function expiresTooSoon(expiration: string, atMs: number): boolean {
  return Number(expiration) < Math.floor(atMs / 1_000) + MIN_LIFETIME_S;
}

/** The `invalid_expiration` of an order that `expiresTooSoon`. */
export function tooSoon(expiration: string, atMs: number): RequestError {
  const earliest = Math.floor(atMs / 1_000) + MIN_LIFETIME_S;
  return fieldError('invalid_expiration', '/order/expiration', `must be ${earliest} or later for this request, but is ${expiration}; the service's time is ${Math.floor(atMs / 1_000)}`);
}

/** A RequestError about one field of the request. */
export function fieldError(
  code: ErrorCode, field: string, message: string, extra?: Readonly<Record<string, unknown>>,
): RequestError {
  return new RequestError(code, `${field} ${message}`, [{ field, message }], extra);
}

/** The error for ajv's finding, with a JSON pointer (RFC 6901) to the field itself, also when the field is missing or unknown. */
function shapeError(error: ErrorObject | undefined): RequestError {
  const { field, message } = error === undefined ? { field: '', message: 'is not of the right form' } : fieldOf(error);
  return fieldError('invalid_request', field, message);
}

function fieldOf({ instancePath, keyword, params, message }: ErrorObject): FieldError {
  switch (keyword) {
    case 'required': return { field: `${instancePath}/${pointer(params['missingProperty'])}`, message: 'is missing' };
    case 'additionalProperties':
      return { field: `${instancePath}/${pointer(params['additionalProperty'])}`, message: 'is not a field that is known here; leave it out' };
    case 'pattern': return { field: instancePath, message: hexRules.get(instancePath) ?? 'is not of the right form' };
    default: return { field: instancePath, message: message ?? `breaks the rule ${keyword}` };
  }
}

/** A name as part of a JSON pointer. It is shortened, since the client chose it. */
function pointer(name: unknown): string {
  return String(name).slice(0, 40).replaceAll('~', '~0').replaceAll('/', '~1');
}
