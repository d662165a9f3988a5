/** The Postgres of the settings: DATABASE_URL, or the embedded Postgres, which a running service shares with the command-line tools. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../service/config.js';
import { DirectoryInUse } from '../service/machine/directory-lock.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';

export interface DatabaseOfConfig {
  readonly url: string;
  /** Resolves with how an embedded Postgres that was started here ended when it ends by itself. */
  readonly ended: EmbeddedPostgres['ended'];
  /** Stops what was started here. */
  close(): Promise<void>;
}

type DatabaseSettings = Pick<Config, 'databaseUrl' | 'dataDir'>;

/** Prepares the database. `log` receives every line of an embedded Postgres. Throws DirectoryInUse when another process runs that Postgres. */
export async function databaseOf({ databaseUrl, dataDir }: DatabaseSettings, log: (line: string) => void): Promise<DatabaseOfConfig> {
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

/** For a tool beside a service that may be running: the service's database if it runs, else a database started for the tool. */
export async function sharedDatabaseOf(settings: DatabaseSettings): Promise<DatabaseOfConfig> {
  try {
    return await databaseOf(settings, () => undefined);
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    return borrowed(await readFile(noteOf(settings.dataDir), 'utf8').catch(() => { throw error; }));
  }
}

function borrowed(url: string): DatabaseOfConfig {
  return { url, ended: new Promise(() => undefined), close: () => Promise.resolve() };
}

/** The file in which a running service writes the URL of its embedded database; only its own user can read the file. */
function noteOf(dataDir: string): string {
  return join(dataDir, 'database-url');
}
