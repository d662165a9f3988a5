/** A front over HTTP servers that play the roles' processes. */
import { once as event } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { createServer, listen, type ServerLimits } from '../../service/http/server.js';
import { createMetrics } from '../../service/status/metrics.js';
import type { RoleName } from '../../service/roles/role-names.js';
import { createFront, type Front, type FrontOptions } from '../../stack/supervision/front.js';
import type { WireAnswer } from './wire.js';

export const ORDERS = '/api/v1/orders';
/** The servers of the running test; `closeServers` closes them. */
export const servers: Server[] = [];

/** What a process got, as it tells in its answer. */
interface Got {
  readonly process: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
  /** The front's end of the connection: the same for two requests on one connection. */
  readonly connection: number;
}

/** Closes what the test has started. */
export async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) await new Promise((resolve) => { server.close(resolve).closeAllConnections(); });
}

export type Processes = Partial<Record<RoleName, readonly number[]>>;

/** A front for these processes on a free port, which it returns. */
export async function startFront(processes: Processes, options: Partial<FrontOptions> = {}): Promise<number> {
  return (await startWith(processes, options)).port;
}

export async function startWith(
  processes: Processes, options: Partial<FrontOptions> = {}, limits: Partial<ServerLimits> = {},
): Promise<{ readonly app: Front; readonly port: number }> {
  const metrics = createMetrics();
  const app = createFront({
    portsOf: (role) => processes[role] ?? [], metrics, showsMetrics: true, trustProxy: 0, readiness: async () => ({ status: 200, body: '{}' }),
    observer: { answered: (endpoint, status, seconds) => { metrics.answered(endpoint, status, seconds); }, failed: (error) => { throw error; } },
    ...options,
  });
  const ordinary = { requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000, maxConnections: 100, maxConnectionsPerAddress: 0 };
  const server = createServer(app, { ...ordinary, ...limits });
  servers.push(server);
  return { app, port: await listen(server, { host: '127.0.0.1', port: 0 }) };
}

type Behaviour = (...of: Parameters<RequestListener>) => void | Promise<void>;

/** A process of a role: answers with what it got, unless told how to behave. Returns its port. */
export async function startProcess(name: string, behave?: Behaviour, port = 0): Promise<number> {
  const server = createHttpServer((request, response) => { void (behave ?? telling(name))(request, response); });
  servers.push(server);
  await event(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function telling(process: string): Behaviour {
  return async (request, response) => {
    const { method = '', url = '', headers, socket } = request;
    let bytes = 0;
    for await (const piece of request as AsyncIterable<Buffer>) bytes += piece.length;
    const body = JSON.stringify({ process, method, url, headers, bytes, connection: socket.remotePort });
    response.writeHead(200, { 'X-Process': process, 'X-Asked': `${method} ${url}`, 'Content-Length': Buffer.byteLength(body) }).end(body);
  };
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createSocketServer().listen(0, '127.0.0.1');
  await event(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

export const gotIn = ({ body }: WireAnswer): Got => JSON.parse(body) as Got;
export const codeOf = ({ body }: WireAnswer): string => (JSON.parse(body) as { code: string }).code;

/** Values in the order of arrival; a taker waits for the next. */
export function inbox<T>(): { put(value: T): void; take(): Promise<T> } {
  const values: T[] = [];
  const takers: ((value: T) => void)[] = [];
  return {
    put(value) {
      const taker = takers.shift();
      if (taker === undefined) values.push(value); else taker(value);
    },
    take: () => new Promise((resolve) => {
      const value = values.shift();
      if (value === undefined) takers.push(resolve); else resolve(value);
    }),
  };
}
