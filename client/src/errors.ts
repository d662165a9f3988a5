/**
 * What can go wrong, one class per layer: an argument, the way to the exchange, the exchange's refusal, and an outcome
 * that nobody knows yet.
 */
import type { components } from './openapi.js';

/** Every error of this client. */
export class ExchangeError extends Error {
  override readonly name: string = 'ExchangeError';
}

/** A call that cannot be sent: nothing has happened. */
export class BadArgument extends ExchangeError {
  override readonly name = 'BadArgument';

  constructor(readonly argument: string, what: string) {
    super(`${argument} ${what}`);
  }
}

/**
 * No answer, or one that is not the exchange's, such as a proxy's page. Of a call that changes something, see
 * OutcomeUnknown.
 */
export class TransportError extends ExchangeError {
  override readonly name = 'TransportError';

  /** `status`: of an answer that is not the exchange's. */
  constructor(message: string, { status, cause }: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(message, { cause });
    this.status = status;
  }

  readonly status: number | undefined;
}

/** The codes of the API's errors. The exchange may have newer ones than this client knows. */
export type ErrorCode = components['schemas']['ErrorCode'] | (string & {});

/** A field of a request, and what is wrong with it. */
export type FieldError = components['schemas']['FieldError'];

/** The exchange has answered, and refused: `code` says why, and nothing has happened. */
export class Refusal extends ExchangeError {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: ErrorCode;
  /** The faulty fields of the request. */
  readonly fields: readonly FieldError[];
  /** How long to wait before it is worth trying again, as the exchange says. */
  readonly retryAfterMs: number | undefined;
  /** The whole body: some errors have further fields, such as `suspendedUntil`. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor({ status, code, body, retryAfterMs }: RefusalParts) {
    super(`${code}: ${typeof body['error'] === 'string' ? body['error'] : `HTTP ${status}`}`);
    this.status = status;
    this.code = code;
    this.fields = Array.isArray(body['errors']) ? body['errors'] as FieldError[] : [];
    this.retryAfterMs = retryAfterMs;
    this.body = body;
  }
}

export interface RefusalParts {
  readonly status: number;
  readonly code: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfterMs?: number | undefined;
}

/**
 * A request as it was signed and sent, byte by byte. It is plain JSON: keep it, and have it sent again after a restart
 * (`resend`).
 */
export interface SentRequest {
  readonly method: 'POST' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * The time was up, or the call was aborted, before an answer came: the request may have been carried out, or may still
 * be. Ask again with `again`, which sends the same bytes: the exchange carries them out once, and answers what it has
 * answered, or would have.
 */
export class OutcomeUnknown<T = unknown> extends ExchangeError {
  override readonly name = 'OutcomeUnknown';

  constructor(
    readonly request: SentRequest, private readonly ask: (options?: CallOptions) => Promise<T>, cause: unknown,
  ) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`${request.method} ${request.path} may have been carried out: ${why}`, { cause });
  }

  /** Sends the same bytes again, until there is an answer. */
  again(options?: CallOptions): Promise<T> {
    return this.ask(options);
  }
}

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take, with all its attempts. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
}
