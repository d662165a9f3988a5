/** Limits the open connections of a server, in total and per client address: one client cannot take all of them. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from './limits.js';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** 0 = no limit. IPv6 clients are counted by their /56 prefix. */
  readonly maxConnectionsPerAddress: number;
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
 * Closes each connection beyond the limits without an answer: an answer would have to wait for the request, and so keep what the limit
 * protects. `refused` is called for each.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, refused: (connection: RefusedConnection) => void): void {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const open = new Map<string, number>();
  const refuse = (reason: RefusedConnection['reason'], address: string, limit: number): void => {
    refused({ reason, address, limit, largest: largestOf(open) });
  };
  server.maxConnections = maxConnections;
  server.on('drop', (dropped) => { refuse('total', addressKey(dropped?.remoteAddress), maxConnections); });
  server.on('connection', (socket: Socket) => {
    const address = addressKey(socket.remoteAddress);
    const others = open.get(address) ?? 0;
    if (maxConnectionsPerAddress > 0 && others >= maxConnectionsPerAddress) {
      socket.destroy();
      refuse('address', address, maxConnectionsPerAddress);
      return;
    }
    open.set(address, others + 1);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address); else open.set(address, left);
    });
  });
}

function largestOf(open: ReadonlyMap<string, number>): RefusedConnection['largest'] {
  let largest: RefusedConnection['largest'];
  for (const [address, connections] of open) if (connections > (largest?.connections ?? 0)) largest = { address, connections };
  return largest;
}
