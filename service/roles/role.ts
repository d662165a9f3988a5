/** The interface of a role. Roles communicate only through the log, Postgres and the chains. */
import type { Reading } from '../../engine/state-table.js';
import type { Route } from '../api/endpoint.js';
import type { SharedParts } from '../process/shared-parts.js';

export interface Role {
  /** Resolves when the role works. Throws the reason when it cannot; then nothing of the role is left running. */
  start(parts: SharedParts): Promise<RunningRole>;
}

export interface RunningRole {
  /** The HTTP routes that the role serves; empty for most roles. */
  readonly routes: readonly Route[];
  /** What the role says of itself: its parts of `/health/ready` and `/metrics`, and its alarms. */
  readonly state: readonly Reading[];
  /** Whether requests for this role should rather go to another process, which does the role's work at the moment. Absent: never. */
  standsBy?(): boolean;
  /** Rejects when the role cannot continue; the process should then end. Never resolves. */
  readonly failed: Promise<never>;
  /** Stops the role. Resolves when the work in progress is finished. */
  stop(): Promise<void>;
}
