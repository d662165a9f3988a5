/** What a role is: every one has the same shape, and knows the others only through the log, Postgres and the chain. */
import type { Route } from '../api/endpoint.js';
import type { Figure } from '../metrics.js';
import type { ReadinessParts } from '../process/readiness.js';
import type { RoleName } from './role-names.js';
import type { SharedParts } from '../process/shared-parts.js';

export interface Role {
  readonly name: RoleName;
  /** What it reads and what it writes, in words for operators. */
  readonly reads: string;
  readonly writes: string;
  /** Resolves when it works. Throws what keeps it from working; then nothing of it is left running. */
  start(parts: SharedParts): Promise<RunningRole>;
}

export interface RunningRole {
  /** What it serves over HTTP; most roles serve nothing. */
  readonly routes: readonly Route[];
  /** What `/health/ready` says of it. */
  health(): ReadinessParts | Promise<ReadinessParts>;
  /** What `/metrics` shows of it. */
  readonly figures: readonly Figure[];
  /** Rejects when it cannot go on: the process is then to end. Never resolves. */
  readonly failed: Promise<never>;
  /** Resolves when it has finished what it had in hand. */
  stop(): Promise<void>;
}
