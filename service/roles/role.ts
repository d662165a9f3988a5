/** The interface of a role. Roles communicate only through the log, Postgres and the chains. */
import type { Route } from '../api/endpoint.js';
import type { Figure } from '../status/metrics.js';
import type { ReadinessParts } from '../status/readiness.js';

/**
 * A role takes everything that it uses as ports, and opens nothing itself. So its process, the tests and the simulation start the same role,
 * each with ports of its own: with Postgres and sockets, or in memory and on virtual time.
 */
export interface Role<Ports> {
  /** Resolves when the role works. Throws the reason when it cannot; then nothing of the role is left running. */
  start(ports: Ports): Promise<RunningRole>;
}

/** The time of a process, as its roles take it. */
export interface Clock {
  /** The trusted time in milliseconds since the Unix epoch: what every command is stamped with. */
  now(): number;
  /** Why the time is not trusted; undefined while it is. */
  doubt(): string | undefined;
  /** Milliseconds that never go back. */
  monotonic(): number;
}

export interface RunningRole {
  /** The HTTP routes that the role serves; empty for most roles. */
  readonly routes: readonly Route[];
  /** The role's part of `/health/ready`. */
  health(): ReadinessParts | Promise<ReadinessParts>;
  /** Whether requests for this role should rather go to another process, which does the role's work at the moment. Absent: never. */
  standsBy?(): boolean;
  /** The role's part of `/metrics`. */
  readonly figures: readonly Figure[];
  /** Rejects when the role cannot continue; the process should then end. Never resolves. */
  readonly failed: Promise<never>;
  /** Stops the role. Resolves when the work in progress is finished. */
  stop(): Promise<void>;
}
