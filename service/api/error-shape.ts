/** How an endpoint answers with errors: the body's shape, its documentation, and the answer itself. */
import type { TSchema } from 'typebox';
import type { ErrorCode, RequestError } from '../../engine/records/errors.js';

/** An error as it is sent. */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Occurrence {
  /** Names this one occurrence: for an unexpected error, what its log line says. */
  readonly instance?: string | undefined;
  /** Another status than the table's, for what only the HTTP parser can meet. */
  readonly status?: number | undefined;
  /** `WWW-Authenticate`, where the error is a 401. */
  readonly challenge?: string | undefined;
}

export interface ErrorShape {
  /** Without parameters, as the document names it. */
  readonly contentType: string;
  readonly schema: TSchema;
  /** The body of an error without a detail. */
  readonly example: (code: ErrorCode) => Readonly<Record<string, unknown>>;
  readonly answer: (error: RequestError, occurrence?: Occurrence) => ErrorAnswer;
}
