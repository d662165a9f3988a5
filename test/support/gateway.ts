/**
 * A proxy before the processes of the roles, as an operator has one: it looks which of them are ready, and sends each request to a ready
 * process of its role. Its own `/health/ready` is 200 when of every role one process is ready.
 */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { roleOf } from './role-of.js';

export interface GatewayProcess {
  /** Its roles, joined by +. */
  readonly role: string;
  readonly port: number;
}

export interface Gateway {
  readonly url: string;
  close(): Promise<void>;
}

/** Shorter than the grace that a process gives a proxy when it leaves. */
const LOOK_MS = 100;
const HOST = '127.0.0.1';

interface Health {
  readonly reasons: readonly string[];
  readonly chains?: readonly object[];
}

/** Listens at the port; 0 is any free one. `processes` are those that run at the moment. */
export async function startGateway(processes: () => readonly GatewayProcess[], port = 0): Promise<Gateway> {
  const closing = new AbortController();
  const ready = lookAt(processes, closing.signal);
  let turn = 0;

  /** Ready processes first, in turns. The others say themselves why not. */
  function portsFor(role: string): readonly number[] {
    const ports = processes().filter((each) => each.role.split('+').includes(role)).map((each) => each.port);
    const good = ports.filter((each) => ready.has(keyOf(each, role)));
    const first = good.length === 0 ? 0 : turn++ % good.length;
    return [...good.slice(first), ...good.slice(0, first), ...ports.filter((each) => !good.includes(each))];
  }

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '';
    if (target === '/health/ready') return answer(response, ...await readinessOf(processes()));
    const body = await bodyOf(request);
    const role = roleOf(request.method ?? '', target);
    const isSafe = ['GET', 'HEAD', 'OPTIONS'].includes(request.method ?? '');
    for (const to of portsFor(role === 'every' ? 'query' : role)) {
      const error = await forward({ request, body, response, port: to });
      if (error === undefined) return;
      // Over a refused connection nothing was sent; anything else may have been taken.
      if (error.code !== 'ECONNREFUSED' && !isSafe) {
        return answer(response, 503, { code: 'outcome_unknown', detail: `the ${role} process ended before it answered` });
      }
    }
    answer(response, 503, { code: 'unavailable', detail: `no ${role} process answers` });
  }

  // Closing an idle connection would meet a request that its client has just sent, which looks as if a process had broken it.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => { pass(request, response).catch(() => { response.destroy(); }); });
  await new Promise<void>((resolve) => { server.listen(port, HOST, resolve); });
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async close() {
      closing.abort();
      await new Promise((resolve) => { server.close(resolve).closeAllConnections(); });
    },
  };
}

function keyOf(port: number, role: string): string {
  return `${port} ${role}`;
}

/** Looks again and again which processes are ready for which of their roles. */
function lookAt(processes: () => readonly GatewayProcess[], signal: AbortSignal): ReadonlySet<string> {
  const ready = new Set<string>();
  const look = async (port: number, role: string): Promise<void> => {
    const isReady = await fetch(`http://${HOST}:${port}/health/ready?role=${role}`).then(async (response) => {
      await response.arrayBuffer();
      return response.ok;
    }, () => false);
    if (isReady) ready.add(keyOf(port, role)); else ready.delete(keyOf(port, role));
  };
  const served = new Set(['api', 'query', 'relayer']);
  void (async () => {
    while (!signal.aborted) {
      await Promise.all(processes().flatMap(({ role, port }) => (
        role.split('+').filter((each) => served.has(each)).map((each) => look(port, each)))));
      await sleep(LOOK_MS);
    }
  })();
  return ready;
}

async function readinessOf(processes: readonly GatewayProcess[]): Promise<[status: number, body: object]> {
  const answers = await Promise.all(processes.map(async ({ role, port }) => {
    const health = await fetch(`http://${HOST}:${port}/health/ready`).then((response) => response.json(), () => ({ reasons: ['it does not answer'] }));
    return { role, ...health as Health };
  }));
  const unready = answers.filter(({ role, reasons }) => (
    reasons.length > 0 && !answers.some((other) => other.role === role && other.reasons.length === 0)));
  const reasons = unready.flatMap(({ role, reasons: why }) => why.map((reason) => `${role}: ${reason}`));
  return [reasons.length === 0 ? 200 : 503, { reasons, chains: answers.flatMap(({ chains = [] }) => chains) }];
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

interface Forwarded {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
  readonly port: number;
}

/** Resolves when the client has the answer, or with the error when there was none. */
function forward({ request: { method, url, headers }, body, response, port }: Forwarded): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    // A connection of its own for each request: no process closes one while a request is on its way over it.
    const sent = send({ host: HOST, port, method, path: url, headers: { ...headers, connection: 'close' }, agent: false }, (answered) => {
      // About the connection to the process, and not about the client's.
      const passed = Object.entries(answered.headers).filter(([name]) => name !== 'connection' && name !== 'keep-alive');
      response.writeHead(answered.statusCode ?? 502, Object.fromEntries(passed)).flushHeaders();
      answered.on('error', () => { response.destroy(); });
      answered.pipe(response);
      response.once('close', () => {
        sent.destroy();
        resolve(undefined);
      });
    });
    sent.once('error', (error) => { if (response.headersSent) response.destroy(); else resolve(error); });
    sent.end(body);
  });
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
