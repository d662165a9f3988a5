/**
 * Limits the open connections of a server, in total and per client address: one client cannot take all of them. A
 * connection that carries a stream counts for the total alone: streams have a limit per address of their own, and would
 * else take the address's share from its other requests.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from './limits.js';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Besides those that carry a stream; 0 = no limit. IPv6 clients are counted by their /56 prefix. */
  readonly maxConnectionsPerAddress: number;
}

/** How many connections of each client address carry a stream that was accepted. */
export class StreamConnections {
  /** A client may pipeline several streams on one connection, which still counts as one. */
  private readonly bySocket = new Map<Socket, number>();
  private readonly byAddress = new Map<string, number>();

  /** The connection carries a stream until the returned function is called. */
  begin(socket: Socket): () => void {
    const address = addressKey(socket.remoteAddress);
    if (!this.bySocket.has(socket)) count(this.byAddress, address, 1);
    count(this.bySocket, socket, 1);
    return () => {
      count(this.bySocket, socket, -1);
      if (!this.bySocket.has(socket)) count(this.byAddress, address, -1);
    };
  }

  of(address: string): number {
    return this.byAddress.get(address) ?? 0;
  }
}

function count<K>(counts: Map<K, number>, key: K, change: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now === 0) counts.delete(key); else counts.set(key, now);
}

export interface LimitedConnections {
  readonly limits: ConnectionLimits;
  readonly streams: StreamConnections;
  /** Called for each connection that is closed at once. */
  readonly refused: (connection: RefusedConnection) => void;
}

/** `total`: all connections were taken. `address`: the client had its share. */
export const REFUSAL_REASONS = ['total', 'address'] as const;

/** A connection that was closed at once. */
export interface RefusedConnection {
  readonly reason: typeof REFUSAL_REASONS[number];
  /** The client's address; for an IPv6 client its prefix. */
  readonly address: string;
  /** The limit that was reached. */
  readonly limit: number;
  /** The client with the most open connections; undefined without a connection. */
  readonly largest: { readonly address: string; readonly connections: number } | undefined;
}

/**
 * Closes each connection beyond the limits without an answer: an answer would have to wait for the request, and so keep
 * what the limit protects.
 */
export function limitConnections(server: Server, { limits, streams, refused }: LimitedConnections): void {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const open = new Map<string, number>();
  const refuse = (reason: RefusedConnection['reason'], address: string, limit: number): void => {
    refused({ reason, address, limit, largest: largestOf(open) });
  };
  server.maxConnections = maxConnections;
  server.on('drop', (dropped) => { refuse('total', addressKey(dropped?.remoteAddress), maxConnections); });
  server.on('connection', (socket: Socket) => {
    const address = addressKey(socket.remoteAddress);
    const others = (open.get(address) ?? 0) - streams.of(address);
    if (maxConnectionsPerAddress > 0 && others >= maxConnectionsPerAddress) {
      socket.destroy();
      refuse('address', address, maxConnectionsPerAddress);
      return;
    }
    count(open, address, 1);
    socket.once('close', () => { count(open, address, -1); });
  });
}

function largestOf(open: ReadonlyMap<string, number>): RefusedConnection['largest'] {
  let largest: RefusedConnection['largest'];
  for (const [address, connections] of open) if (connections > (largest?.connections ?? 0)) largest = { address, connections };
  return largest;
}
