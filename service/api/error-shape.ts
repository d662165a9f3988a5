/** How an endpoint answers with errors: the shape and documentation of the body, and the answer. */
import type { TSchema } from '../../engine/records/schema-types.js';
import type { ClientError, ClientErrorCode } from './errors.js';

/** An error as it is sent. */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Occurrence {
  /** Id of this occurrence of an unexpected error; the log line of the error has the same id. */
  readonly instance?: string | undefined;
  /** Replaces the status of the error table, for faults that only the HTTP parser finds. */
  readonly status?: number | undefined;
  /** `WWW-Authenticate`, if the request lacks authority. */
  readonly challenge?: string | undefined;
}

export interface ErrorShape {
  /** The media type without parameters, as in the OpenAPI document. */
  readonly contentType: string;
  readonly schema: TSchema;
  /** The body of an error without a detail. */
  readonly example: (code: ClientErrorCode) => Readonly<Record<string, unknown>>;
  readonly answer: (error: ClientError, occurrence?: Occurrence) => ErrorAnswer;
}
