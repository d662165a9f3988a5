/** How many client connections the process's limit of open files allows. */
import { readFile } from 'node:fs/promises';
import type { ConnectionLimits } from '../http/connections.js';

/** Descriptors that a process needs besides its clients' connections: databases, chains, files, threads, listeners. */
export const OWN_DESCRIPTORS = 256;

export interface FittedConnections {
  readonly limits: ConnectionLimits;
  /** What was lowered, why, and what to do; undefined when nothing was. */
  readonly warning: string | undefined;
}

/**
 * The limits, lowered in proportion when the process cannot have so many files open: a process without free descriptors
 * cannot open its files and databases either. `available` descriptors, undefined when the system does not tell. Throws
 * Error when not even a few connections are left.
 */
export function fitConnections(limits: ConnectionLimits, available: number | undefined): FittedConnections {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const needed = maxConnections + OWN_DESCRIPTORS;
  if (available === undefined || needed <= available) return { limits, warning: undefined };
  const fitting = available - OWN_DESCRIPTORS;
  const why = `MAX_CONNECTIONS=${maxConnections} needs ${needed} open files, and this process may have ${available}`;
  const remedy = `raise the limit (\`ulimit -n ${needed}\`, or LimitNOFILE of a systemd unit) or lower MAX_CONNECTIONS`;
  if (fitting < 1) throw new Error(`${why}, of which the service itself needs ${OWN_DESCRIPTORS}: ${remedy}`);
  const share = maxConnectionsPerAddress === 0
    ? 0
    : Math.max(1, Math.floor(maxConnectionsPerAddress * fitting / maxConnections));
  return {
    limits: { maxConnections: fitting, maxConnectionsPerAddress: share },
    warning: `${why}: taking at most ${fitting} connections; ${remedy}`,
  };
}

/**
 * The soft limit of open files, from Linux' /proc. Node raises it to the hard limit before it runs any code. Undefined
 * on other systems and without a limit.
 */
export async function openFilesLimit(path = '/proc/self/limits'): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const [, soft] = /^Max open files +(\d+) /m.exec(text) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
