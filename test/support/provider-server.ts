/** A local server in the place of a price provider: HTTP and WebSocket on one port, with the faults that a test asks for. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { createWatch, type Watch } from './watch.js';
import { within } from './until.js';

export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The connection breaks before the end of the body. */
  readonly breaksOff?: boolean;
}

export interface SeenRequest {
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
}

export interface ProviderServer<Client> {
  readonly url: string;
  readonly webSocketUrl: string;
  /** All requests and handshakes, refused ones too. */
  readonly requests: SeenRequest[];
  /** The streams that were opened, the first one first. */
  readonly clients: Client[];
  readonly watch: Watch;
  /** The next requests and handshakes are refused in this way, one each. */
  refuseNext(...refusals: readonly Refusal[]): void;
  /** Until `refuse(undefined)`, all requests and handshakes are refused in this way; streams that stand are ended. */
  refuse(refusal: Refusal | undefined): void;
  /** The next requests are answered by nothing at all. */
  ignoreNext(count: number): void;
  close(): Promise<void>;
}

export interface ProviderParts<Client> {
  /** Answers a request; what it returns is a client that a stream has been opened for. */
  readonly answer: (request: SeenRequest, response: ServerResponse) => Client | undefined;
  readonly welcome?: (request: SeenRequest, socket: WebSocket) => Client;
}

export async function startProviderServer<Client>({ answer, welcome }: ProviderParts<Client>): Promise<ProviderServer<Client>> {
  const refusals: (Refusal | 'ignored')[] = [];
  const sockets = new Set<Socket>();
  let always: Refusal | undefined;
  const watch = createWatch();
  const seen = (request: IncomingMessage): SeenRequest => {
    const entry = { url: new URL(request.url ?? '/', 'http://localhost'), headers: request.headers };
    provider.requests.push(entry);
    watch.ring();
    return entry;
  };
  const entered = (client: Client | undefined): void => {
    if (client !== undefined) provider.clients.push(client);
    watch.ring();
  };

  const server = createServer((request, response) => {
    const entry = seen(request);
    const refusal = refusals.shift() ?? always;
    if (refusal === undefined) entered(answer(entry, response));
    else if (refusal !== 'ignored') refuse(response, refusal);
  });
  const handshakes = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    const entry = seen(request);
    const refusal = refusals.shift() ?? always;
    if (refusal === 'ignored') return;
    if (refusal === undefined && welcome !== undefined) {
      handshakes.handleUpgrade(request, socket, head, (client) => { entered(welcome(entry, client)); });
      return;
    }
    const { status, headers = {} } = refusal ?? { status: 404 };
    socket.end([`HTTP/1.1 ${status} No`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), 'Content-Length: 0', '', ''].join('\r\n'));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => { sockets.delete(socket); watch.ring(); });
  });
  server.listen(0, '127.0.0.1');
  await within('the provider listens', once(server, 'listening'));
  const { port } = server.address() as AddressInfo;

  const provider: ProviderServer<Client> = {
    url: `http://127.0.0.1:${port}`, webSocketUrl: `ws://127.0.0.1:${port}`, requests: [], clients: [], watch,
    refuseNext(...next) { refusals.push(...next); },
    refuse(refusal) {
      always = refusal;
      if (refusal !== undefined) for (const socket of sockets) socket.destroy();
    },
    ignoreNext(count) { for (let i = 0; i < count; i++) refusals.push('ignored'); },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await within('the provider has closed', once(server, 'close'));
    },
  };
  return provider;
}

function refuse(response: ServerResponse, { status, headers, body, breaksOff = false }: Refusal): void {
  response.writeHead(status, headers);
  if (breaksOff) response.write(body, () => { response.destroy(); });
  else response.end(body);
}

/** Sends a JSON answer. */
export function answerJson(response: ServerResponse, status: number, value: unknown): undefined {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
