/** A JSON-RPC server for tests of faults: it passes requests on to a real node until a test tells it otherwise. */
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { within } from './until.js';

export interface RpcCall { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/**
 * What happens to a request: `pass`; `drop`, the connection ends and the node never sees it; `lose`, the node gets it and the
 * connection ends; `hang`, nothing answers until `release()`; or this answer.
 */
export type RpcFate = 'pass' | 'drop' | 'lose' | 'hang' | { readonly status?: number; readonly body: string | ((call: RpcCall) => string) };

export interface RpcProxy {
  readonly url: string;
  readonly host: string;
  /** Decides about every request. */
  fate: (call: RpcCall) => RpcFate;
  /** Called when the node has answered what is to `lose` its answer, before the connection ends. */
  lost: () => void;
  /** Methods asked for, in order. */
  readonly calls: string[];
  /** Headers of the latest request. */
  headers: Readonly<Record<string, unknown>>;
  /** Lets what hangs go on to the node. */
  release(): void;
  close(): Promise<void>;
}

/** A JSON-RPC answer with the call's id. */
export function answering(fields: object): { body: (call: RpcCall) => string } {
  return { body: ({ id }) => JSON.stringify({ jsonrpc: '2.0', id, ...fields }) };
}

export async function startRpcProxy(target: string): Promise<RpcProxy> {
  const sockets = new Set<Socket>();
  let hanging: (() => void)[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      const call = JSON.parse(text) as RpcCall;
      proxy.calls.push(call.method);
      proxy.headers = request.headers;
      const fate = proxy.fate(call);
      if (fate === 'drop') return void response.destroy();
      if (fate === 'hang') await new Promise<void>((resolve) => { hanging.push(resolve); });
      if (typeof fate === 'object') return void send(response, fate.status ?? 200, typeof fate.body === 'string' ? fate.body : fate.body(call));
      const answer = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text });
      const body = await answer.text();
      if (fate === 'lose') {
        proxy.lost();
        return void response.destroy();
      }
      send(response, answer.status, body);
    })().catch(() => { response.destroy(); });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => { sockets.delete(socket); });
  });
  server.listen(0, '127.0.0.1');
  await within('the proxy listens', once(server, 'listening'));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const proxy: RpcProxy = {
    url: `http://${host}`, host, fate: () => 'pass', lost: () => undefined, calls: [], headers: {},
    release() {
      for (const go of hanging) go();
      hanging = [];
    },
    async close() {
      proxy.release();
      for (const socket of sockets) socket.destroy();
      server.close();
      await within('the proxy has closed', once(server, 'close'));
    },
  };
  return proxy;
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}
