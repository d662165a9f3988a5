/** What an endpoint is: the one entry that routes it, parses its requests, limits it and documents it; and how a handler is bound to it. */
import type { IncomingHttpHeaders } from 'node:http';
import type { TSchema } from 'typebox';
import type { ErrorCode } from '../../engine/records/errors.js';
import type { Authority } from './authority.js';
import type { Body } from './body.js';
import type { ErrorShape } from './error-shape.js';
import type { Parameter } from './parameter.js';

/** Which processes serve an endpoint: those that take orders, those that read, or each one for itself. */
export type Role = 'api' | 'query' | 'every';

/** What endpoints are grouped by in the document, in its order, with a sentence each. */
export const tags = {
  Orders: 'Placing, cancelling and looking up orders.',
  Users: 'One user\'s orders, positions and activity.',
  Markets: 'Markets, their books, trades and holders.',
  Settlement: 'Trades on their way to the chain.',
  History: 'The recorded history, for auditors.',
  Service: 'The service itself: configuration, health, metrics.',
} as const;

/** Named examples of a body or an answer. */
export type Examples = Readonly<Record<string, unknown>>;

/** An answer with status 200. */
export interface AnswerEntry {
  readonly description: string;
  /** Of the body; of one event where it is a stream. */
  readonly schema: TSchema;
  readonly examples: Examples;
  /** `application/json` when absent. */
  readonly contentType?: string;
  /** Whether it is sent piece by piece, for as long as the client listens. */
  readonly stream?: true;
  /** Content types that the client may ask for instead (`Accept`), each described in a sentence. */
  readonly alternatives?: Readonly<Record<string, string>>;
  /** Other statuses with the same schema. */
  readonly statuses?: Readonly<Record<number, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Endpoint {
  /** The OpenAPI operationId: a unique name in camel case. */
  readonly id: string;
  readonly role: Role;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With parameters in braces: `/api/v1/orders/{hash}`. */
  readonly path: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  /** By the names that the handler knows them by; parsed in this order, after the body. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly body?: Body;
  readonly authority: Authority;
  readonly errorShape: ErrorShape;
  readonly answer: AnswerEntry;
  /** The table's errors that the handler can answer with; those of parameters, body and shell are added: see `errorsOf`. */
  readonly errors: readonly ErrorCode[];
  /** Which rate limit counts it. */
  readonly limit: 'orders' | 'reads' | 'none';
  /** Reads a read model: waits for `X-Min-Log-Position` and says its own `X-Log-Position`. */
  readonly consistent: boolean;
}

/** An entry of the table, with the types of its parameters and its body kept. */
export function defineEndpoint<const E extends Endpoint>(endpoint: E): E {
  return endpoint;
}

/** The errors that an endpoint can answer with, those of its parameters, its body and the shell included. */
export function errorsOf({ errors, parameters, body, consistent, limit, path }: Endpoint): ErrorCode[] {
  const codes = new Set<ErrorCode>([...Object.values(parameters).flatMap((each) => each.errors), ...body?.errors ?? [], ...errors]);
  if (body !== undefined) codes.add('body_too_large').add('unsupported_media_type');
  if (consistent) codes.add('invalid_request').add('not_caught_up');
  if (limit !== 'none') codes.add('rate_limited');
  // A path parameter that is empty makes another path.
  if (path.includes('{')) codes.add('not_found');
  return [...codes.add('method_not_allowed').add('request_timeout').add('internal')];
}

/** What the shell hands over. Everything but `params` is worked out when it is first asked for. */
export interface ApiRequest extends Context {
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, each at most once. Reading it throws RequestError when one is repeated. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly headers: IncomingHttpHeaders;
  /** The body, for endpoints that have one; otherwise empty. */
  readonly rawBody: Buffer;
}

/** What a handler may need of a request besides what was asked. */
export interface Context {
  /** The client's address, seen through the trusted proxies. */
  readonly ip: string;
  /** Aborts when the client's connection closes. It outlives the request: whoever listens to it also stops listening. */
  readonly signal: AbortSignal;
}

interface ReplyHead {
  /** 200 when absent. */
  readonly status?: number;
  /** Log position that the answer is true at, for `X-Log-Position`. */
  readonly position?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The entry's when absent. */
  readonly contentType?: string;
}

/** A finished answer: text that is sent as it is. */
export interface Reply extends ReplyHead {
  readonly body: string;
}

/** An answer that is sent piece by piece. The source is ended early, by `return()`, with the first piece after the client has gone. */
export interface StreamReply extends ReplyHead {
  readonly stream: AsyncIterable<string>;
}

type Values<P extends Endpoint['parameters']> = { readonly [K in keyof P]: ReturnType<P[K]['parse']> };
type BodyOf<E> = E extends { readonly body: { readonly parse: (bytes: Buffer) => infer T } } ? { readonly body: T } : unknown;
type TypeOf<E> = E extends { readonly answer: { readonly alternatives: infer A } } ? { readonly contentType: 'application/json' | keyof A } : unknown;

/** What a handler is asked: every parameter by its name, `body` where there is one, `contentType` where the client may choose. */
export type Asked<E extends Endpoint> = Values<E['parameters']> & BodyOf<E> & TypeOf<E>;

/** Answers an endpoint's requests. Throws RequestError for what is answered as an error. */
export type Handle<E extends Endpoint> = (asked: Asked<E>, context: Context) => ReplyOf<E> | Promise<ReplyOf<E>>;
type ReplyOf<E extends Endpoint> = E['answer'] extends { readonly stream: true } ? StreamReply : Reply;

/** An endpoint with its handler, as the shell serves it. */
export interface Route {
  readonly endpoint: Endpoint;
  readonly handler: (request: ApiRequest) => Reply | StreamReply | Promise<Reply | StreamReply>;
}

/** The endpoint served by this handler, which is given parsed values. */
export function bind<E extends Endpoint>(endpoint: E, handle: Handle<E>): Route {
  const parse = parserOf(endpoint);
  const handler: Route['handler'] = (request) => handle(parse(request) as Asked<E>, request);
  if (endpoint.answer.alternatives === undefined) return { endpoint, handler };
  return { endpoint, handler: async (request) => ({ contentType: `${contentTypeFor(endpoint, request)}; charset=utf-8`, ...await handler(request) }) };
}

export type Endpoints = Readonly<Record<string, Endpoint>>;
/** A handler for each endpoint of a group, by the endpoint's id. */
export type Handlers<G extends Endpoints> = { readonly [K in keyof G]: Handle<G[K]> };

/** A group of endpoints, each bound to the handler of its name. */
export function bindAll<G extends Endpoints>(group: G, handlers: Handlers<G>): Route[] {
  return Object.keys(group).map((id: keyof G) => bind(group[id]!, handlers[id]));
}

function parserOf(endpoint: Endpoint): (request: ApiRequest) => Record<string, unknown> {
  const { parameters, body, answer } = endpoint;
  const entries = Object.entries(parameters).map(([key, parameter]) => ({ key, value: reader(parameter), parse: parameter.parse }));
  return (request) => {
    const asked: Record<string, unknown> = {};
    if (body !== undefined) asked['body'] = body.parse(request.rawBody);
    for (const { key, value, parse } of entries) asked[key] = parse(value(request));
    if (answer.alternatives !== undefined) asked['contentType'] = contentTypeFor(endpoint, request);
    return asked;
  };
}

/** The first alternative that the client accepts by name, else JSON. */
function contentTypeFor({ answer }: Endpoint, { headers }: ApiRequest): string {
  return Object.keys(answer.alternatives ?? {}).find((type) => headers.accept?.includes(type)) ?? 'application/json';
}

function reader({ in: place, name }: Parameter): (request: ApiRequest) => unknown {
  const header = name.toLowerCase();
  switch (place) {
    case 'path': return ({ params }) => params[name];
    case 'query': return ({ query }) => query[name];
    case 'header': return ({ headers }) => headers[header];
  }
}
