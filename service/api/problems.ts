/** Errors as `application/problem+json` answers (RFC 9457), from the error table. Details of unexpected errors are never sent. */
import { RequestError } from '../../engine/records/errors.js';
import { Problem } from './answer-fields.js';
import type { ErrorAnswer, ErrorShape, Occurrence } from './error-shape.js';
import { clientText, errors, type ClientError, type ClientErrorCode } from './errors.js';

/** The `type` of an error's problem document: a reference to its description in the OpenAPI document. */
export function problemType(code: ClientErrorCode): string {
  return `/openapi.json#/components/responses/${code}`;
}

/** `Retry-After` in seconds, for errors that may pass and have no `retryAfterS`. */
const RETRY_AFTER_S = '1';

/**
 * The answer to a failed request. It has only the text of the error table and the faults of the request. Fields of the error's `extra`
 * are included, but never replace the standard fields.
 */
export function problemOf(error: ClientError, { instance, status = errors[error.code].status, challenge }: Occurrence = {}): ErrorAnswer {
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

function problemHeaders(error: ClientError, challenge: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  const { retryAfterS } = error.extra;
  if (typeof retryAfterS === 'number') headers['Retry-After'] = String(retryAfterS);
  else if (error.isUnavailable) headers['Retry-After'] = RETRY_AFTER_S;
  if (challenge !== undefined) headers['WWW-Authenticate'] = challenge;
  if (error.code === 'method_not_allowed') headers['Allow'] = String(error.extra['allow']);
  return headers;
}

/**
 * A thrown value as a RequestError: a RequestError itself, or `invalid_request` for a path that is not valid percent-encoding. Undefined
 * for any other value: the client learns nothing about such errors.
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
