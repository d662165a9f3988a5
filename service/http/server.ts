/**
 * The HTTP server of the application: its limits, its answers to bytes that are not a request, and the graceful close.
 */
import http, { type Server } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { RequestError } from '../../engine/records/errors.js';
import { pause, within } from '../../engine/waiting.js';
import type { ClientErrorCode } from '../api/errors.js';
import { ERROR_CODE_HEADER, problemOf } from '../api/problems.js';
import { CannotStart } from '../../engine/cannot-start.js';
import type { HostPort } from '../settings.js';
import type { App } from './app.js';
import { limitConnections, type ConnectionLimits, type RefusedConnection } from './connections.js';
import { LINGER_MS } from './ending.js';
import { requestsThatUpgrade } from './upgrades.js';

export interface ServerLimits extends ConnectionLimits {
  /** Time for a whole request, headers and body, to arrive. */
  readonly requestTimeoutMs: number;
  /** Time after which an idle connection is closed. */
  readonly keepAliveTimeoutMs: number;
}

/**
 * Those of the exchange. A proxy in front closes its idle connections earlier, or it may send a request on one that
 * ends.
 */
export const TIMEOUTS = { requestTimeoutMs: 10_000, keepAliveTimeoutMs: 65_000 };

/** Limit for all header lines of a request together. */
const MAX_HEADER_BYTES = 16 * 1024;

/** A server for the application. It does not listen yet. `refused` is called for each connection beyond the limits. */
export function createServer(
  app: App, limits: ServerLimits, refused: (connection: RefusedConnection) => void = () => undefined,
): Server {
  const server = http.createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.max(50, Math.min(1_000, limits.requestTimeoutMs / 2)),
    noDelay: true,
    // Checked by the application, as expectations are: Node's own answers have no body.
    requireHostHeader: false,
    IncomingMessage: requestsThatUpgrade(app.isUpgrade),
  }, app.handle);
  limitConnections(server, { limits, streams: app.streams, refused });
  server.on('checkExpectation', app.handle);
  server.on('upgrade', (request, socket: Socket, head) => { app.upgrade(request, socket, head); });
  server.on('clientError', refuseBytes);
  server.on('connect', (_request, socket: Socket) => { endWith(socket, { status: 400, code: 'invalid_request', detail: 'the service is not a proxy' }); });
  server.on('connection', (socket) => {
    app.connections.add(socket);
    socket.once('close', () => { app.connections.delete(socket); });
  });
  return server;
}

export interface ListenAddress extends HostPort {
  /** The name of the port's setting. Default PORT, whose host is HOST; METRICS_PORT names its host, too. */
  readonly setting?: 'PORT' | 'METRICS_PORT';
}

/** The URL of a server; an IPv6 address stands in brackets. */
export function urlOf({ host, port }: ListenAddress): string {
  return `http://${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/**
 * Checks, before any other work, that a server can listen there. `listen` rejects with the same errors when that has
 * changed meanwhile.
 */
export async function checkPlace(place: ListenAddress): Promise<void> {
  const server = net.createServer();
  await listen(server, place);
  await new Promise<void>((resolve) => { server.close(() => { resolve(); }); });
}

/** Listens, and returns the port: the given port, or a free port for 0. Rejects with CannotStart. */
export async function listen(server: net.Server, place: ListenAddress): Promise<number> {
  const { host, port } = place;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => { reject(refusalOf(error, place)); });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

function refusalOf(error: NodeJS.ErrnoException, { host, port, setting = 'PORT' }: ListenAddress): unknown {
  const at = `${host}:${port}`;
  switch (error.code) {
    case 'EADDRINUSE': return new CannotStart(`${at} is in use: stop what listens there, or set ${setting} to another port`, { hopeless: false, cause: error });
    case 'EACCES': return new CannotStart(`this user may not listen on ${at}: set ${setting} to 1024 or more`, { hopeless: true, cause: error });
    case 'EADDRNOTAVAIL': case 'ENOTFOUND': case 'EAI_AGAIN':
      return new CannotStart(`${host} is not an address of this machine (${error.code}): correct ${setting === 'PORT' ? 'HOST' : setting}`, { hopeless: true, cause: error });
    default: return error;
  }
}

/**
 * Accepts no new connections, waits up to `timeoutMs` until the requests in flight are answered, then destroys the
 * remaining connections. Returns the number of connections that were destroyed.
 *
 * Does not use the HTTP server's own `close`: it treats a connection as idle as soon as the answer is written, and
 * destroys it while part of the answer is still to be sent. Here connections are closed when nothing is left to send.
 */
export async function closeServer(app: App, server: Server, timeoutMs: number): Promise<number> {
  app.closeConnections();
  const closed = new Promise<void>((resolve) => { net.Server.prototype.close.call(server, () => { resolve(); }); });
  const closeIdle = () => {
    if ([...app.connections].every((socket) => socket.writableLength === 0)) server.closeIdleConnections();
  };
  closeIdle();
  const idle = setInterval(closeIdle, 20);
  let cut = 0;
  if (await within(closed.then(() => true), timeoutMs) === undefined) {
    server.getConnections((_, count) => {
      cut = count;
      // Those that have become WebSockets are no longer the HTTP server's.
      for (const socket of app.connections) socket.destroy();
    });
    await closed;
  }
  clearInterval(idle);
  server.close();
  return cut;
}

/**
 * Answers bytes that are not a request, and requests that did not arrive in time. The HTTP parser has given up the
 * connection.
 */
function refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  endWith(socket, parserFault(error.code));
}

interface Fault {
  readonly status: number;
  readonly code: ClientErrorCode;
  readonly detail: string;
}

/** Answers with a problem and ends the connection, also when the client keeps its own half open. */
function endWith(socket: Socket, { status, code, detail }: Fault): void {
  const { body } = problemOf(new RequestError(code, detail), { status });
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nCache-Control: no-store\r\n`
    + `${ERROR_CODE_HEADER}: ${code}\r\n`
    + `Content-Type: application/problem+json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  void pause(LINGER_MS).then(() => { socket.destroy(); });
}

function parserFault(code: string | undefined): Fault {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW': return { status: 431, code: 'invalid_request', detail: `the header lines have more than ${MAX_HEADER_BYTES} bytes` };
    case 'ERR_HTTP_REQUEST_TIMEOUT': return { status: 408, code: 'request_timeout', detail: '' };
    default: return { status: 400, code: 'invalid_request', detail: 'the bytes received are not an HTTP/1.1 request' };
  }
}
