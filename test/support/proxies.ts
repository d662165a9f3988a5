/** Proxies for tests of faults: they pass bytes of TCP, or requests of JSON-RPC, on until a test tells them to lose, withhold or cut some. */
import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createConnection, createServer, type Socket, type AddressInfo } from 'node:net';
import { Interface, type InterfaceAbi } from 'ethers';
import { within } from './until.js';

/**
 * What happens to a request: `pass`; `cut`, the connection ends and the server never sees it; `lose-reply`, the server gets it
 * and the connection ends when its answer comes; `withhold`, it stays here until release(), and no answer passes any more.
 */
export type Fate = 'pass' | 'cut' | 'lose-reply' | 'withhold';

export interface TcpProxy {
  readonly port: number;
  /** Decides about every chunk that a client sends. */
  fate: (request: Buffer) => Fate;
  /** What a client gets of a chunk that the server sends. */
  answer: (answer: Buffer) => Buffer;
  /** Called when an answer has come for a request of fate `lose-reply`, before the connection ends. */
  replied: () => Promise<void>;
  /** Refuses new connections and cuts those there are, until `accept()`. */
  refuse(): void;
  accept(): void;
  /** Half-open: connections stay, new ones are taken, and nothing passes until `thaw()`, which lets what was held back pass. */
  freeze(): void;
  thaw(): void;
  /** Cuts the connections that there are. */
  cut(): void;
  /** How many connections there are. */
  connections(): number;
  /** Sends what was withheld on to the server; resolves when the server has answered all of it. */
  release(): Promise<void>;
  close(): Promise<void>;
}

/** Listens on `port`, by default on any free one. */
export async function startTcpProxy(target: { host: string; port: number }, port = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const withheld: (() => Promise<void>)[] = [];
  const state = { refusing: false, frozen: false };

  const server = createServer((client) => {
    if (state.refusing) {
      client.destroy();
      return;
    }
    clients.add(client);
    client.on('close', () => { clients.delete(client); });
    const upstream = createConnection(target);
    let fate: Fate = 'pass';
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => { sockets.delete(socket); });
    }
    client.on('data', (request) => {
      if (fate === 'pass') fate = proxy.fate(request);
      if (fate === 'cut') {
        client.destroy();
        upstream.destroy();
      } else if (fate === 'withhold') {
        withheld.push(async () => {
          upstream.write(request);
          await within('an answer to the withheld request', once(upstream, 'data'));
          upstream.destroy();
        });
      } else {
        upstream.write(request);
      }
    });
    upstream.on('data', (answer) => {
      if (fate === 'pass') client.write(proxy.answer(answer));
      if (fate !== 'lose-reply') return;
      void proxy.replied().then(() => {
        client.destroy();
        upstream.destroy();
      });
    });
    if (state.frozen) for (const socket of [client, upstream]) socket.pause();
    client.on('close', () => { if (fate !== 'withhold') upstream.destroy(); });
    upstream.on('close', () => { client.destroy(); });
  });

  server.listen(port, '127.0.0.1');
  await within('the proxy listens', once(server, 'listening'));
  const proxy: TcpProxy = {
    port: (server.address() as { port: number }).port,
    fate: () => 'pass',
    answer: (answer) => answer,
    replied: async () => undefined,
    connections: () => clients.size,
    ...network(sockets, state),
    async release() { await Promise.all(withheld.splice(0).map((send) => send())); },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await within('the proxy has closed', once(server, 'close'));
    },
  };
  return proxy;
}

export interface UrlProxy extends TcpProxy {
  /** The server's URL, through the proxy. */
  readonly url: string;
}

/** A proxy to the server of this URL. */
export async function startProxyTo(url: string): Promise<UrlProxy> {
  const through = new URL(url);
  const proxy = await startTcpProxy({ host: through.hostname, port: Number(through.port) });
  through.host = `127.0.0.1:${proxy.port}`;
  return Object.assign(proxy, { url: through.href });
}

/** What happens to the connections as a whole. */
function network(sockets: ReadonlySet<Socket>, state: { refusing: boolean; frozen: boolean }) {
  const cut = (): void => { for (const socket of sockets) socket.destroy(); };
  return {
    cut,
    refuse(): void {
      state.refusing = true;
      cut();
    },
    accept(): void { state.refusing = false; },
    freeze(): void {
      state.frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw(): void {
      state.frozen = false;
      for (const socket of sockets) socket.resume();
    },
  };
}

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
  const server = createHttpServer((request, response) => {
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

interface MinedTransaction {
  readonly transactionHash: string;
  readonly blockNumber: string;
}

/** A function that asks the node; rejects with the node's error. */
export function rpcTo(url: string) {
  return async <T>(method: string, params: readonly unknown[]): Promise<T> => {
    const response = await fetch(url, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = await response.json() as { result: T; error?: { message: string } };
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}

/** A contract's views, and its functions as the node's own accounts call them. */
export function contractOn(url: string, address: string, { abi }: { readonly abi: unknown }) {
  const rpc = rpcTo(url);
  const coder = new Interface(abi as InterfaceAbi);
  return {
    async read(view: string, args: readonly unknown[]): Promise<unknown> {
      const data = await rpc<string>('eth_call', [{ to: address, data: coder.encodeFunctionData(view, args) }, 'latest']);
      return coder.decodeFunctionResult(view, data)[0];
    },
    /** Resolves with the receipt once it is mined. */
    async send(from: string, method: string, args: readonly unknown[]): Promise<MinedTransaction> {
      const hash = await rpc<string>('eth_sendTransaction', [{ from, to: address, data: coder.encodeFunctionData(method, args) }]);
      for (;;) {
        const receipt = await rpc<MinedTransaction | null>('eth_getTransactionReceipt', [hash]);
        if (receipt !== null) return receipt;
      }
    },
  };
}

export interface FaultyLink {
  /** What happens to the requests of the next appends, in this order; later requests pass. */
  next(...fates: Fate[]): void;
  /** Called when a request meets a fate other than `pass`, before its sender notices. */
  met: () => void;
  /** Called when the store has answered a request of fate `lose-reply`, before its sender notices. */
  replied: () => Promise<void>;
  /** Nothing reaches the store until accept(). */
  refuse(): void;
  accept(): void;
  /** What was withheld reaches the store; resolves when the store has dealt with it. */
  release(): Promise<void>;
  close(): Promise<void>;
}
