/** What a route is: one entry of the table that gives the router, the limits and the OpenAPI document. */
import type { IncomingHttpHeaders } from 'node:http';
import type { TSchema } from 'typebox';
import type { ErrorCode } from '../../engine/records/errors.js';

/** What a handler is given. Everything but `params` is worked out when it is first asked for. */
export interface ApiRequest {
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, each at most once. Reading it throws RequestError when one is repeated. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly headers: IncomingHttpHeaders;
  /** The body, for routes that have one; otherwise empty. */
  readonly rawBody: Buffer;
  /** The client's address, seen through the trusted proxies. */
  readonly ip: string;
  /** Aborts when the client's connection closes. It outlives the request: whoever listens to it also stops listening. */
  readonly signal: AbortSignal;
}

/** A finished answer: text that is sent as it is. */
export interface Reply {
  /** 200 when absent. */
  readonly status?: number;
  readonly body: string;
  /** Log position that the answer is true at, for `X-Log-Position`. */
  readonly position?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** `application/json; charset=utf-8` when absent. */
  readonly contentType?: string;
}

export type Handler = (request: ApiRequest) => Promise<Reply> | Reply;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: TSchema;
  readonly example: string | number;
}

/** A named example of a body or an answer. */
export type Examples = Readonly<Record<string, unknown>>;

/** What routes are grouped by in the document, in its order. */
export const tags = ['Orders', 'Users', 'Markets', 'Settlement', 'History', 'Service'] as const;

export interface Route {
  /** The OpenAPI operationId: a unique name in camel case. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With parameters in braces: `/api/v1/orders/{hash}`. */
  readonly path: string;
  readonly tag: typeof tags[number];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body?: {
    readonly schema: TSchema;
    readonly examples: Examples;
    readonly limitBytes: number;
    /** A request without a body is taken too: the handler is given an empty one. */
    readonly optional?: boolean;
  };
  readonly answer: {
    readonly description: string;
    readonly schema: TSchema;
    readonly examples: Examples;
    readonly contentType?: string;
    /** Other content types of the same answer, each described in a sentence. */
    readonly alternatives?: Readonly<Record<string, string>>;
    /** Other statuses with the same schema. */
    readonly statuses?: Readonly<Record<number, string>>;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** The table's errors that this route itself can answer with; those of the shell (limits, body, `internal`) are added. */
  readonly errors: readonly ErrorCode[];
  /** Which rate limit counts it. */
  readonly limit: 'orders' | 'reads' | 'none';
  /** Reads a read model: waits for `X-Min-Log-Position` and says its own `X-Log-Position`. */
  readonly consistent: boolean;
  readonly handler: Handler;
}
