/** The bodies of requests about a trader's orders: one set of fields documents a body, checks it and converts it to the form of records. */
import type { RequestError } from '../../engine/records/errors.js';
import { type ErrorCode } from '../../engine/records/errors.js';
import { AnyCaseAddress, AnyCaseBytes32, AnyCaseSignature, MAX_CANCELLED_ORDERS, record } from '../../engine/records/fields.js';
import { ADDRESS, BYTES32, isAddress, isBytes32, signatureBytes } from '../../engine/records/hex.js';
import { Type, type TObject } from '../../engine/records/schema-types.js';
import { parseJsonObject, type JsonObject } from '../../service/api/exact-json.js';
import { uint, type RequestField } from './request-field.js';
import { fieldError } from './order-request.js';
import { UINT64_MAX } from './uint.js';

/** A field with the error of its own. */
export interface BodyField<T> extends RequestField<T> {
  readonly code: ErrorCode;
  /** Absent from the body, the field is undefined, or the handler refuses it with a code of its own. */
  readonly optional?: true;
}

const uint32 = uint({ max: 4_294_967_295n, description: 'Seconds from now until the orders are cancelled; 0 disarms.' });

/** The fields that bodies are made of. */
export const bodyFields = {
  trader: {
    schema: { ...AnyCaseAddress, description: 'Owner of the orders, who signs the request.' }, rule: `is ${ADDRESS.meaning}`, code: 'invalid_address',
    parse: (value) => isAddress(value) ? value.toLowerCase() : undefined,
  } satisfies BodyField<string>,
  orderHashes: {
    schema: Type.Array(AnyCaseBytes32, { minItems: 1, maxItems: MAX_CANCELLED_ORDERS, description: 'Orders to cancel.' }), code: 'invalid_order_hash',
    rule: `is a list of 1 to ${MAX_CANCELLED_ORDERS} order hashes, each 0x and 64 hex digits`,
    parse: (value) => Array.isArray(value) && value.length > 0 && value.length <= MAX_CANCELLED_ORDERS && value.every(isBytes32)
      ? value.map((hash: string) => hash.toLowerCase())
      : undefined,
  } satisfies BodyField<readonly string[]>,
  marketId: {
    schema: { ...AnyCaseBytes32, description: 'Market; 32 zero bytes mean all markets of the chain.' }, rule: `is ${BYTES32.meaning}`,
    code: 'invalid_market_id', parse: (value) => isBytes32(value) ? value.toLowerCase() : undefined,
  } satisfies BodyField<string>,
  seconds: {
    ...uint32, code: 'invalid_request',
    parse: (value) => {
      const text = uint32.parse(value);
      return text === undefined ? undefined : Number(text);
    },
  } satisfies BodyField<number>,
  size: {
    ...uint({ min: 1, max: UINT64_MAX, description: 'New size of the order, its filled part included; 6 decimals.' }), code: 'invalid_size',
  } satisfies BodyField<string>,
  deadline: {
    ...uint({ max: UINT64_MAX, description: 'Unix seconds until which the signed request is good.' }), code: 'invalid_request', optional: true,
  } satisfies BodyField<string>,
  signature: {
    schema: { ...AnyCaseSignature, description: 'The trader\'s EIP-712 signature of the request in the chain\'s orderDomain: r, s, v.' },
    rule: 'is 65 bytes: 0x and 130 hex digits', code: 'invalid_request_signature', optional: true, parse: (value) => signatureBytes(value),
  } satisfies BodyField<Buffer>,
  chainId: {
    schema: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Chain of the orders; may be left out where there is only one.' }),
    rule: 'is the id of a chain', code: 'invalid_chain_id', optional: true,
    parse: (value) => typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined,
  } satisfies BodyField<number>,
} as const;

type Fields = Readonly<Record<string, BodyField<unknown>>>;
type Parsed<F extends Fields> = {
  readonly [Name in keyof F]: F[Name] extends { readonly optional: true }
    ? ReturnType<F[Name]['parse']>
    : Exclude<ReturnType<F[Name]['parse']>, undefined>
};

/** The schema of a body with these fields. */
export function bodySchema(fields: Fields): TObject {
  const entries = Object.entries(fields).map(([name, { schema, optional }]) => [name, optional === true ? Type.Optional(schema) : schema] as const);
  return record(Object.fromEntries(entries));
}

/** The fields of a body; `null` stands for an absent one. Throws RequestError for the first fault, in the order of the fields. */
export function parseBody<const F extends Fields>(body: Uint8Array | JsonObject, fields: F): Parsed<F> {
  const object = body instanceof Uint8Array ? parseJsonObject(body) : body;
  const unknown = Object.keys(object).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) throw unknownField(unknown);
  return Object.fromEntries(Object.entries(fields).map(([name, { parse, rule, code, optional }]) => {
    const given = object[name] ?? undefined;
    if (given === undefined && optional === true) return [name, undefined];
    const value = parse(given);
    if (value === undefined) throw fieldError(code, `/${name}`, given === undefined ? 'is missing' : rule);
    return [name, value];
  })) as Parsed<F>;
}

function unknownField(name: string): RequestError {
  const field = `/${name.slice(0, 40).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return fieldError('invalid_request', field, 'is not a field that is known here; leave it out');
}
