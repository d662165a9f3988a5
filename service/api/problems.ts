/**
 * Errors as `application/problem+json` answers (RFC 9457), from the error table. Details of unexpected errors are never
 * sent.
 */
import * as field from '../../engine/records/answer-fields.js';
import { RequestError } from '../../engine/records/errors.js';
import { named } from '../../engine/records/named-schema.js';
import { Type } from '../../engine/records/schema-types.js';
import type { ErrorAnswer, ErrorShape, Occurrence } from './error-shape.js';
import { SigningDomain } from './signing-domain.js';
import { clientText, errors, type ClientError, type ClientErrorCode } from './errors.js';

/** Every code that there is now. */
const KnownErrorCode = named('KnownErrorCode', Type.Unsafe<ClientErrorCode>({
  type: 'string', enum: Object.keys(errors), description: 'The error codes of this version.',
}));

/** A code that a client knows, or any other one. */
export const ErrorCode = named('ErrorCode', Type.Unsafe<string>({
  type: 'string', anyOf: [KnownErrorCode, Type.String()],
  description: 'The name of the error. Names do not change; later versions may have more of them, which mean what their HTTP status means.',
}));

/** RFC 9457 problem document: every error of every endpoint that has this error shape. */
export const Problem = field.answer('Problem', {
  type: Type.String({ description: 'Reference to the description of this error.' }),
  title: Type.String({ description: 'Short description of the error; the same text for every occurrence.' }),
  status: Type.Integer({ description: 'The HTTP status.' }),
  detail: Type.Optional(Type.String({ description: 'What is wrong with this request, where `errors` does not say it.' })),
  instance: Type.Optional(Type.String({ description: 'The id of this occurrence in the service\'s log lines.' })),
  error: Type.String({ description: 'All in one text, for people: the title, and what is wrong with this request.' }),
  code: ErrorCode,
  errors: Type.Optional(Type.Array(field.answer('FieldError', {
    field: Type.String({ description: 'JSON pointer to the field, or the name of the parameter or header.' }),
    message: Type.String({ description: 'What was expected.' }),
  }), { description: 'What is wrong with each field.' })),
  required: Type.Optional(field.amount('`insufficient_…`: what the order needs, in stablecoin or shares')),
  available: Type.Optional(field.amount('`insufficient_…`: what the trader has, or has approved, in total')),
  reserved: Type.Optional(field.amount('`insufficient_…`: the part of `available` that other open orders and unsettled fills of the trader need')),
  block: Type.Optional(field.integer('`insufficient_…`: the block at which balance and allowance were read: the last one in the history.')),
  latestBlock: Type.Optional(field.integer('`insufficient_…`: the latest block of the chain.')),
  blocksBehind: Type.Optional(field.integer('`insufficient_…`: `latestBlock` less `block`. What happened in these blocks is not counted yet.')),
  digest: Type.Optional({
    ...field.Bytes32, description: '`invalid_…signature`, `invalid_permit`: the EIP-712 digest that the signature has to be of.',
  }),
  recoveredSigner: Type.Optional(field.orNull(field.Address, 'With `digest`: who has signed it by this signature; null where that is nobody.')),
  domain: Type.Optional({ ...SigningDomain, description: '`invalid_…signature`: the EIP-712 domain of the digest.' }),
  minOrderSize: Type.Optional(field.integer('`size_too_small`: the smallest size on the market\'s chain, 6 decimals.', 1)),
  openOrders: Type.Optional(field.integer('`too_many_open_orders`: the number of the trader\'s open orders, those on their way in included.')),
  suspendedUntil: Type.Optional(field.integer('`trader_suspended`: when the trader\'s orders are taken again, in Unix seconds.')),
  maxOpenOrders: Type.Optional(field.integer('`too_many_open_orders`: the most open orders that a trader may have.', 1)),
  retryAfterS: Type.Optional(field.integer('The seconds of the header `Retry-After`, where they are known.')),
  allow: Type.Optional(Type.String({ description: '`method_not_allowed`: the header `Allow`.' })),
});

/** The `type` of an error's problem document: a reference to its description in the OpenAPI document. */
export function problemType(code: ClientErrorCode): string {
  return `/openapi.json#/components/responses/${code}`;
}

/** The header of every error, also of those whose body has no code. */
export const ERROR_CODE_HEADER = 'X-Error-Code';

/** `Retry-After` in seconds, for errors that may pass and have no `retryAfterS`. */
const RETRY_AFTER_S = '1';

/**
 * The answer to a failed request. It has only the text of the error table and the faults of the request. Fields of the
 * error's `extra` are included, but never replace the standard fields.
 */
export function problemOf(
  error: ClientError, { instance, status = errors[error.code].status, challenge }: Occurrence = {},
): ErrorAnswer {
  const { code, detail, fields, extra } = error;
  const body = jsonOf({
    ...extra,
    type: problemType(code),
    title: errors[code].text,
    status,
    ...(detail === '' ? {} : { detail }),
    ...(instance === undefined ? {} : { instance }),
    error: clientText(error),
    code,
    ...(fields.length === 0 ? {} : { errors: fields }),
  });
  return { status, body, headers: problemHeaders(error, challenge) };
}

/** JSON in which bigints are integers, exact at any size. */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => typeof part === 'bigint' ? `\u0000${part}\u0000` : part);
  return text.replaceAll(/"\\u0000(-?\d+)\\u0000"/g, '$1');
}

/** What RFC 9110 (15.5.22) and RFC 6455 (4.4) ask for. */
const WEB_SOCKET = { 'Upgrade': 'websocket', 'Connection': 'Upgrade', 'Sec-WebSocket-Version': '13' };

function problemHeaders(error: ClientError, challenge: string | undefined): Record<string, string> {
  const headers: Record<string, string> = { [ERROR_CODE_HEADER]: error.code };
  const { retryAfterS } = error.extra;
  if (typeof retryAfterS === 'number') headers['Retry-After'] = String(retryAfterS);
  else if (error.isUnavailable) headers['Retry-After'] = RETRY_AFTER_S;
  if (challenge !== undefined) headers['WWW-Authenticate'] = challenge;
  if (error.code === 'method_not_allowed') headers['Allow'] = String(error.extra['allow']);
  if (error.code === 'upgrade_required') Object.assign(headers, WEB_SOCKET);
  return headers;
}

/**
 * A thrown value as a RequestError: a RequestError itself, or `invalid_request` for a path that is not valid
 * percent-encoding. Undefined for any other value: the client learns nothing about such errors.
 */
export function requestErrorOf(error: unknown): ClientError | undefined {
  if (error instanceof RequestError) return error;
  if (error instanceof URIError) return new RequestError('invalid_request', 'the path is not valid percent-encoding');
  return undefined;
}

/** A problem document without a detail, as an example for the OpenAPI document. */
export const problemExample = (code: ClientErrorCode): Record<string, unknown> => ({
  type: problemType(code), title: errors[code].text, status: errors[code].status, error: errors[code].text, code,
});

/** The error shape of endpoints that answer with problem documents. */
export const problems: ErrorShape = { contentType: 'application/problem+json', schema: Problem, example: problemExample, answer: problemOf };
