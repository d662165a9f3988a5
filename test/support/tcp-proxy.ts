/** A TCP proxy for tests of faults: it passes bytes on until a test tells it to lose, withhold or cut some. */
import { createConnection, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
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
