/**
 * What a Postgres says about itself: its version, which must be one that this program works with, and whether it takes
 * writes.
 */
import { soleRow, type Client } from './connection.js';

/** The first version with `create table … storage` and with memberships in a role that have the option `set`. */
export const OLDEST_VERSION = 16;

export interface ServerFacts {
  /** As people write it: `15.9`. */
  readonly version: string;
  /** The parameter `server_version_num`: 150009. */
  readonly versionNumber: number;
  /** A standby replays what its primary has written, and takes reads only, until it is promoted. */
  readonly isStandby: boolean;
}

export async function askServer(client: Pick<Client, 'query'>): Promise<ServerFacts> {
  const { rows } = await client.query<{ version: string; number: number; standby: boolean }>(`
    select current_setting('server_version') as version, current_setting('server_version_num')::integer as number, pg_is_in_recovery() as standby`);
  const { version, number, standby } = soleRow(rows);
  // Distributions add a name: `15.9 (Debian 15.9-0+deb12u1)`.
  return { version: version.replace(/ .*/, ''), versionNumber: number, isStandby: standby };
}

/** The rest of a sentence that begins with the server's name; undefined when the program works with this version. */
export function versionFault({ version, versionNumber }: Pick<ServerFacts, 'version' | 'versionNumber'>): string | undefined {
  if (versionNumber >= OLDEST_VERSION * 10_000) return undefined;
  return `has version ${version}, and this program needs Postgres ${OLDEST_VERSION} or later: upgrade the server, or name another one`;
}

/** The message has no URL, which may contain a password. */
export class UnsupportedPostgres extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'UnsupportedPostgres';
  }
}
