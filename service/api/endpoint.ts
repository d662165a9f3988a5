/** The definition of an endpoint (its route, parameters, body, limits and documentation), and how a handler is bound to an endpoint. */
import type { IncomingHttpHeaders } from 'node:http';
import { Type, type TSchema } from '../../engine/records/schema-types.js';
import type { RunningRole } from '../../engine/running-role.js';
import type { Authority, TokenAuthority } from './authority.js';
import type { Conversation } from './conversation.js';
import type { ErrorShape } from './error-shape.js';
import type { ClientErrorCode } from './errors.js';
import type { Parameter } from './parameter.js';
import type { BearerToken } from './scopes.js';
import { record } from '../../engine/records/fields.js';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { refuseUnknown, valueOf, type RequestField, type ValueOf } from './request-fields.js';

/** Which processes serve an endpoint: those with the role `api`, `query` or `relayer`, or every process for itself. */
export type EndpointRole = 'api' | 'query' | 'relayer' | 'every';

/** The groups of endpoints in the OpenAPI document, in its order, each with a description. */
export const tags = {
  Orders: 'Placing, cancelling and looking up orders.',
  Users: 'One user\'s orders, positions and activity.',
  Markets: 'Markets, their books, trades and holders.',
  Prices: 'Prices of assets, and the quick markets that they decide.',
  Streams: 'What happens, as it happens and from any position on. Answers that do not end: generators of clients that wait for the whole of an answer leave this tag out.',
  Settlement: 'Settlement of trades on the chain.',
  Relayer: 'Transactions that the exchange sends on behalf of users, who sign and pay no gas.',
  History: 'The recorded history, for auditors.',
  Service: 'The service itself: configuration, health, metrics.',
} as const;

/** Named examples of a body or an answer. */
export type Examples = Readonly<Record<string, unknown>>;

/** An answer with status 200. */
export interface AnswerEntry {
  readonly description: string;
  /** The schema of the body; of one event for a stream. */
  readonly schema: TSchema;
  readonly examples: Examples;
  /** `application/json` when absent. */
  readonly contentType?: string;
  /** Set when the answer is a stream, which is sent piece by piece while the client listens. */
  readonly stream?: true;
  /** Set when the connection becomes a WebSocket, with status 101 and no body. */
  readonly webSocket?: true;
  /** Other content types that the client may request with `Accept`. */
  readonly alternatives?: Readonly<Record<string, Alternative>>;
  /** Other statuses with the same schema, each with a description. */
  readonly statuses?: Readonly<Record<number, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Alternative {
  readonly description: string;
  /** Set when the answer in this type may be sent piece by piece. */
  readonly stream?: true;
}

export interface Endpoint {
  /** The OpenAPI operationId: a unique name in camel case. */
  readonly id: string;
  readonly role: EndpointRole;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With parameters in braces: `/api/v1/orders/{hash}`. */
  readonly path: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  /** By the names that the handler uses; parsed in this order, after the body. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly body?: Body;
  readonly authority: Authority;
  readonly errorShape: ErrorShape;
  readonly answer: AnswerEntry;
  /** The errors that the handler itself can throw. `errorsOf` adds those of the parameters, the body and the steps before the handler. */
  readonly errors: readonly ClientErrorCode[];
  /** The rate limit that counts requests to this endpoint. */
  readonly limit: 'orders' | 'reads' | 'none';
  /** As how many requests one with this body counts; 1 when absent. */
  readonly weight?: (body: Buffer) => number;
  /** The most entries of an answer, where `/api/v1/config` shows them among its limits, under this name. */
  readonly shownLimit?: { readonly name: string; readonly value: number; readonly description: string };
  /** Whether the endpoint reads read models: it then waits for `X-Min-Log-Position` and answers with `X-Log-Position`. */
  readonly consistent: boolean;
}

/**
 * An endpoint with its handler. `serve` is called once, when the role that serves the endpoint starts, with the ports that the role has. The
 * endpoint names in its own type which of them it takes.
 */
export interface Served<Ports> extends Endpoint {
  readonly serve: (ports: Ports) => (params: never, context: never) => AnyReply | Promise<AnyReply>;
}

/** Defines an endpoint and keeps the types of its parameters and its body, for its handler. */
export function defineEndpoint<const E extends Endpoint>(endpoint: E): E;
export function defineEndpoint<const E extends Endpoint, Ports>(
  endpoint: E, serve: (ports: Ports) => Handle<E>,
): E & { readonly serve: (ports: Ports) => Handle<E> };
export function defineEndpoint(endpoint: Endpoint, serve?: Served<never>['serve']): Endpoint {
  return serve === undefined ? endpoint : { ...endpoint, serve } as Served<never>;
}

/** All errors that an endpoint can answer with, including those of its parameters, its body and the steps before the handler. */
export function errorsOf({ errors, parameters, body, authority, consistent, limit, path }: Endpoint): ClientErrorCode[] {
  const codes = new Set<ClientErrorCode>([...Object.values(parameters).flatMap((each) => each.errors), ...body?.errors ?? [], ...errors]);
  // A parameter that the endpoint does not have.
  codes.add('invalid_request');
  if (authority.scope !== undefined) codes.add('missing_token').add('invalid_token').add('insufficient_scope').add('overloaded').add('unavailable');
  if (body !== undefined) codes.add('body_too_large').add('unsupported_media_type');
  if (consistent) codes.add('not_caught_up');
  if (limit !== 'none') codes.add('rate_limited');
  // With an empty path parameter, the request's path is a different path.
  if (path.includes('{')) codes.add('not_found');
  return [...codes.add('method_not_allowed').add('request_timeout').add('expectation_failed').add('internal')];
}

/** A request as the steps before the handler pass it on. All properties but `params` are computed at first use. */
export interface ApiRequest extends Context {
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, each at most once. Reading it throws RequestError when one is repeated. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly headers: IncomingHttpHeaders;
  /** The body; empty for endpoints without a body. */
  readonly rawBody: Buffer;
}

/** What a handler may need to know of a request besides the parsed values. */
export interface Context {
  /** By what the client is counted: its IPv4 address as the trusted proxies report it, or the /56 prefix of an IPv6 address. */
  readonly ip: string;
  /** Where the client has reached the service, without a slash at the end; absent where the request does not say. */
  readonly url?: string | undefined;
  /** Aborts when the client's connection closes. The signal outlives the request: remove listeners when the request is done. */
  readonly signal: AbortSignal;
  /** The request's bearer token, found valid; undefined for an endpoint that needs none. */
  readonly token?: BearerToken | undefined;
}

/** The same, with the bearer token of an endpoint that needs one. */
export type ContextOf<E extends Endpoint> = E['authority'] extends TokenAuthority ? Context & { readonly token: BearerToken } : Context;

interface ReplyHead {
  /** 200 when absent. */
  readonly status?: number;
  /** Log position at which the answer is true, for `X-Log-Position`. */
  readonly position?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The endpoint's content type when absent. */
  readonly contentType?: string;
}

/** A complete answer: text that is sent unchanged. */
export interface Reply extends ReplyHead {
  readonly body: string;
  /** The `ETag` of an answer that clients may keep; they ask each time whether it is still true. Absent: they may not keep it. */
  readonly etag?: string;
  /** The same body compressed, for clients that take it so; made at first use. */
  readonly gzipped?: () => Promise<Buffer>;
}

/** What is sent of a complete answer. */
export type SentReply = Omit<Reply, 'body' | 'gzipped'> & { readonly body: string | Buffer };

/**
 * Where pieces go that are handed over as they come: an event goes to thousands of streams, and a promise for each
 * costs half of writing it.
 */
export interface Sink {
  /** False: nothing more is taken until it has drained. */
  write(piece: Uint8Array): boolean;
  /** Calls once when it has drained. */
  onDrain(call: () => void): void;
  /** No piece comes any more. */
  end(): void;
}

/** Where the pieces of a stream come from. */
export interface Source extends AsyncIterator<string | Uint8Array> {
  /** Whether all further pieces go to the sink, until `return`. False, or absent: the next one is to be asked for. */
  readonly flow?: (sink: Sink) => boolean;
}

/** An answer that is sent piece by piece. When the client has gone or the service stops, the source is ended by `return()`. */
export interface StreamReply extends ReplyHead {
  readonly stream: { [Symbol.asyncIterator](): Source };
  /** Aborts when the client reads too slowly: its connection is then cut. */
  readonly cut?: AbortSignal;
  /**
   * Set when the stream has an end that the client waits for: like every answer, it goes on when the service stops, and when it breaks off,
   * its client sees that it is incomplete.
   */
  readonly finite?: true;
}

/** An answer by which the connection becomes a WebSocket. The pieces of the stream are whole frames. */
export interface SocketReply extends ReplyHead {
  readonly stream: AsyncIterable<Uint8Array>;
  /** Aborts when the client reads too slowly: its connection is then cut. */
  readonly cut: AbortSignal;
  readonly conversation: Conversation;
}

type AnyReply = Reply | StreamReply | SocketReply;

type Values<P extends Endpoint['parameters']> = { readonly [K in keyof P]: ReturnType<P[K]['parse']> };
type BodyOf<E> = E extends { readonly body: { readonly parse: (bytes: Buffer) => infer T } } ? { readonly body: T } : unknown;
type TypeOf<E> = E extends { readonly answer: { readonly alternatives: infer A } } ? { readonly contentType: 'application/json' | keyof A } : unknown;

/** The parsed values for a handler: every parameter by its name, `body` if there is one, `contentType` if the client may choose. */
export type Params<E extends Endpoint> = Values<E['parameters']> & BodyOf<E> & TypeOf<E>;

/** Answers an endpoint's requests. Throws RequestError for errors that the client may see. */
export type Handle<E extends Endpoint> = (params: Params<E>, context: ContextOf<E>) => ReplyOf<E> | Promise<ReplyOf<E>>;
type ReplyOf<E extends Endpoint> = E['answer'] extends { readonly stream: true }
  ? StreamReply
  : E['answer'] extends { readonly webSocket: true } ? SocketReply : E['answer'] extends { readonly alternatives: Readonly<Record<string, { readonly stream: true }>> } ? Reply | StreamReply : Reply;

/** An endpoint with its handler, as the application serves it. */
export interface Route {
  readonly endpoint: Endpoint;
  readonly handler: (request: ApiRequest) => AnyReply | Promise<AnyReply>;
}

/** A role that was started and serves endpoints. */
export interface ServingRole extends RunningRole {
  readonly routes: readonly Route[];
}

/** Binds a handler to an endpoint; the handler receives parsed values. */
export function bind<E extends Endpoint>(endpoint: E, handle: Handle<E>): Route {
  const parse = parserOf(endpoint);
  const handler: Route['handler'] = (request) => handle(parse(request) as Params<E>, request as ContextOf<E>);
  if (endpoint.answer.alternatives === undefined) return { endpoint, handler };
  return { endpoint, handler: async (request) => ({ contentType: `${contentTypeFor(endpoint, request)}; charset=utf-8`, ...await handler(request) }) };
}

/** The ports that all of these endpoints take together. */
type PortsOf<E extends Served<never>>
  = (E extends unknown ? (ports: Parameters<E['serve']>[0]) => void : never) extends (ports: infer P) => void ? P : never;

/** The routes of endpoints with their handlers. */
export function serve<const E extends Served<never>>(endpoints: readonly E[], ports: PortsOf<E>): Route[] {
  return endpoints.map((endpoint) => bind<Endpoint>(endpoint, endpoint.serve(ports as never) as Handle<Endpoint>));
}

function parserOf(endpoint: Endpoint): (request: ApiRequest) => Record<string, unknown> {
  const { parameters, body, answer } = endpoint;
  const entries = Object.entries(parameters).map(([key, parameter]) => ({ key, value: reader(parameter), parse: parameter.parse }));
  const known = Object.fromEntries(Object.values(parameters).filter((each) => each.in === 'query').map(({ name }) => [name, true]));
  return (request) => {
    const params: Record<string, unknown> = {};
    if (body !== undefined) params['body'] = body.parse(request.rawBody);
    for (const { key, value, parse } of entries) params[key] = parse(value(request));
    refuseUnknown(request.query, known);
    if (answer.alternatives !== undefined) params['contentType'] = contentTypeFor(endpoint, request);
    return params;
  };
}

/** The first alternative that the client accepts by name, and no less gladly than JSON; else JSON, also for clients that do not accept it. */
function contentTypeFor({ answer }: Endpoint, { headers }: ApiRequest): string {
  const ranges = rangesIn(headers.accept ?? '');
  const weightOf = (...names: readonly string[]) => names.map((name) => ranges.get(name)).find((weight) => weight !== undefined) ?? 0;
  const json = weightOf('application/json', 'application/*', '*/*');
  return Object.keys(answer.alternatives ?? {}).find((type) => weightOf(type) > 0 && weightOf(type) >= json) ?? 'application/json';
}

/** The weights of the media ranges that the header names, from 0 to 1 (RFC 9110, 12.5.1); what is no weight counts as none given. */
function rangesIn(accept: string): ReadonlyMap<string, number> {
  return new Map(accept.split(',').map((range) => {
    const [name = '', ...parameters] = range.toLowerCase().split(';').map((part) => part.trim());
    const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find((text) => text !== undefined);
    return [name, Number(weight ?? 1)];
  }));
}

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

function reader({ in: place, name }: Parameter): (request: ApiRequest) => unknown {
  const header = name.toLowerCase();
  switch (place) {
    case 'path': return ({ params }) => params[name];
    case 'query': return ({ query }) => query[name];
    case 'header': return ({ headers }) => headers[header];
  }
}

/** The largest body of an ordinary endpoint. */
export const MAX_BODY_BYTES = 64 * 1024;

/** `T` is the parsed value that the handler receives. */
export interface Body<T = unknown> {
  readonly schema: TSchema;
  readonly examples: Readonly<Record<string, unknown>>;
  readonly limitBytes: number;
  /** Whether a request without a body is accepted. */
  readonly optional: boolean;
  /** The errors that `parse` throws. */
  readonly errors: readonly ClientErrorCode[];
  /** Parses the bytes, of which there are none without a body. Throws RequestError. */
  readonly parse: (bytes: Buffer) => T;
}

type BodyText = Pick<Body, 'examples' | 'limitBytes'>;

/** A body whose bytes the handler receives unparsed: the handler parses them by the schema. */
export function bytesOf(schema: TSchema, text: BodyText): Body<Buffer> {
  return { schema, ...text, optional: false, errors: [], parse: (bytes) => bytes };
}

type Fields = Readonly<Record<string, RequestField<unknown>>>;
type FieldValues<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

/** A JSON object with these fields and no others. `null` stands for an absent one; without a body, all are absent. */
export function objectOf<const F extends Fields>(fields: F, { optional, ...text }: BodyText & { readonly optional: boolean }): Body<FieldValues<F>> {
  const entries = Object.entries(fields);
  const schema = record(Object.fromEntries(entries.map(([name, field]) => [name, field.required ? field.schema : Type.Optional(field.schema)])));
  return {
    schema, ...text, optional, errors: [...new Set<ClientErrorCode>(['invalid_json', 'invalid_request', ...entries.flatMap(([, field]) => field.errors)])],
    parse: (bytes) => {
      const object = bytes.length === 0 ? {} : parseJsonObject(bytes);
      refuseUnknown(object, fields);
      return Object.fromEntries(entries.map(([name, field]) => [name, valueOf(name, field, object[name] ?? undefined)])) as FieldValues<F>;
    },
  };
}
