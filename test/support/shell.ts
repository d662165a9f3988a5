/** The service's real HTTP shell and route table on a free port, with handlers that tests put in. */
import type { Server } from 'node:http';
import { performance } from 'node:perf_hooks';
import { configHandler } from '../../service/api/config-answer.js';
import { contractsHandler } from '../../service/api/endpoints/wallet-contracts.js';
import type { Endpoint, Reply, Route } from '../../service/api/endpoint.js';
import {
  orderEndpoints, readEndpoints, serviceEndpoints, type OrderHandlers, type ReadHandlers, type ServiceHandlers,
} from '../../service/api/endpoints.js';
import { relayerRoutes } from '../../service/api/endpoints/relayer.js';
import { parseConfig } from '../../service/config.js';
import { createApp, type App, type AppOptions } from '../../service/http/app.js';
import type { RefusedConnection } from '../../service/http/connections.js';
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
  readonly handlers?: Partial<TestHandlers>;
  readonly app?: Partial<AppOptions>;
  readonly limits?: Partial<ServerLimits>;
  /** Called for each connection beyond the limits. */
  readonly refused?: (connection: RefusedConnection) => void;
}

export type TestHandlers = OrderHandlers & ReadHandlers & ServiceHandlers;

/** Reads that answer with their own name and what they were asked. */
const echoes = new Proxy({} as ReadHandlers, {
  get: (_, name: string) => (asked: object): Promise<Reply> =>
    Promise.resolve({ body: JSON.stringify({ name, asked }), position: 7 }),
});

/** All endpoints with handlers that answer at once. */
export function testRoutes(handlers: Partial<TestHandlers> = {}): Route[] {
  const orders: OrderHandlers = {
    placeOrder: ({ body }) => ({ body: JSON.stringify({ bytes: body.length }), position: 1 }),
    cancelOrder: ({ orderHash }) => ({ body: JSON.stringify({ orderHash }), position: 2 }),
    getOrder: (asked) => ({ body: JSON.stringify({ name: 'getOrder', asked }), position: 7 }),
    syncPosition: ({ user }) => Promise.resolve({
      success: true, position: { yesShares: 1n, noShares: 0n, totalInvested: 2n ** 64n }, message: user, logPosition: 3,
    }),
    ...handlers,
  };
  const service: ServiceHandlers = {
    getConfig: configHandler({ config: parseConfig({ CHAINS: 'none' }), chains: [], now: () => 1_790_000_000_999 }),
    getContracts: contractsHandler([]),
    getLiveness: () => ({ body: '{"live":true}' }),
    getReadiness: () => Promise.resolve({ body: '{}' }),
    getMetrics: () => Promise.resolve({ body: '', contentType: 'text/plain' }),
    ...handlers,
  };
  const reads = Object.assign(Object.create(echoes) as ReadHandlers, handlers);
  const relayer = relayerRoutes({
    relay: () => Promise.resolve({ txHash: `0x${'7e'.repeat(32)}`, status: 'pending' }), getUserNonces: (asked) => ({ body: JSON.stringify({ asked }) }),
  });
  return [...orderEndpoints(orders), ...readEndpoints(reads), ...relayer, ...serviceEndpoints(service, '0.0.0')];
}

export async function startShell({ handlers, app: appOptions, limits, refused }: ShellOptions = {}): Promise<RunningShell> {
  const answered: Answered[] = [];
  const failures: unknown[] = [];
  const routes = testRoutes(handlers);
  const app = createApp({
    routes, limiters: {}, pages: { '/docs': docsPage('/openapi.json') }, trustProxy: 0, waitForPosition: () => Promise.resolve(),
    observer: {
      answered: ({ id }: Endpoint, status) => { answered.push({ route: id, status }); },
      failed: (error) => `failure-${failures.push(error)}`,
    },
    now: () => performance.now(),
    ...appOptions,
  });
  const ordinary = { requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000, maxConnections: 100, maxConnectionsPerAddress: 0 };
  const server = createServer(app, { ...ordinary, ...limits }, refused);
  const port = await listen(server, { host: '127.0.0.1', port: 0 });
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { app, server, port, routes, answered, failures, stop };
}
