/**
 * The proxy in front of a stack whose roles are separate processes: sends each request to a process of the role that serves it, and answers
 * `unavailable` when no such process runs.
 */
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { ProxyServer } from 'httpxy';
import { RequestError } from '../../engine/records/errors.js';
import { bindAll } from '../api/endpoint.js';
import { getReadiness } from '../api/endpoints/readiness.js';
import { getLiveness, getMetrics } from '../api/endpoints/service.js';
import { roleOf } from '../api/role-of.js';
import { createApp, type App } from '../http/app.js';
import type { Observer } from '../http/shell.js';
import { problemOf } from '../http/problems.js';
import type { Metrics } from '../metrics.js';
import type { RoleName } from '../roles/role-names.js';

/** The ports on this machine at which the processes of a role listen; empty when none runs. */
export type PortsOf = (role: RoleName) => readonly number[];

export interface FrontOptions {
  readonly portsOf: PortsOf;
  /** The answer to `/health/ready` for the whole stack. */
  readonly readiness: () => Promise<{ readonly status: number; readonly body: string }>;
  readonly metrics: Metrics;
  readonly observer: Observer;
  /** Number of trusted proxies in front of this one. */
  readonly trustProxy: number;
}

/** A request whose answer does not begin within this time is given up. The waits within a role are shorter. */
const ANSWER_WITHIN_MS = 60_000;

/** The proxy as an App: answers health and metrics itself, and passes on all other requests. */
export function createFront({ portsOf, readiness, metrics, observer, trustProxy }: FrontOptions): App {
  const app = createApp({
    routes: bindAll({ getLiveness, getReadiness, getMetrics }, {
      getLiveness: () => ({ body: '{"live":true}' }), getReadiness: readiness, getMetrics: () => metrics.scrape(),
    }),
    pages: {}, limiters: {}, trustProxy, observer, now: () => performance.now(), waitForPosition: () => Promise.resolve(),
  });
  const pass = createPass(portsOf);
  const own = new Set<string>([getLiveness.path, getReadiness.path, getMetrics.path]);
  return {
    ...app,
    handle(request, response) {
      const [path = ''] = (request.url ?? '').split('?', 1);
      if (own.has(path)) app.handle(request, response);
      else pass(request, response, servedBy(roleOf(request.method ?? '', path)));
    },
  };
}

/** Endpoints that every process serves are passed to a query process, whose answers are the most complete. */
function servedBy(role: ReturnType<typeof roleOf>): RoleName {
  return role === 'every' ? 'query' : role;
}

type Pass = (request: IncomingMessage, response: ServerResponse, role: RoleName) => void;

function createPass(portsOf: PortsOf): Pass {
  const proxy = new ProxyServer({
    xfwd: true, proxyTimeout: ANSWER_WITHIN_MS, agent: new Agent({ keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 256, scheduling: 'fifo' }),
  });
  let turn = 0;
  return (request, response, role) => {
    const ports = portsOf(role);
    const port = ports[turn++ % ports.length];
    if (port === undefined) return refuse(response, new RequestError('unavailable', `no ${role} process runs at the moment`));
    proxy.web(request, response, { target: { host: '127.0.0.1', port } }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(response, failureOf(request, role, error));
    });
  };
}

/** The error for the client. Without a connection nothing was sent; otherwise a write may have been recorded, so its outcome is unknown. */
function failureOf({ method }: IncomingMessage, role: string, error: unknown): RequestError {
  const notSent = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  if (notSent || method === 'GET' || method === 'HEAD') return new RequestError('unavailable', `the ${role} process did not answer`);
  return new RequestError('outcome_unknown', `the ${role} process ended before it answered`);
}

function refuse(response: ServerResponse, error: RequestError): void {
  if (response.headersSent || response.destroyed) return;
  const { status, body, headers } = problemOf(error);
  response.writeHead(status, {
    ...headers, 'Content-Type': 'application/problem+json; charset=utf-8', 'Content-Length': Buffer.byteLength(body), 'Access-Control-Allow-Origin': '*',
    'Cache-Control': 'no-store',
  });
  response.end(body);
}
