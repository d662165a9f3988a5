/** The Express application: routes of the table, their answers, and every error as a problem document. */
import { setMaxListeners } from 'node:events';
import { type IncomingMessage, type ServerResponse, IncomingMessage as Incoming, ServerResponse as Outgoing } from 'node:http';
import type { Socket } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import { RequestError } from '../../engine/records/errors.js';
import type { ApiRequest, Reply, Route } from '../api/route.js';
import { ClientGone, discardBody, readBody } from './body.js';
import { limitHeaders } from './limits.js';
import { problemOf, requestErrorOf } from './problems.js';
import { dataHeaders } from './security.js';

/** What the shell tells about each answered request. */
export interface Observer {
  /** After the answer is handed to the socket. `seconds` since the request's headers arrived. */
  answered(route: Route, status: number, seconds: number): void;
  /** An unexpected error. Returns the id under which it was logged. */
  failed(error: unknown, what: string): string;
}

export interface AppOptions {
  /** The hot ones first: they are tried in this order. */
  readonly routes: readonly Route[];
  /** Middleware that counts a request against its limit, by class; none for an unlimited class. */
  readonly limiters: Readonly<Partial<Record<Route['limit'], RequestHandler>>>;
  /** Pages that bring their own middleware, by path: the documentation. */
  readonly pages: Readonly<Record<string, RequestHandler>>;
  /** Proxies of ours in front. */
  readonly trustProxy: number;
  /** Resolves when the read models have passed the position; rejects with `not_caught_up`. */
  readonly waitForPosition: (position: number, signal: AbortSignal) => Promise<void>;
  readonly observer: Observer;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** The application and the request and response classes that its server must use: see `createServer`. */
export interface App {
  readonly express: Express;
  readonly IncomingMessage: typeof Incoming;
  readonly ServerResponse: typeof Outgoing;
  /** Answers one request, whatever it is. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Its server's open connections. */
  readonly connections: Set<Socket>;
  /** From now on every answer closes its connection: the service is stopping. */
  closeConnections(): void;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';
const EXPOSED = 'X-Log-Position, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, Allow';
const ALLOWED_HEADERS = 'Content-Type, Authorization, X-Min-Log-Position, X-Cancel-Signature, X-Cancel-Deadline';

/** What an Express application also is: a function that hands what no route answered, or failed at, to its last argument. */
type Dispatch = (request: IncomingMessage, response: ServerResponse, unanswered: (error?: unknown) => void) => void;

/** Builds the application. Its routes are fixed from here on. */
export function createApp(options: AppOptions): App {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('case sensitive routing').enable('strict routing');
  app.set('trust proxy', options.trustProxy === 0 ? false : options.trustProxy);
  const shell = new Shell(options);
  for (const [path, routes] of byPath(options.routes)) {
    const entry = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const route of routes) {
      const limiter = options.limiters[route.limit];
      const method = route.method.toLowerCase() as 'get' | 'post' | 'delete';
      entry[method](...(limiter === undefined ? [] : [limiter]), (request, response) => shell.serve(route, request, response));
    }
    const allow = allowedMethods(routes);
    entry.options((request, response) => { shell.preflight(request, response, allow); });
    entry.all((request, response) => { shell.refuse(request, response, new RequestError('method_not_allowed', '', [], { allow })); });
  }
  for (const [path, page] of Object.entries(options.pages)) app.use(path, page);
  const route = app as unknown as Dispatch;
  return {
    express: app,
    ...tunedClasses(app),
    connections: new Set(),
    handle: (request, response) => {
      route(request, response, (error) => { shell.refuse(request, response, error ?? new RequestError('not_found')); });
    },
    closeConnections: () => { shell.stopping = true; },
  };
}

/**
 * Express sets the prototype of every request and response, which costs more than all the rest of it: V8 gives up on the object's
 * shape. Objects made by these classes already have just that prototype, and then setting it is a no-op.
 */
function tunedClasses(app: Express): Pick<App, 'IncomingMessage' | 'ServerResponse'> {
  class TunedRequest extends Incoming {}
  class TunedResponse extends Outgoing {}
  Object.setPrototypeOf(TunedRequest.prototype, express.request);
  Object.setPrototypeOf(TunedResponse.prototype, express.response);
  const own = { configurable: true, enumerable: true, writable: true, value: app };
  app.request = Object.defineProperty(TunedRequest.prototype, 'app', own) as unknown as Express['request'];
  app.response = Object.defineProperty(TunedResponse.prototype, 'app', own) as unknown as Express['response'];
  return { IncomingMessage: TunedRequest, ServerResponse: TunedResponse as unknown as typeof Outgoing };
}

/** Answers requests: what every route has in common. One lives as long as its application. */
class Shell {
  stopping = false;
  private readonly base: readonly string[];
  private readonly connections = new Connections();

  constructor(private readonly options: AppOptions) {
    this.base = ['Cache-Control', 'no-store', 'Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED, ...dataHeaders()];
  }

  async serve(route: Route, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = this.options.now();
    let status: number;
    try {
      const rawBody = takesBody(route.body, request) ? await readBody(request, route.body.limitBytes) : EMPTY;
      const asked = new Asked(request, this.connections, rawBody);
      if (route.consistent && request.headers['x-min-log-position'] !== undefined) {
        await this.options.waitForPosition(parsePosition(request.headers['x-min-log-position']), asked.signal);
      }
      const reply = await route.handler(asked);
      status = reply.status ?? 200;
      this.send(request, response, status, reply, reply.contentType ?? JSON_TYPE);
    } catch (error) {
      if (error instanceof ClientGone) return;
      status = this.refuse(request, response, error);
    }
    this.options.observer.answered(route, status, (this.options.now() - started) / 1_000);
  }

  /** Answers with a problem and returns its status. */
  refuse(request: IncomingMessage, response: ServerResponse, error: unknown): number {
    let instance: string | undefined;
    let known = requestErrorOf(error);
    if (known === undefined) {
      instance = this.options.observer.failed(error, `${request.method} ${pathOf(request)}`);
      known = new RequestError('internal');
    }
    const problem = problemOf(known, instance === undefined ? {} : { instance });
    this.send(request, response, problem.status, problem, PROBLEM_TYPE);
    return problem.status;
  }

  preflight(request: IncomingMessage, response: ServerResponse, allow: string): void {
    this.send(request, response, 204, {
      body: '',
      headers: {
        'Allow': allow, 'Access-Control-Allow-Methods': allow, 'Access-Control-Allow-Headers': ALLOWED_HEADERS, 'Access-Control-Max-Age': '7200',
      },
    });
  }

  private send(request: IncomingMessage, response: ServerResponse, status: number, reply: Reply, contentType?: string): void {
    if (response.headersSent || response.destroyed) return;
    const headers = this.base.slice();
    if (contentType !== undefined) headers.push('Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(reply.body)));
    if (reply.position !== undefined) headers.push('X-Log-Position', String(reply.position));
    if (reply.headers !== undefined) for (const name in reply.headers) headers.push(name, reply.headers[name]!);
    headers.push(...limitHeaders(request));
    if (this.stopping) headers.push('Connection', 'close');
    response.writeHead(status, headers);
    response.end(reply.body);
    if (!request.complete) discardBody(request);
  }
}

const EMPTY = Buffer.alloc(0);

/** Whether a body is to be read: a route that can do without one does not ask for its type where there is none. */
function takesBody(body: Route['body'], { headers }: IncomingMessage): body is NonNullable<Route['body']> {
  if (body === undefined) return false;
  return body.optional !== true || headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** One request as a handler sees it, its parts worked out on demand. */
class Asked implements ApiRequest {
  private queryParts: Record<string, string> | undefined;

  constructor(private readonly request: IncomingMessage, private readonly connections: Connections, readonly rawBody: Buffer) {}

  get params() { return (this.request as unknown as { params: Record<string, string> }).params; }
  get headers() { return this.request.headers; }
  get query() { return this.queryParts ??= parseQuery(this.request.url!); }
  get ip() { return (this.request as unknown as { ip?: string }).ip ?? ''; }

  get signal() { return this.connections.signalOf(this.request.socket); }
}

/** One abort signal a connection, made when it is first asked for: one a request would cost a fifth of the whole shell. */
class Connections {
  private readonly aborters = new WeakMap<Socket, AbortController>();

  signalOf(socket: Socket): AbortSignal {
    let aborter = this.aborters.get(socket);
    if (aborter === undefined) {
      const made = aborter = new AbortController();
      // As many requests may wait as the client has pipelined.
      setMaxListeners(0, made.signal);
      if (socket.destroyed) made.abort(); else socket.once('close', () => { made.abort(); });
      this.aborters.set(socket, made);
    }
    return aborter.signal;
  }
}

/** The query of a request target. Throws RequestError when a parameter is given twice: which one counts would be a guess. */
function parseQuery(target: string): Record<string, string> {
  const parts = Object.create(null) as Record<string, string>;
  const mark = target.indexOf('?');
  if (mark < 0) return parts;
  for (const [name, value] of new URLSearchParams(target.slice(mark + 1))) {
    if (name in parts) throw new RequestError('invalid_request', `${name}: given once`, [{ field: `/${name}`, message: 'given once' }]);
    parts[name] = value;
  }
  return parts;
}

function parsePosition(header: string | string[]): number {
  const position = typeof header === 'string' && /^(-1|\d{1,16})$/.test(header) ? Number(header) : NaN;
  if (Number.isSafeInteger(position)) return position;
  const message = 'a log position: a whole number from 0, or -1 for none';
  throw new RequestError('invalid_request', `X-Min-Log-Position: ${message}`, [{ field: 'X-Min-Log-Position', message }]);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0]!.slice(0, 200);
}

function byPath(routes: readonly Route[]): Map<string, Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...paths.get(route.path) ?? [], route]);
  return paths;
}

function allowedMethods(routes: readonly Route[]): string {
  const methods = routes.flatMap(({ method }) => method === 'GET' ? ['GET', 'HEAD'] : [method]);
  return [...methods, 'OPTIONS'].join(', ');
}
