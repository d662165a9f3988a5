/** The Express application: serves the endpoints and pages, and refuses every other request. */
import { type IncomingMessage, type ServerResponse, IncomingMessage as Incoming, ServerResponse as Outgoing } from 'node:http';
import type { Socket } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import { RequestError } from '../../engine/records/errors.js';
import type { ClientError } from '../api/errors.js';
import type { Endpoint, Route } from '../api/endpoint.js';
import { discardBody } from './body.js';
import { StreamConnections } from './connections.js';
import type { Limiters } from './limits.js';
import { Shell, type ShellOptions } from './shell.js';

export interface AppOptions extends Omit<ShellOptions, 'ownPagesOnly' | 'streams'> {
  /** Tried in this order: the most used routes first. */
  readonly routes: readonly Route[];
  /** All endpoints of the service, if other processes serve some of them: the source of `Allow`. Absent: the endpoints of `routes`. */
  readonly endpoints?: readonly Endpoint[];
  readonly limiters: Limiters;
  /** Endpoints without any authority by the settings: web pages of other sites may not call them. */
  readonly ownPagesOnly?: readonly Endpoint[];
  /** Pages with their own middleware, by path: the documentation. */
  readonly pages: Readonly<Record<string, RequestHandler>>;
  /** Number of trusted proxies in front of the service. */
  readonly trustProxy: number;
}

/** The application and the request and response classes that its server must use: see `createServer`. */
export interface App {
  readonly express: Express;
  readonly IncomingMessage: typeof Incoming;
  readonly ServerResponse: typeof Outgoing;
  /** Answers any request. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The open connections of the server. */
  readonly connections: Set<Socket>;
  /** Those of them that carry a stream. */
  readonly streams: StreamConnections;
  /** Answers with an error. */
  refuse(request: IncomingMessage, response: ServerResponse, error: ClientError): void;
  /** From now on every answer asks its client to close the connection: the service will stop soon. */
  leave(): void;
  /** The same, and streams end: the service is stopping. */
  closeConnections(): void;
}

/** An Express application as a function: requests that no route answered, and errors, go to the last argument. */
type Dispatch = (request: IncomingMessage, response: ServerResponse, unanswered: (error?: unknown) => void) => void;

/** Builds the application; its routes cannot change later. */
export function createApp(options: AppOptions): App {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('case sensitive routing').enable('strict routing');
  app.set('trust proxy', options.trustProxy === 0 ? false : options.trustProxy);
  const streams = new StreamConnections();
  const shell = new Shell({ ...options, streams, ownPagesOnly: new Set(options.ownPagesOnly) });
  addRoutes(app, shell, options);
  for (const [path, page] of Object.entries(options.pages)) app.use(path, withoutBody, page);
  const route = app as unknown as Dispatch;
  return {
    express: app,
    ...tunedClasses(app),
    connections: new Set(),
    streams,
    handle: (request, response) => {
      route(request, response, (error) => { shell.refuse(request, response, error ?? new RequestError('not_found')); });
    },
    refuse: (request, response, error) => { shell.refuse(request, response, error); },
    leave: () => { shell.leave(); },
    closeConnections: () => { shell.stop(); },
  };
}

/** Adds the routes, path by path, in their order, then the paths that only other processes serve. */
function addRoutes(app: Express, shell: Shell, options: AppOptions): void {
  const { routes, endpoints = routes.map((each) => each.endpoint), limiters, ownPagesOnly = [] } = options;
  for (const path of new Set([...routes.map(({ endpoint }) => endpoint), ...endpoints].map((each) => each.path))) {
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
    const here = endpoints.filter((each) => each.path === path);
    const methods = methodsOf(here);
    const allow = methods.join(', ');
    const toAnyPage = methodsOf(here.filter((each) => !ownPagesOnly.includes(each))).join(', ');
    entry.options((request, response) => { shell.preflight(request, response, { allow, toAnyPage }); });
    entry.all((request, response) => {
      const elsewhere = methods.includes(request.method);
      shell.refuse(request, response, elsewhere ? servedElsewhere() : notAllowed(allow));
    });
  }
}

/** Pages take no body: one that is sent is dropped while the page is answered, within the limit of every body that nobody wants. */
const withoutBody: RequestHandler = (request, _response, next) => {
  discardBody(request);
  next();
};

function servedElsewhere(): ClientError {
  return new RequestError('not_found', 'another process of the service serves this endpoint');
}

function notAllowed(allow: string): ClientError {
  return new RequestError('method_not_allowed', '', [], { allow });
}

function methodsOf(endpoints: readonly Endpoint[]): string[] {
  return [...endpoints.flatMap(({ method }) => method === 'GET' ? ['GET', 'HEAD'] : [method]), 'OPTIONS'];
}

/**
 * Express sets the prototype of every request and response. That costs more than all other work of Express, because V8 then drops the
 * object's shape. Objects of these classes already have the prototype, so setting it has no effect.
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
