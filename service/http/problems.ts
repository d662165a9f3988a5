/** Errors as answers: `application/problem+json` (RFC 9457) from the error table, and nothing of an unexpected error's inside. */
import { errors, type ErrorCode, RequestError } from '../../engine/records/errors.js';

/** What is written of an error: never more than the table and the request's own fault. */
export interface Problem {
  readonly status: number;
  readonly code: ErrorCode;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where the OpenAPI document describes an error: its `type`. */
export function problemType(code: ErrorCode): string {
  return `/openapi.json#/components/responses/${code}`;
}

/** Seconds after which a request that can succeed later is worth repeating, unless the error's `retryAfterS` knows better. */
const RETRY_AFTER_S = '1';

/** RFC 9110 wants a 401 to say what would be accepted: for a cancel, the trader's signature in two headers. */
const CHALLENGE = 'EIP-712 primaryType="CancelOrder", headers="X-Cancel-Signature X-Cancel-Deadline"';

/**
 * The answer to a failed request. `instance` names this one occurrence (for an unexpected error, what its log line says);
 * `status` is another one than the table's, for what only the HTTP parser can meet. Fields of the error's `extra` come along,
 * but never over the standard ones.
 */
export function problemOf(
  error: RequestError, { instance, status = error.kind.status }: { instance?: string; status?: number } = {},
): Problem {
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
  return { status, code, body, headers: problemHeaders(error) };
}

/** JSON with bigints as integers, exact at any size. */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => typeof part === 'bigint' ? `\u0000${part}\u0000` : part);
  return text.replaceAll(/"\\u0000(-?\d+)\\u0000"/g, '$1');
}

function problemHeaders(error: RequestError): Record<string, string> {
  const headers: Record<string, string> = {};
  const { retryAfterS } = error.extra;
  if (typeof retryAfterS === 'number') headers['Retry-After'] = String(retryAfterS);
  else if (error.kind.status === 503) headers['Retry-After'] = RETRY_AFTER_S;
  if (error.kind.status === 401) headers['WWW-Authenticate'] = CHALLENGE;
  if (error.code === 'method_not_allowed') headers['Allow'] = String(error.extra['allow']);
  return headers;
}

/**
 * Any thrown value as a RequestError: one of the table stays; a path that is no percent-encoding is the client's; everything else
 * is `internal` and goes to `report`, which returns the id that the client may quote.
 */
export function requestErrorOf(error: unknown): RequestError | undefined {
  if (error instanceof RequestError) return error;
  if (error instanceof URIError) return new RequestError('invalid_request', 'the path is not valid percent-encoding');
  return undefined;
}

/** The shape of every problem, for the OpenAPI document. */
export const problemExample = (code: ErrorCode): Record<string, unknown> => ({
  type: problemType(code), title: errors[code].text, status: errors[code].status, error: errors[code].text, code,
});
