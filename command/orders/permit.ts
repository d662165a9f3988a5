/**
 * The optional `permitSignature` of an order: the form of an ERC-2612 permit. Its signature is checked when the order
 * is placed.
 */
import { Type } from '../../engine/records/schema-types.js';
import type { OrderPermit } from '../../engine/records/commands.js';
import { RequestError, type FieldError } from '../../engine/records/errors.js';
import { AnyCaseBytes32, RecoveryId } from '../../engine/records/fields.js';
import { BYTES32, isBytes32 } from '../../engine/records/hex.js';
import { patterns, UINT256_MAX, UINT64_MAX } from '../../engine/records/integers.js';
import { named } from '../../engine/records/named-schema.js';
import {
  FieldFault, choice, objectSchema, pointerPart, ruledField, uint, uintText, UNKNOWN_FIELD, type RequestField, type ValueOf,
} from '../../service/api/request-fields.js';

const word = ruledField({ ...AnyCaseBytes32, description: 'Signature component.' }, `is ${BYTES32.meaning}`, (value) => (
  isBytes32(value) ? value.toLowerCase() : undefined));

const recoveryByte = choice(RecoveryId, [0, 1, 27, 28], '27 or 28 (or 0 or 1)');

const FUTURE = 'is a time in the future, in Unix seconds';

const fields = {
  nonce: uint({ max: UINT64_MAX, description: 'The owner\'s permit nonce at the stablecoin.' }),
  value: ruledField(
    Type.String({ pattern: patterns.uint256, description: 'Amount to approve, of 0 to 2^256-1.' }),
    'is a decimal string of 0 to 2^256-1, the amount to approve', (value) => typeof value === 'string' ? uintText(value, UINT256_MAX) : undefined,
  ),
  deadline: uint({ max: UINT64_MAX, description: 'Unix seconds until which the permit is good.', rule: FUTURE }),
  v: { ...recoveryByte, parse: (value: unknown) => normalRecoveryByte(recoveryByte.parse(value)) },
  r: word,
  s: word,
} as const satisfies Record<string, RequestField<unknown>>;

/** A permit in a request. */
export const PermitSignature = named('PermitSignature', Type.Object(objectSchema(fields).properties, {
  additionalProperties: false, description: 'ERC-2612 permit, for buying without an approval made before.',
}));

type Fields = typeof fields;
type Name = keyof Fields;
type Parsed = { [N in Name]: ValueOf<Fields[N]> };

/**
 * The permit in the form of records (v of 27 or 28, lower-case hex). Its deadline must be after `atMs`. Throws
 * RequestError `invalid_permit`, which names every wrong field.
 */
export function parsePermit(value: unknown, atMs: number): OrderPermit {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidPermit([{ field: '/permitSignature', message: 'is an object; leave it out when there is no permit' }]);
  }
  const faults: FieldError[] = [];
  const values: Partial<Record<Name, unknown>> = {};
  for (const name of Object.keys(fields) as Name[]) {
    const given = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    const parsed = values[name] = fields[name].parse(given);
    const isPast = name === 'deadline' && Number(parsed) * 1_000 <= atMs;
    const message = parsed instanceof FieldFault ? parsed.message : isPast ? FUTURE : undefined;
    if (message !== undefined) faults.push({ field: `/permitSignature/${name}`, message });
  }
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) faults.push({ field: `/permitSignature/${pointerPart(unknown)}`, message: UNKNOWN_FIELD });
  if (faults.length > 0) throw invalidPermit(faults);
  return values as Parsed;
}

function invalidPermit(faults: readonly FieldError[]): RequestError {
  return new RequestError('invalid_permit', '', faults);
}

function normalRecoveryByte(v: 0 | 1 | 27 | 28 | FieldFault): 27 | 28 | FieldFault {
  switch (v) {
    case 0: return 27;
    case 1: return 28;
    default: return v;
  }
}
