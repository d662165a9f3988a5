/** Path and query parameters: from what a client sent to what a read takes, or a RequestError that says what was expected. */
import { RequestError, type ErrorCode } from '../engine/records/errors.js';
import { NO, YES, type Outcome } from '../engine/records/fields.js';

/** A parameter as an HTTP router hands it over: absent, a string, or (repeated or nested) something else. */
export interface Parameter {
  /** Its name in the path or query. */
  readonly name: string;
  readonly value: unknown;
}

/** A market by its contract's address or by its id; lower-case hex. */
export type MarketReference = { readonly marketId: string } | { readonly contractAddress: string };

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const BYTES32 = /^0x[0-9a-f]{64}$/i;
const OUTCOMES: Readonly<Record<string, Outcome>> = { yes: YES, 0: YES, no: NO, 1: NO };

/** A required address, in lower case. Throws invalid_address; invalid_request where it is missing. */
export function addressOf(parameter: Parameter): string {
  return hexOf(parameter, ADDRESS, 'invalid_address');
}

/** A required market id, in lower case. Throws invalid_market_id; invalid_request where it is missing. */
export function marketIdOf(parameter: Parameter): string {
  return hexOf(parameter, BYTES32, 'invalid_market_id');
}

/** A market id or undefined where it is absent. Throws invalid_market_id. */
export function optionalMarketIdOf(parameter: Parameter): string | undefined {
  return parameter.value === undefined ? undefined : marketIdOf(parameter);
}

/** A required order hash, in lower case. Throws invalid_order_hash; invalid_request where it is missing. */
export function orderHashOf(parameter: Parameter): string {
  return hexOf(parameter, BYTES32, 'invalid_order_hash');
}

/** A required transaction hash, in lower case. Throws invalid_request. */
export function transactionHashOf(parameter: Parameter): string {
  const text = textOf(parameter);
  if (!BYTES32.test(text)) throw refused(parameter, '0x and 64 hex digits');
  return text.toLowerCase();
}

/** A required market: 42 characters are its contract's address, 66 its id. Throws invalid_address or invalid_market_id. */
export function marketReferenceOf(parameter: Parameter): MarketReference {
  const text = textOf(parameter);
  return text.length === 66 ? { marketId: marketIdOf(parameter) } : { contractAddress: addressOf(parameter) };
}

/** A required chain id. Throws invalid_chain_id; invalid_request where it is missing. */
export function chainIdOf(parameter: Parameter): number {
  const chainId = integerOf(textOf(parameter));
  if (chainId === undefined || chainId === 0) {
    throw new RequestError('invalid_chain_id', '', [field(parameter, `an integer of 1 to ${Number.MAX_SAFE_INTEGER}`)]);
  }
  return chainId;
}

/** A chain id or undefined where it is absent. Throws invalid_chain_id. */
export function optionalChainIdOf(parameter: Parameter): number | undefined {
  return parameter.value === undefined ? undefined : chainIdOf(parameter);
}

/** YES or 0, NO or 1, in any case; undefined where it is absent. Throws invalid_request. */
export function optionalOutcomeOf(parameter: Parameter): Outcome | undefined {
  if (parameter.value === undefined) return undefined;
  const text = textOf(parameter).toLowerCase();
  if (!Object.hasOwn(OUTCOMES, text)) throw refused(parameter, 'YES or 0, NO or 1');
  return OUTCOMES[text];
}

/** How many entries an answer may have: 1 to `max`, `byDefault` where it is absent. Throws invalid_request; never clamps. */
export function limitOf(parameter: Parameter, { byDefault, max }: { byDefault: number; max: number }): number {
  if (parameter.value === undefined) return byDefault;
  const limit = integerOf(textOf(parameter));
  if (limit === undefined || limit < 1 || limit > max) throw refused(parameter, `an integer of 1 to ${max}`);
  return limit;
}

/** A log position or another number that the engine gives, or undefined where it is absent. Throws invalid_request. */
export function optionalPositionOf(parameter: Parameter): number | undefined {
  if (parameter.value === undefined) return undefined;
  const position = integerOf(textOf(parameter));
  if (position === undefined) throw refused(parameter, `an integer of 0 to ${Number.MAX_SAFE_INTEGER}`);
  return position;
}

function hexOf(parameter: Parameter, pattern: RegExp, code: ErrorCode): string {
  const text = textOf(parameter);
  if (!pattern.test(text)) throw new RequestError(code, '', [field(parameter, 'hex digits after 0x, of the right number')]);
  return text.toLowerCase();
}

function textOf(parameter: Parameter): string {
  if (parameter.value === undefined) throw refused(parameter, 'required');
  if (typeof parameter.value !== 'string') throw refused(parameter, 'given once');
  return parameter.value;
}

/** Decimal digits as an integer of 0 to 2^53-1; undefined for anything else. */
function integerOf(text: string): number | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

function refused(parameter: Parameter, message: string): RequestError {
  return new RequestError('invalid_request', `${parameter.name}: ${message}`, [field(parameter, message)]);
}

function field(parameter: Parameter, message: string) {
  return { field: `/${parameter.name}`, message };
}
