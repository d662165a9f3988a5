/** The Postgres of a configuration: the given one, or the embedded one, which a running service shares with the command-line tools. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { DirectoryInUse } from './directory-lock.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';

export interface DatabaseOfConfig {
  readonly url: string;
  /** Settles with the reason when an embedded database that was started here ends by itself. */
  readonly ended: Promise<string>;
  /** Stops what was started here. */
  close(): Promise<void>;
}

type Wanted = Pick<Config, 'databaseUrl' | 'dataDir'>;

/** Gets the database ready. `log` is given every line that an embedded Postgres writes. Throws DirectoryInUse when a service runs on it. */
export async function databaseOf({ databaseUrl, dataDir }: Wanted, log: (line: string) => void): Promise<DatabaseOfConfig> {
  if (databaseUrl !== '') return borrowed(databaseUrl);
  const directory = join(dataDir, 'postgres');
  const server = await startEmbeddedPostgres({ directory, log });
  const note = noteOf(dataDir);
  await writeFile(note, server.url, { mode: 0o600 });
  return {
    url: server.url,
    ended: server.ended,
    async close() {
      await rm(note, { force: true });
      await server.stop();
    },
  };
}

/** For a tool beside a service that may be running: its database if it runs, else the database started for the tool alone. */
export async function sharedDatabaseOf(wanted: Wanted): Promise<DatabaseOfConfig> {
  try {
    return await databaseOf(wanted, () => undefined);
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    return borrowed(await readFile(noteOf(wanted.dataDir), 'utf8').catch(() => { throw error; }));
  }
}

function borrowed(url: string): DatabaseOfConfig {
  return { url, ended: new Promise(() => undefined), close: () => Promise.resolve() };
}

/** Where a running service leaves its embedded database's address, readable by its own user only. */
function noteOf(dataDir: string): string {
  return join(dataDir, 'database-url');
}
