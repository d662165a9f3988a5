/**
 * The one address of a stack whose roles are processes of their own: passes each request to a process of the role that serves it, and answers
 * 503 when there is none at the moment.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ProxyServer } from 'httpxy';
import { RequestError } from '../../engine/records/errors.js';
import type { ClientError } from '../../service/api/errors.js';
import { bind } from '../../service/api/endpoint.js';
import { getLiveness, getMetrics, getReadiness } from '../../service/endpoints/health.js';
import { endpointAt, roleOf } from '../../service/role-of.js';
import { createApp, type App } from '../../service/http/app.js';
import { discardBody } from '../../service/http/body.js';
import type { StreamConnections } from '../../service/http/connections.js';
import { COMMON_HEADERS } from '../../service/http/headers.js';
import type { Observer } from '../../service/http/observe.js';
import { problems } from '../../service/api/problems.js';
import { faultOf } from '../../service/http/well-formed.js';
import type { Metrics } from '../../service/status/metrics.js';
import type { RoleName } from '../../service/roles/role-names.js';
import { createLinks, type Links } from './links.js';

/** The ports on this machine of the processes to which requests of a role may go; empty when there is none. */
export type PortsOf = (role: RoleName) => readonly number[];

export interface FrontOptions {
  readonly portsOf: PortsOf;
  /** The answer to `/health/ready` for the whole stack, or for its processes of one role. */
  readonly readiness: (role: RoleName | undefined) => Promise<{ readonly status: number; readonly body: string }>;
  readonly metrics: Metrics;
  /** Whether `/metrics` is served here; if not, it is nowhere: those of the processes are not passed on. */
  readonly showsMetrics: boolean;
  readonly observer: Observer;
  /** Number of trusted proxies in front of this one. */
  readonly trustProxy: number;
  /** A request whose process sends nothing for this long is given up. */
  readonly silenceMs?: number;
}

export interface Front extends App {
  /** For a process that leaves: resolves when all that was sent to it is answered, at the latest after `withinMs`. Closes idle connections to it. */
  forget(port: number, withinMs: number): Promise<void>;
}

const EVENT_STREAM = 'text/event-stream';
/** Longer than a process waits for anything itself. */
const SILENCE_MS = 60_000;

/** The app answers health and metrics itself, and hands everything else on. */
export function createFront({ portsOf, readiness, metrics, showsMetrics, observer, trustProxy, silenceMs = SILENCE_MS }: FrontOptions): Front {
  const app = createApp({
    routes: [
      bind(getLiveness, getLiveness.serve({})), bind(getReadiness, getReadiness.serve({ readiness })),
      ...showsMetrics ? [bind(getMetrics, metrics.scrape)] : [],
    ],
    pages: {}, limiters: {}, trustProxy, observer, now: () => performance.now(), waitForPosition: () => Promise.resolve(),
  });
  const links = createLinks(portsOf);
  let isLeaving = false;
  const pass = createPass({ portsOf, links, silenceMs, connections: app.streams, isLeaving: () => isLeaving });
  const own = new Set<string>([getLiveness.path, getReadiness.path, getMetrics.path]);
  const streams = new Set<ServerResponse>();
  return {
    ...app,
    handle(request, response) {
      const [path = ''] = (request.url ?? '').split('?', 1);
      const fault = faultOf(request);
      if (own.has(path)) app.handle(request, response);
      else if (fault !== undefined) refuse(request, response, fault);
      else {
        const isStream = endpointAt(request.method ?? '', path)?.answer.stream === true;
        if (isStream) {
          streams.add(response);
          response.once('close', () => { streams.delete(response); });
        }
        pass(request, response, { role: servedBy(roleOf(request.method ?? '', path)), isStream });
      }
    },
    forget: (port, withinMs) => links.forget(port, withinMs),
    leave() {
      isLeaving = true;
      app.leave();
    },
    closeConnections() {
      isLeaving = true;
      app.closeConnections();
      // A stream does not end by itself. Its client connects again.
      for (const stream of streams) stream.destroy();
    },
  };
}

/** Requests that every process can answer go to the query processes. */
function servedBy(role: ReturnType<typeof roleOf>): RoleName {
  return role === 'every' ? 'query' : role;
}

interface Passed {
  readonly role: RoleName;
  /** A stream does not end by itself: a process that leaves ends it, and its client asks again. */
  readonly isStream: boolean;
}

type Pass = (request: IncomingMessage, response: ServerResponse, passed: Passed) => void;

interface Passing {
  readonly portsOf: PortsOf;
  readonly links: Links;
  readonly silenceMs: number;
  readonly connections: StreamConnections;
  readonly isLeaving: () => boolean;
}

function createPass({ portsOf, links, silenceMs, connections, isLeaving }: Passing): Pass {
  const proxy = new ProxyServer({ proxyTimeout: silenceMs });
  // `Connection: close` of a process is about its connection to the front: the client's connection outlives the process.
  proxy.on('proxyRes', ({ headers }, request, response) => {
    if (isLeaving()) headers.connection = 'close'; else delete headers.connection;
    // Not when it is asked for: a process limits the streams of an address, and may refuse.
    if (request.method === 'GET' && headers['content-type']?.startsWith(EVENT_STREAM) === true) response.once('close', connections.begin(request.socket));
  });
  // A turn per role: with one for all, a client that reads after every order would read from the same process each time.
  const turns = new Map<RoleName, number>();
  return (request, response, { role, isStream }) => {
    const ports = portsOf(role);
    const turn = turns.get(role) ?? 0;
    turns.set(role, turn + 1);
    const port = ports[turn % ports.length];
    if (port === undefined) return refuse(request, response, new RequestError('unavailable', `no ${role} process runs at the moment`));
    if (!isStream) response.once('close', links.began(port));
    appendAddress(request);
    proxy.web(request, response, { agent: links.agentOf(role), target: { host: '127.0.0.1', port } }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(request, response, failureOf(request, role, error));
    });
  };
}

/**
 * Adds the address that this request came from to X-Forwarded-For, after those that the client or another proxy has put there: a process
 * counts trusted proxies from the end of the list. (httpxy's `xfwd` keeps a list that is there as it is, so a client could choose its address.)
 */
function appendAddress({ headers, socket }: IncomingMessage): void {
  headers['x-forwarded-for'] = [headers['x-forwarded-for'], socket.remoteAddress].flat().filter(Boolean).join(', ');
}

const SAFE_METHODS: readonly unknown[] = ['GET', 'HEAD', 'OPTIONS'];

/** A request over a refused connection was not sent. Any other order may have been taken: the client learns by sending it again. */
function failureOf({ method }: IncomingMessage, role: string, error: unknown): ClientError {
  const notSent = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  if (notSent || SAFE_METHODS.includes(method)) return new RequestError('unavailable', `the ${role} process did not answer`);
  return new RequestError('outcome_unknown', `the ${role} process ended before it answered`);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: ClientError): void {
  if (response.headersSent || response.destroyed) return;
  const shape = endpointAt(request.method ?? '', request.url ?? '')?.errorShape ?? problems;
  const { status, body, headers } = shape.answer(error);
  response.writeHead(status, [
    ...[...COMMON_HEADERS].flat(), 'Content-Type', `${shape.contentType}; charset=utf-8`, 'Content-Length', String(Buffer.byteLength(body)),
    ...Object.entries(headers).flat(),
  ]);
  response.end(body);
  // The next request on this connection comes after the rest of the body.
  discardBody(request);
}
