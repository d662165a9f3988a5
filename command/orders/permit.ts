/** The optional `permitSignature` of an order: an ERC-2612 permit in its shape; placing the order checks its signature. */
import type { Permit } from '../../engine/records/commands.js';
import { RequestError, type FieldError } from '../../engine/records/errors.js';
import { isBytes32 } from '../../engine/records/hex.js';
import { UINT256_MAX, UINT64_MAX, UINT8_MAX, uintText } from './uint.js';

/** Every field's rule; a parser's undefined means that the rule is broken. */
const rules = {
  nonce: { rule: 'is an integer of 0 to 18446744073709551615', parse: (value: unknown) => uintText(value, UINT64_MAX) },
  value: {
    rule: 'is a decimal string of 0 to 2^256-1, the amount to approve',
    parse: (value: unknown) => typeof value === 'string' ? uintText(value, UINT256_MAX) : undefined,
  },
  deadline: { rule: 'is a time in the future, in Unix seconds', parse: (value: unknown) => uintText(value, UINT64_MAX) },
  v: { rule: 'is 27 or 28 (or 0 or 1)', parse: recoveryByte },
  r: { rule: 'is 0x and 64 hex digits', parse: word },
  s: { rule: 'is 0x and 64 hex digits', parse: word },
} as const;

type Rules = typeof rules;
type Name = keyof Rules;
type Parsed = { [N in Name]: Exclude<ReturnType<Rules[N]['parse']>, undefined> };

/**
 * The permit in the form that records carry (v of 27 or 28, lower-case hex). A deadline has not passed at `atMs`. Throws
 * RequestError `invalid_permit` that names every field at fault.
 */
export function parsePermit(value: unknown, atMs: number): Permit {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidPermit([{ field: '/permitSignature', message: 'is an object; leave it out when there is no permit' }]);
  }
  const faults: FieldError[] = [];
  const parsed: Partial<Record<Name, unknown>> = {};
  for (const name of Object.keys(rules) as Name[]) {
    const given = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    parsed[name] = rules[name].parse(given);
    const past = name === 'deadline' && parsed.deadline !== undefined && Number(parsed.deadline) * 1_000 <= atMs;
    if (parsed[name] === undefined || past) faults.push({ field: `/permitSignature/${name}`, message: rules[name].rule });
  }
  const strange = Object.keys(value).find((name) => !Object.hasOwn(rules, name));
  if (strange !== undefined) faults.push({ field: '/permitSignature', message: 'has a field that is not known here' });
  if (faults.length > 0) throw invalidPermit(faults);
  return parsed as Parsed;
}

function invalidPermit(faults: readonly FieldError[]): RequestError {
  return new RequestError('invalid_permit', faults.map(({ field, message }) => `${field} ${message}`).join('; '), faults);
}

function recoveryByte(value: unknown): 27 | 28 | undefined {
  switch (uintText(value, UINT8_MAX)) {
    case '0': case '27': return 27;
    case '1': case '28': return 28;
    default: return undefined;
  }
}

function word(value: unknown): string | undefined {
  return isBytes32(value) ? value.toLowerCase() : undefined;
}
