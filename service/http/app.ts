/**
 * The Express application: the way of a request, from top to bottom. Its steps are in request-steps.ts, limits.ts,
 * answer.ts and errors.ts.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import { RequestError } from '../../engine/records/errors.js';
import type { pause } from '../../engine/waiting.js';
import type { Authenticate } from '../access/authenticate.js';
import type { Endpoint, Route } from '../api/endpoint.js';
import { createChunks } from './chunks.js';
import { answer, ClientSignals, type AnswerParts } from './answer.js';
import {
  readJsonBody, withoutBody, bearerToken, clientAddress, minLogPosition, onlyOwnPages, otherMethods, parseQuery,
  preflight, wellFormed, withoutCors, type WaitForPosition,
} from './request-steps.js';
import { StreamConnections } from './connections.js';
import { notEnding, stop } from './ending.js';
import { answerErrors } from './errors.js';
import type { Limiters } from './limits.js';
import type { Observer } from '../status/metrics.js';
import { Upgrades } from './upgrades.js';
import { createWebSockets } from './web-sockets.js';
import type { ErrorMiddleware, RequestLocals, Next, Middleware, StepRequest, StepResponse } from './step.js';

export interface AppOptions {
  /** Tried in this order: the most used routes first. */
  readonly routes: readonly Route[];
  /**
   * All endpoints of the service, if other processes serve some of them: the source of `Allow`. Absent: the endpoints
   * of `routes`.
   */
  readonly endpoints?: readonly Endpoint[];
  readonly limiters: Limiters;
  /** Endpoints without any authority by the settings: web pages of other sites may not call them. */
  readonly ownPagesOnly?: readonly Endpoint[];
  /** Absent: all routes have their handlers from the beginning. */
  readonly start?: AppStart;
  /** Finds the bearer token of a request. Needed when an endpoint asks for one. */
  readonly authenticate?: Authenticate;
  readonly waitForPosition: WaitForPosition;
  readonly observer: Observer;
  /** Pages with their own middleware, by path: the documentation. */
  readonly pages: Readonly<Record<string, RequestHandler>>;
  /** Answers `/` and what its page loads; asked after everything else, so that no other request pays for it. */
  readonly frontPage?: RequestHandler | undefined;
  /** Number of trusted proxies in front of the service. */
  readonly trustProxy: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** How the application pauses between pings; tests give their own. */
  readonly pause?: typeof pause;
}

/** The start of a process whose handlers come when its roles work. */
export interface AppStart {
  /** Until then, requests are refused before anything of them is read. */
  isOver: boolean;
  /** These endpoints are served all the same. */
  readonly servedBefore: ReadonlySet<Endpoint>;
}

export interface App {
  /** Answers any request. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Whether the request, which asks for another protocol, is for a path that speaks it. */
  isUpgrade(request: IncomingMessage): boolean;
  /** Answers such a request. `head`: what the client has sent after it. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void;
  /** The open connections of the server. */
  readonly connections: Set<Socket>;
  /** Those of them that carry a stream. */
  readonly streams: StreamConnections;
  /** From now on every answer asks its client to close the connection: the service will stop soon. */
  leave(): void;
  /** The same, and streams end: the service is stopping. */
  closeConnections(): void;
}

/** Builds the application; its routes cannot change later. */
export function createApp(options: AppOptions): App {
  const { pages, frontPage, trustProxy, observer, now, pause: rest } = options;
  const ending = notEnding();
  const [streams, upgrades] = [new StreamConnections(), new Upgrades()];
  const webSockets = createWebSockets({ ending, streams, now, ...rest && { pause: rest } });
  const parts = { clients: new ClientSignals(), ending, streams, outflow: createChunks(), upgrades, webSockets, observer, now, trustProxy };
  const errors = answerErrors(parts);

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', parseQuery);
  app.enable('case sensitive routing').enable('strict routing');

  const client = clientAddress(trustProxy);
  app.use(client, wellFormed);
  for (const [path, page] of Object.entries(pages)) app.use(path, withoutBody, page);
  addEndpoints(app, options, parts);
  if (frontPage !== undefined) app.use(withoutBody, frontPage);
  app.use(() => { throw new RequestError('not_found'); });
  app.use(errors);

  // What traders send most has a fixed path and no query: the same steps, without a router.
  const direct = new Map(options.routes.filter(({ endpoint }) => endpoint.method === 'POST' && !endpoint.path.includes('{'))
    .map((route) => [route.endpoint.path, [client, wellFormed, ...stepsOf(route, options, parts)]]));

  const handle: App['handle'] = (request, response) => {
    const steps = request.method === 'POST' ? direct.get(request.url ?? '') : undefined;
    if (steps !== undefined) {
      runSteps(steps, errors, request, response);
      return;
    }
    const [asked, answered] = [request as StepRequest, response as StepResponse];
    // Express does not route a target that is not a URL.
    const unrouted = () => { errors(new RequestError('not_found'), asked, answered, unrouted); };
    void (app as Middleware)(asked, answered, unrouted);
  };
  const socketPaths = new Set(options.routes.filter(({ endpoint }) => endpoint.answer.webSocket === true).map(({ endpoint }) => endpoint.path));

  return {
    connections: new Set(), streams, handle,
    isUpgrade: ({ method, url = '', headers }) => (
      method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && socketPaths.has(url.split('?', 1)[0] ?? '')),
    upgrade: (request, socket, head) => {
      const response = upgrades.begin(request, socket, head);
      if (response !== undefined) handle(request, response);
    },
    leave: () => { ending.isLeaving = true; },
    closeConnections: () => { stop(ending); },
  };
}

/** Adds the endpoints, path by path, in the order of their routes, then the paths that only other processes serve. */
function addEndpoints(app: Express, options: AppOptions, parts: AnswerParts): void {
  const { routes, endpoints = routes.map((each) => each.endpoint), ownPagesOnly = [] } = options;
  for (const path of new Set([...routes.map(({ endpoint }) => endpoint), ...endpoints].map((each) => each.path))) {
    const here = endpoints.filter((each) => each.path === path);
    const entry = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const route of routes.filter(({ endpoint }) => endpoint.path === path)) {
      const method = route.endpoint.method.toLowerCase() as 'get' | 'post' | 'delete';
      entry[method](...stepsOf(route, options, parts));
    }
    entry.options(preflight(here, ownPagesOnly, parts.ending));
    entry.all(otherMethods(here));
  }
}

/** The steps of a request to an endpoint, in their order. */
function stepsOf(route: Route, options: AppOptions, parts: AnswerParts): Middleware[] {
  const { endpoint } = route;
  const { limiters, start, ownPagesOnly = [], authenticate, waitForPosition, now } = options;
  const isForOwnPages = ownPagesOnly.includes(endpoint);
  const awaited = start?.servedBefore.has(endpoint) === false ? start : undefined;
  const limiter = limiters[endpoint.limit];
  const steps: (Middleware | false)[] = [
    (_request, response, next) => {
      response.locals.endpoint = endpoint;
      next();
    },
    isForOwnPages && withoutCors,
    limiter?.count ?? false,
    (_request, response, next) => {
      response.locals.startedMs = now();
      if (awaited?.isOver === false) throw new RequestError('unavailable', 'the process is starting: /health/ready says what it waits for');
      next();
    },
    isForOwnPages && onlyOwnPages,
    endpoint.authority.scope !== undefined && bearerToken(endpoint, authenticate),
    endpoint.body !== undefined && readJsonBody(endpoint.body),
    limiter !== undefined && endpoint.weight !== undefined && limiter.countRest(endpoint.weight),
    endpoint.consistent && minLogPosition(waitForPosition, parts.clients),
    answer(route, parts),
  ];
  return steps.filter((each) => each !== false);
}

/** Shared by requests that have none. */
const NONE: Readonly<Record<string, string>> = {};

/**
 * Runs steps without Express, whose router and prototypes cost an order more than its steps do: it sets the prototypes
 * of each request and response, after which V8 has no fixed shape for them. For requests without parameters in path or
 * query. Calls `failed` when a step fails, as Express does.
 */
function runSteps(
  steps: readonly Middleware[], failed: ErrorMiddleware, request: IncomingMessage, response: ServerResponse,
): void {
  const ours: StepRequest = Object.assign(request, { params: NONE, query: NONE, originalUrl: request.url ?? '', body: undefined });
  const answer = Object.assign(response, { locals: {} as RequestLocals });
  runFrom(0, { steps, failed, request: ours, response: answer });
}

interface Run {
  readonly steps: readonly Middleware[];
  readonly failed: ErrorMiddleware;
  readonly request: StepRequest;
  readonly response: StepResponse;
}

function runFrom(index: number, run: Run): void {
  const { steps, failed, request, response } = run;
  const next: Next = (error) => {
    if (error === undefined) runFrom(index + 1, run); else failed(
      error, request, response, next,
    );
  };
  try {
    const underway = steps[index]?.(request, response, next);
    if (underway instanceof Promise) underway.catch(next);
  } catch (error) {
    next(error);
  }
}
