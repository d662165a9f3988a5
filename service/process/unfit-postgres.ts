/**
 * Why a process cannot work with a Postgres that answers: too old, or a standby where one of its roles needs the
 * primary.
 */
import { versionFault, type ServerFacts } from '../../engine/log/postgres/server.js';
import type { RoleName } from './roles.js';

export interface Unfit {
  /** The rest of a sentence that begins with the server: what is wrong, and what to do. */
  readonly what: string;
  /** Whether the next start would find the same. A standby may be about to be promoted. */
  readonly hopeless: boolean;
}

/**
 * `users`: the roles of the process that use the server otherwise than for the reads of QUERY_DATABASE_URL. Undefined
 * when the process can work with the server. The role query only reads. Others write or notify there; those that only
 * read the log know from elsewhere how far they have come, and would take a log that is behind for another one.
 */
export function unfitPostgres(server: ServerFacts, users: readonly RoleName[]): Unfit | undefined {
  const old = versionFault(server);
  if (old !== undefined) return { what: old, hopeless: true };
  const onPrimary = users.filter((role) => role !== 'query');
  if (!server.isStandby || onPrimary.length === 0) return undefined;
  const who = onPrimary.length === 1 ? `the role ${onPrimary.join()} needs` : `the roles ${onPrimary.join(', ')} need`;
  return {
    what: `is a standby, which takes no writes and may be behind, and ${who} the primary there: name the primary, and a standby in QUERY_DATABASE_URL `
      + 'or for processes with the role query alone', hopeless: false,
  };
}
