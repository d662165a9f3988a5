/** Errors as answers: `application/problem+json` (RFC 9457) from the error table, and nothing of an unexpected error's inside. */
import { errors, type ErrorCode, RequestError } from '../../engine/records/errors.js';
import { Problem } from '../api/answer-fields.js';
import type { ErrorAnswer, ErrorShape, Occurrence } from '../api/error-shape.js';

/** Where the OpenAPI document describes an error: its `type`. */
export function problemType(code: ErrorCode): string {
  return `/openapi.json#/components/responses/${code}`;
}

/** Seconds after which a request that can succeed later is worth repeating, unless the error's `retryAfterS` knows better. */
const RETRY_AFTER_S = '1';

/**
 * The answer to a failed request: never more than the table and the request's own fault. Fields of the error's `extra` come along,
 * but never over the standard ones.
 */
export function problemOf(error: RequestError, { instance, status = error.kind.status, challenge }: Occurrence = {}): ErrorAnswer {
  const { kind, code, detail, fields, extra } = error;
  const body = jsonOf({
    ...extra,
    type: problemType(code),
    title: kind.text,
    status,
    ...(detail === '' ? {} : { detail }),
    ...(instance === undefined ? {} : { instance }),
    error: error.message,
    code,
    ...(fields.length === 0 ? {} : { errors: fields }),
  });
  return { status, body, headers: problemHeaders(error, challenge) };
}

/** JSON with bigints as integers, exact at any size. */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => typeof part === 'bigint' ? `\u0000${part}\u0000` : part);
  return text.replaceAll(/"\\u0000(-?\d+)\\u0000"/g, '$1');
}

function problemHeaders(error: RequestError, challenge: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  const { retryAfterS } = error.extra;
  if (typeof retryAfterS === 'number') headers['Retry-After'] = String(retryAfterS);
  else if (error.kind.status === 503) headers['Retry-After'] = RETRY_AFTER_S;
  if (error.kind.status === 401 && challenge !== undefined) headers['WWW-Authenticate'] = challenge;
  if (error.code === 'method_not_allowed') headers['Allow'] = String(error.extra['allow']);
  return headers;
}

/**
 * Any thrown value as a RequestError: one of the table stays; a path that is not percent-encoding is the client's; undefined for
 * everything else, which the client is told nothing of.
 */
export function requestErrorOf(error: unknown): RequestError | undefined {
  if (error instanceof RequestError) return error;
  if (error instanceof URIError) return new RequestError('invalid_request', 'the path is not valid percent-encoding');
  return undefined;
}

/** A problem without a detail, as the document shows it. */
export const problemExample = (code: ErrorCode): Record<string, unknown> => ({
  type: problemType(code), title: errors[code].text, status: errors[code].status, error: errors[code].text, code,
});

/** The error shape of endpoints that answer with problem documents. */
export const problems: ErrorShape = { contentType: 'application/problem+json', schema: Problem, example: problemExample, answer: problemOf };
