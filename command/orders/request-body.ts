/**
 * The bodies of requests about a trader's orders: one set of fields documents a body, checks it and converts it to the
 * form of records.
 */
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { AnyCaseAddress, AnyCaseBytes32, AnyCaseSignature, ChainIdInput, MAX_CANCELLED_ORDERS, record } from '../../engine/records/fields.js';
import { ADDRESS, BYTES32, SIGNATURE, isAddress, isBytes32 } from '../../engine/records/hex.js';
import { UINT64_MAX } from '../../engine/records/integers.js';
import { signatureBytes } from '../signing/recover.js';
import { Type, type TObject } from '../../engine/records/schema-types.js';
import { FieldFault, optional, refuseUnknown, ruledField, uint, type RequestField, type ValueOf } from '../../service/api/request-fields.js';
import { fieldError } from './order-request.js';

const seconds = uint({ max: 4_294_967_295n, description: '' });
/** Longer waits are taken, too; nobody needs them. */
const SecondsInput = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: 'Seconds from now until the orders are cancelled; 0 disarms.' });

/**
 * The fields that bodies are made of. Without `deadline` and `signature`, the handler refuses the request with a code
 * of its own.
 */
export const bodyFields = {
  trader: ruledField({ ...AnyCaseAddress, description: 'Owner of the orders, who signs the request.' }, `is ${ADDRESS.meaning}`,
    (value) => isAddress(value) ? value.toLowerCase() : undefined, 'invalid_address'),
  orderHashes: ruledField(
    Type.Array(AnyCaseBytes32, { minItems: 1, maxItems: MAX_CANCELLED_ORDERS, description: 'Orders to cancel.' }),
    `is a list of 1 to ${MAX_CANCELLED_ORDERS} order hashes, each ${BYTES32.meaning}`,
    (value) => Array.isArray(value) && value.length > 0 && value.length <= MAX_CANCELLED_ORDERS
      && value.every(isBytes32)
      ? value.map((hash: string) => hash.toLowerCase())
      : undefined, 'invalid_order_hash'),
  marketId: ruledField({ ...AnyCaseBytes32, description: 'Market; 32 zero bytes mean all markets of the chain.' }, `is ${BYTES32.meaning}`,
    (value) => isBytes32(value) ? value.toLowerCase() : undefined, 'invalid_market_id'),
  seconds: { ...seconds, schema: SecondsInput, parse: (value: unknown) => {
    const text = seconds.parse(value);
    return text instanceof FieldFault ? text : Number(text);
  } },
  size: uint({ min: 1, max: UINT64_MAX, description: 'New size of the order, its filled part included; 6 decimals.', code: 'invalid_size' }),
  deadline: optional(uint({ max: UINT64_MAX, description: 'Unix seconds until which the signed request is good.' })),
  signature: optional(ruledField({ ...AnyCaseSignature, description: 'The trader\'s EIP-712 signature of the request in the chain\'s orderDomain: r, s, v.' },
    `is 65 bytes: ${SIGNATURE.meaning}`, (value) => signatureBytes(value), 'invalid_request_signature')),
  chainId: optional(ruledField(
    { ...ChainIdInput, description: 'Chain of the orders; may be left out where there is only one.' },
    'is the id of a chain', (value) => typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined, 'invalid_chain_id')),
} as const;

type Fields = Readonly<Record<string, RequestField<unknown>>>;

/** The schema of a body with these fields. */
export function bodySchema(fields: Fields): TObject {
  const entries = Object.entries(fields).map(([name, { schema, required }]) => [
    name, required ? schema : Type.Optional(schema),
  ] as const);
  return record(Object.fromEntries(entries));
}

/**
 * The fields of a body; `null` stands for an absent one. Throws RequestError for the first fault, in the order of the
 * fields.
 */
export function parseBody<const F extends Fields>(body: Uint8Array, fields: F): { readonly [Name in keyof F]: ValueOf<F[Name]> } {
  const object = parseJsonObject(body);
  refuseUnknown(object, fields);
  return Object.fromEntries(Object.entries(fields).map(([name, { parse }]) => {
    const given = object[name] ?? undefined;
    const value = parse(given);
    if (value instanceof FieldFault) throw fieldError(value.code, `/${name}`, given === undefined ? 'is missing' : value.message);
    return [name, value];
  })) as { readonly [Name in keyof F]: ValueOf<F[Name]> };
}
