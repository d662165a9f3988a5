/** The service's real HTTP shell and route table on a free port, with handlers that tests put in. */
import type { Server } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { cancelOrder } from '../../command/orders/cancel-order.js';
import type { placeOrder } from '../../command/orders/place-order.js';
import { syncPosition, type SyncPositionHandler } from '../../command/orders/sync-position.js';
import { relayEndpoints } from '../../command/relayer/endpoints.js';
import { getUserNonces } from '../../command/relayer/user-nonces.js';
import type { listEvents } from '../../query/history/list-events.js';
import type { streamPrices } from '../../query/price-stream.js';
import type { getStream } from '../../query/streams/get-stream.js';
import type { openWebSocket } from '../../query/streams/open-web-socket.js';
import { bind, serve, type Endpoint, type Handle, type Reply, type Route, type Served } from '../../service/api/endpoint.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { parseConfig } from '../../service/config.js';
import { replicaEndpoints, orderEndpoints } from '../../command/orders/endpoints.js';
import { lookUpEndpoints, readEndpoints } from '../../query/endpoints.js';
import { allEndpoints, serviceEndpoints } from '../../service/endpoints.js';
import { configHandler } from '../../service/endpoints/config.js';
import { contractsHandler, type getContracts } from '../../command/chain/contracts.js';
import type { getMetrics } from '../../service/endpoints/health.js';
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

export interface TestHandlers {
  readonly placeOrder: Handle<typeof placeOrder>;
  readonly cancelOrder: Handle<typeof cancelOrder>;
  readonly syncPosition: SyncPositionHandler;
  readonly listEvents: Handle<typeof listEvents>;
  readonly streamPrices: Handle<typeof streamPrices>;
  readonly getStream: Handle<typeof getStream>;
  readonly openWebSocket: Handle<typeof openWebSocket>;
  readonly getContracts: Handle<typeof getContracts>;
  readonly getMetrics: Handle<typeof getMetrics>;
}

/** All endpoints with handlers that answer at once; those that are not named, with their own name and what they were asked. */
export function testRoutes({ syncPosition: sync, ...given }: Partial<TestHandlers> = {}): Route[] {
  const handlers: Readonly<Record<string, ReturnType<Served<never>['serve']> | undefined>> = {
    placeOrder: ({ body }: { body: Buffer }) => ({ body: JSON.stringify({ bytes: body.length }), position: 1 }),
    cancelOrder: ({ orderHash }: { orderHash: string }) => ({ body: JSON.stringify({ orderHash }), position: 2 }),
    getUserNonces: (asked: object) => ({ body: JSON.stringify({ asked }) }),
    getReadiness: () => ({ body: '{}' }),
    syncPosition: syncPosition.serve({ syncPosition: sync ?? (({ user }) => Promise.resolve({
      success: true, position: { yesShares: 1n, noShares: 0n, totalInvested: 2n ** 64n }, message: user, logPosition: 3,
    })) }),
    ...given,
  };
  const echo = ({ id: name }: Endpoint) => (asked: object): Reply => ({ body: JSON.stringify({ name, asked }), position: 7 });
  const handled = [...replicaEndpoints, ...orderEndpoints, ...lookUpEndpoints, ...readEndpoints, getUserNonces]
    .map((each) => bind<Endpoint>(each, handlers[each.id] as Handle<Endpoint> ?? echo(each)));
  const relayed = { txHash: `0x${'7e'.repeat(32)}`, status: 'pending' as const };
  const relays = serve(Object.values(relayEndpoints), { relay: () => Promise.resolve(relayed) });
  const service = serve(serviceEndpoints, {
    configuration: configHandler({ config: parseConfig({ CHAINS: 'none' }), chains: [], now: () => 1_790_000_000_999 }),
    contracts: contractsHandler([]), readiness: () => Promise.resolve({ body: '{}' }),
    scrape: () => Promise.resolve({ body: '', contentType: 'text/plain' }), openapi: () => openapiDocument(allEndpoints, '0.0.0'),
  }).map((route) => {
    const handler = handlers[route.endpoint.id];
    return handler === undefined ? route : bind(route.endpoint, handler as Handle<Endpoint>);
  });
  return [...handled, ...relays, ...service];
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
    for (const socket of app.connections) socket.destroy();
    await closed;
  };
  return { app, server, port, routes, answered, failures, stop };
}
