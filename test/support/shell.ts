/** The service's real HTTP shell and route table on a free port, with handlers that tests put in. */
import type { Server } from 'node:http';
import { performance } from 'node:perf_hooks';
import { configHandler } from '../../service/api/config-answer.js';
import { createRoutes, type Queries, type RouteHandlers } from '../../service/api/routes.js';
import type { Reply, Route } from '../../service/api/route.js';
import { parseConfig } from '../../service/config.js';
import { createApp, type App, type AppOptions } from '../../service/http/app.js';
import { docsPage } from '../../service/http/docs.js';
import { createServer, listen, type ServerLimits } from '../../service/http/server.js';

export interface Answered {
  readonly route: string;
  readonly status: number;
}

export interface RunningShell {
  readonly app: App;
  readonly server: Server;
  readonly port: number;
  readonly routes: readonly Route[];
  /** What the observer was told, in order. */
  readonly answered: Answered[];
  readonly failures: unknown[];
  stop(): Promise<void>;
}

export interface ShellOptions {
  readonly handlers?: Partial<RouteHandlers>;
  readonly app?: Partial<AppOptions>;
  readonly limits?: Partial<ServerLimits>;
}

/** Queries that answer with their own name and what they were asked. */
export const echoQueries = new Proxy({} as Queries, {
  get: (_, name: string) => (asked: object): Promise<Reply> =>
    Promise.resolve({ body: JSON.stringify({ name, asked }), position: 7 }),
});

/** The table with handlers that answer at once. */
export function testRoutes(handlers: Partial<RouteHandlers> = {}): Route[] {
  return createRoutes({
    placeOrder: ({ rawBody }) => ({ body: JSON.stringify({ bytes: rawBody.length }), position: 1 }),
    cancelOrder: ({ params }) => ({ body: JSON.stringify({ orderHash: params['hash'] }), position: 2 }),
    syncPosition: ({ marketId, user }) => Promise.resolve({
      success: true, position: { yesShares: 1n, noShares: 0n, totalInvested: 2n ** 64n }, message: `${marketId} ${user}`, logPosition: 3,
    }),
    config: configHandler({ config: parseConfig({ CHAINS: 'none' }), chains: [], now: () => 1_790_000_000_999 }),
    live: () => ({ body: '{"live":true}' }),
    ready: () => Promise.resolve({ body: '{}' }),
    metrics: () => Promise.resolve({ body: '', contentType: 'text/plain' }),
    queries: echoQueries,
    version: '0.0.0',
    ...handlers,
  });
}

export async function startShell({ handlers, app: appOptions, limits }: ShellOptions = {}): Promise<RunningShell> {
  const answered: Answered[] = [];
  const failures: unknown[] = [];
  const routes = testRoutes(handlers);
  const app = createApp({
    routes, limiters: {}, pages: { '/docs': docsPage('/openapi.json') }, trustProxy: 0, waitForPosition: () => Promise.resolve(),
    observer: {
      answered: (route, status) => { answered.push({ route: route.id, status }); },
      failed: (error) => `failure-${failures.push(error)}`,
    },
    now: () => performance.now(),
    ...appOptions,
  });
  const server = createServer(app, { requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000, maxConnections: 100, ...limits });
  const port = await listen(server, { host: '127.0.0.1', port: 0 });
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { app, server, port, routes, answered, failures, stop };
}
