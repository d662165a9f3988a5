/** The HTTP server under the application: its limits, the answers to what is not HTTP, and its graceful end. */
import http, { type Server } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { RequestError, type ErrorCode } from '../../engine/records/errors.js';
import { within } from '../../engine/waiting.js';
import type { App } from './app.js';
import { problemOf } from './problems.js';

export interface ServerLimits {
  /** Time for a whole request, headers and body, to arrive. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxConnections: number;
}

/** All header lines of a request together. */
const MAX_HEADER_BYTES = 16 * 1024;

/** A server for the application, not yet listening. */
export function createServer(app: App, limits: ServerLimits): Server {
  const server = http.createServer({
    IncomingMessage: app.IncomingMessage,
    ServerResponse: app.ServerResponse,
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.max(50, Math.min(1_000, limits.requestTimeoutMs / 2)),
    noDelay: true,
  }, (request, response) => { app.handle(request, response); });
  server.maxConnections = limits.maxConnections;
  server.on('clientError', refuseBytes);
  server.on('connection', (socket) => {
    app.connections.add(socket);
    socket.once('close', () => { app.connections.delete(socket); });
  });
  return server;
}

/** Listens, and returns the port: the given one, or a free one for 0. */
export async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new Error(`${host}:${port} is in use: stop what listens there, or set PORT`, { cause: error }) : error);
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/**
 * Takes no more connections, lets the requests in flight be answered for up to `timeoutMs`, then cuts what is left. Returns how
 * many connections had to be cut.
 *
 * Not by the HTTP server's own `close`, which takes a connection for idle as soon as its answer is written, and destroys it with
 * what of that answer the client has still to read: connections are closed once nothing is left to send.
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
      server.closeAllConnections();
    });
    await closed;
  }
  clearInterval(idle);
  server.close();
  return cut;
}

/** Answers bytes that are no request, or no whole one in time: the parser has given the connection up. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, code, detail } = parserFault(error.code);
  const { body } = problemOf(new RequestError(code, detail), { status });
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nCache-Control: no-store\r\n`
    + `Content-Type: application/problem+json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function parserFault(code: string | undefined): { status: number; code: ErrorCode; detail: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW': return { status: 431, code: 'invalid_request', detail: `the header lines have more than ${MAX_HEADER_BYTES} bytes` };
    case 'ERR_HTTP_REQUEST_TIMEOUT': return { status: 408, code: 'request_timeout', detail: '' };
    default: return { status: 400, code: 'invalid_request', detail: 'this is not HTTP/1.1' };
  }
}
