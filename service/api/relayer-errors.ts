/**
 * Errors as the relayer's endpoints answer them: `{"success":false,"error":"…"}`, with the texts that clients of
 * relayers know.
 */
import * as field from '../../engine/records/answer-fields.js';
import { RequestError } from '../../engine/records/errors.js';
import { Type } from '../../engine/records/schema-types.js';
import type { ErrorShape } from './error-shape.js';
import { clientText, type ClientError, type ClientErrorCode } from './errors.js';
import { problemOf } from './problems.js';

/** Every error of every endpoint of the relayer. */
export const RelayerError = field.answer('RelayerError', {
  success: Type.Literal(false), error: Type.String({ description: 'What is wrong with the request, or why it could not be carried out.' }),
});

/** The texts that differ from those of the error table, by code and the detail of the error. */
const TEXTS: Readonly<Partial<Record<ClientErrorCode, (detail: string) => string>>> = {
  invalid_json: () => 'Invalid request body',
  invalid_address: () => 'Invalid address format',
  missing_token: () => 'Missing bearer token',
  invalid_token: () => 'Invalid bearer token',
  insufficient_scope: (scope) => `Token lacks the scope ${scope}`,
};

/** The text of `error`: the relayer's own, or the error table's with the detail. */
function textOf(error: ClientError): string {
  return TEXTS[error.code]?.(error.detail) ?? clientText(error);
}

/** Details of the scope in examples. */
const EXAMPLE_DETAILS: Readonly<Partial<Record<ClientErrorCode, string>>> = { insufficient_scope: 'relay' };

/** The error shape of the relayer's endpoints. Status and headers are those of problem documents. */
export const relayerErrors: ErrorShape = {
  contentType: 'application/json',
  schema: RelayerError,
  example: (code) => ({ success: false, error: textOf(new RequestError(code, EXAMPLE_DETAILS[code] ?? '')) }),
  answer(error, occurrence) {
    const { status, headers } = problemOf(error, occurrence);
    return { status, headers, body: JSON.stringify({ success: false, error: textOf(error) }) };
  },
};
