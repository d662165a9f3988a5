/**
 * The body of `POST /api/v1/orders`: one set of fields documents it, checks it and converts it to the form of records.
 */
import { Type } from '../../engine/records/schema-types.js';
import type { ErrorObject } from 'ajv';
import * as shown from '../../engine/records/answer-fields.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { AnyCaseAddress, AnyCaseBytes32, AnyCaseSignature, SelfTrade, TimeInForce, record } from '../../engine/records/fields.js';
import { RequestError, type ErrorCode, type FieldError } from '../../engine/records/errors.js';
import { ADDRESS, BYTES32 } from '../../engine/records/hex.js';
import { UINT64_MAX } from '../../engine/records/integers.js';
import { named } from '../../engine/records/named-schema.js';
import { compileSchema } from '../../engine/records/schema.js';
import { MIN_LIFETIME_S } from '../../engine/rules/limits.js';
import type { OrderFields } from '../signing/typed-data.js';
import type { JsonObject } from '../../engine/records/exact-json.js';
import { FieldFault, choice, objectSchema, pointerPart, uint, UNKNOWN_FIELD, type RequestField } from '../../service/api/request-fields.js';
import { PermitSignature } from './permit.js';

/**
 * Hex fields, checked with the body's shape. Address checksums are not checked: the signature proves the trader better.
 */
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

/**
 * Integer fields, checked one by one after the shape: they may be numbers, bigints or strings, and some have their own
 * error codes.
 */
const integerFields = {
  side: choice(shown.Side, [0, 1], '0 (BUY) or 1 (SELL)'),
  outcome: choice(shown.Outcome, [0, 1], '0 (YES) or 1 (NO)'),
  price: uint({
    min: PRICE_RANGE.min, max: BigInt(PRICE_RANGE.max), code: 'invalid_price', description: 'Price of one share in collateral, 6 decimals: 1000000 = 1.00.',
  }),
  size: uint({ min: 1, max: UINT64_MAX, code: 'invalid_size', description: 'Shares, 6 decimals.' }),
  nonce: uint({ max: UINT64_MAX, description: 'Unique among the trader\'s live orders.' }),
  expiration: uint({
    max: UINT64_MAX, code: 'invalid_expiration', rule: `is an integer of 0 to ${UINT64_MAX}, in Unix seconds`,
    description: 'Unix seconds, at least 60 ahead of the server.',
  }),
};

/** What an order asks for beside what its trader signs; recorded where it is not the default. */
export type OrderTerms = Pick<PlaceOrder, 'timeInForce' | 'postOnly' | 'notAfter' | 'selfTrade'>;

const NOT_SIGNED = 'The order\'s signature does not cover it.';

const notAfterField = uint({
  max: BigInt(Number.MAX_SAFE_INTEGER), rule: `is an integer of 0 to ${Number.MAX_SAFE_INTEGER}, in milliseconds since the Unix epoch`,
  description: `Milliseconds since the Unix epoch: later than this, the order is refused with too_late instead of accepted. ${NOT_SIGNED}`,
});

const TimeInForceInput = named('TimeInForce', Type.Union(TimeInForce.anyOf));
const SelfTradeInput = named('SelfTrade', Type.Union(SelfTrade.anyOf));

/** The terms as they are sent; `null` stands for an absent one. A `default` would make generated clients require them. */
const termsSchema = {
  timeInForce: Type.Optional({
    ...TimeInForceInput,
    description: 'GTC (default): what does not match at once rests. FOK: all of the order matches at once, or it is refused with not_filled and nothing happens. '
      + `FAK: what does not match at once is cancelled. ${NOT_SIGNED}`,
  }),
  postOnly: Type.Optional(Type.Boolean({
    description: `The order is refused with would_match if it would match at once. Not with FOK or FAK. ${NOT_SIGNED}`,
  })),
  notAfter: Type.Optional(notAfterField.schema),
  selfTrade: Type.Optional({
    ...SelfTradeInput,
    description: 'What happens when the order would match an order of the same trader: cancel_older (default) cancels the resting one, cancel_newer what is '
      + `left of this one. ${NOT_SIGNED}`,
  }),
};

/** The body as it is sent. */
export const PlaceOrderRequest = named('PlaceOrderRequest', record({
  order: named('Order', Type.Object(objectSchema({ ...leadingHex, ...integerFields, makerFeeRecipient }).properties, {
    additionalProperties: false, description: 'The order, field for field as signed.',
  })),
  signature: { ...AnyCaseSignature, description: 'EIP-712 signature of the order in the chain\'s orderDomain: r, s, v.' },
  permitSignature: Type.Optional(PermitSignature),
  ...termsSchema,
}));

/** The same with an optional signature. */
export const CheckOrderRequest = named('CheckOrderRequest', record({
  ...PlaceOrderRequest.properties, signature: Type.Optional(PlaceOrderRequest.properties.signature),
}));

const AnyInteger = Type.Unknown();
/**
 * A field with its own error code, which is also the error when the field is missing; so the shape does not require it.
 */
const CheckedLater = Type.Optional(Type.Unknown());

/** Rejects unknown fields: they are not signed, so ignoring them would change the order that the client meant. */
const validateShape = compileSchema(record({
  order: record({
    marketId: hexFields.marketId.schema, trader: hexFields.trader.schema,
    makerFeeRecipient: hexFields.makerFeeRecipient.schema,
    side: AnyInteger, outcome: AnyInteger, price: CheckedLater, size: CheckedLater, nonce: AnyInteger,
    expiration: CheckedLater,
  }),
  signature: Type.Optional(Type.Unknown()),
  permitSignature: Type.Optional(Type.Unknown()),
  timeInForce: Type.Optional(Type.Unknown()), postOnly: Type.Optional(Type.Unknown()),
  notAfter: Type.Optional(Type.Unknown()), selfTrade: Type.Optional(Type.Unknown()),
}));

/**
 * The order's fields. Throws RequestError for the first fault in this order: the shape and the fields without their own
 * error code (`invalid_request`), then price, size, expiration. Does not check the 60 s minimum; see `expiresTooSoon`.
 */
export function parseOrder(body: JsonObject): OrderFields {
  if (!validateShape(body)) throw shapeError(validateShape.errors?.[0]);
  const { order } = body;
  const side = valueIn('/order/side', integerFields.side, order.side);
  const outcome = valueIn('/order/outcome', integerFields.outcome, order.outcome);
  const nonce = valueIn('/order/nonce', integerFields.nonce, order.nonce);
  const price = valueIn('/order/price', integerFields.price, order.price);
  const size = valueIn('/order/size', integerFields.size, order.size);
  const expiration = valueIn('/order/expiration', integerFields.expiration, order.expiration);
  return {
    marketId: order.marketId.toLowerCase(), trader: order.trader.toLowerCase(), side, outcome, price: Number(price),
    size, nonce, expiration,
  };
}

/**
 * The terms in a body whose shape `parseOrder` has checked; undefined when all are the defaults. Throws RequestError
 * `invalid_request`.
 */
export function parseTerms(body: JsonObject): OrderTerms | undefined {
  const { timeInForce, postOnly, notAfter, selfTrade } = body;
  if (timeInForce === undefined && postOnly === undefined && notAfter === undefined && selfTrade === undefined) {
    return undefined;
  }
  const terms: OrderTerms = {};
  const inForce = choiceIn('/timeInForce', timeInForce, ['GTC', 'FOK', 'FAK'] as const);
  if (inForce !== undefined && inForce !== 'GTC') terms.timeInForce = inForce;
  if (choiceIn('/postOnly', postOnly, [true, false] as const) === true) terms.postOnly = true;
  if (notAfter !== undefined && notAfter !== null) {
    terms.notAfter = Number(valueIn('/notAfter', notAfterField, notAfter));
  }
  if (choiceIn('/selfTrade', selfTrade, ['cancel_older', 'cancel_newer'] as const) === 'cancel_newer') terms.selfTrade = 'cancel_newer';
  if (terms.postOnly === true && terms.timeInForce !== undefined) refused('/postOnly', `contradicts timeInForce: a ${terms.timeInForce} order never rests`);
  return Object.keys(terms).length === 0 ? undefined : terms;
}

/** One of these values; undefined for an absent field. */
function choiceIn<const V extends string | boolean>(
  field: string, given: unknown, values: readonly V[],
): V | undefined {
  if (given === undefined || given === null) return undefined;
  return values.find((each) => each === given) ?? refused(field, `is ${values.join(' or ')}`);
}

function refused(field: string, message: string): never {
  throw fieldError('invalid_request', field, message);
}

/** The field's value. Throws its fault as a RequestError that names the field by a JSON pointer. */
function valueIn<T>(field: string, { parse }: RequestField<T>, given: unknown): T {
  const value = parse(given);
  if (value instanceof FieldFault) throw fieldError(value.code, field, value.message);
  return value;
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
  return new RequestError(code, '', [{ field, message }], extra);
}

/**
 * The error for ajv's finding, with a JSON pointer (RFC 6901) to the field itself, also when the field is missing or
 * unknown.
 */
function shapeError(error: ErrorObject | undefined): RequestError {
  const { field, message } = error === undefined ? { field: '', message: 'is not of the right form' } : fieldOf(error);
  return fieldError('invalid_request', field, message);
}

function fieldOf({ instancePath, keyword, params, message }: ErrorObject): FieldError {
  switch (keyword) {
    case 'required': return { field: `${instancePath}/${pointerPart(String(params['missingProperty']))}`, message: 'is missing' };
    case 'additionalProperties':
      return { field: `${instancePath}/${pointerPart(String(params['additionalProperty']))}`, message: UNKNOWN_FIELD };
    case 'pattern': return { field: instancePath, message: hexRules.get(instancePath) ?? 'is not of the right form' };
    default: return { field: instancePath, message: message ?? `breaks the rule ${keyword}` };
  }
}
