/** The Express application: the routes of the endpoints, the pages beside them, and every other request refused. */
import { type IncomingMessage, type ServerResponse, IncomingMessage as Incoming, ServerResponse as Outgoing } from 'node:http';
import type { Socket } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import { RequestError } from '../../engine/records/errors.js';
import type { Endpoint, Route } from '../api/endpoint.js';
import type { Limiters } from './limits.js';
import { Shell, type ShellOptions } from './shell.js';

export interface AppOptions extends ShellOptions {
  /** The hot ones first: they are tried in this order. */
  readonly routes: readonly Route[];
  /** All endpoints of the service, where other processes serve the rest: what `Allow` is told from. The routes' own when absent. */
  readonly endpoints?: readonly Endpoint[];
  readonly limiters: Limiters;
  /** Pages that bring their own middleware, by path: the documentation. */
  readonly pages: Readonly<Record<string, RequestHandler>>;
  /** Proxies of ours in front. */
  readonly trustProxy: number;
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

/** What an Express application also is: a function that hands what no route answered, or failed at, to its last argument. */
type Dispatch = (request: IncomingMessage, response: ServerResponse, unanswered: (error?: unknown) => void) => void;

/** Builds the application. Its routes are fixed from here on. */
export function createApp(options: AppOptions): App {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('case sensitive routing').enable('strict routing');
  app.set('trust proxy', options.trustProxy === 0 ? false : options.trustProxy);
  const shell = new Shell(options);
  addRoutes(app, shell, options);
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

/** Path by path, in the order of the routes. */
function addRoutes(app: Express, shell: Shell, { routes, endpoints = routes.map((each) => each.endpoint), limiters }: AppOptions): void {
  for (const path of new Set(routes.map(({ endpoint }) => endpoint.path))) {
    const entry = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const route of routes.filter(({ endpoint }) => endpoint.path === path)) {
      const { endpoint } = route;
      const limiter = limiters[endpoint.limit];
      const method = endpoint.method.toLowerCase() as 'get' | 'post' | 'delete';
      if (limiter !== undefined) {
        entry[method]((request, response, next) => limiter(request, response, (error?: unknown) => {
          if (error === undefined) next(); else shell.refuse(request, response, error, endpoint);
        }));
      }
      entry[method]((request, response) => shell.serve(route, request, response));
    }
    const methods = methodsOf(endpoints.filter((each) => each.path === path));
    const allow = methods.join(', ');
    entry.options((request, response) => { shell.preflight(request, response, allow); });
    entry.all((request, response) => {
      const elsewhere = methods.includes(request.method);
      shell.refuse(request, response, elsewhere ? new RequestError('not_found', 'another process of the service serves it') : notAllowed(allow));
    });
  }
}

function notAllowed(allow: string): RequestError {
  return new RequestError('method_not_allowed', '', [], { allow });
}

function methodsOf(endpoints: readonly Endpoint[]): string[] {
  return [...endpoints.flatMap(({ method }) => method === 'GET' ? ['GET', 'HEAD'] : [method]), 'OPTIONS'];
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
