/** The Postgres that a tool works on: that of the settings, else that of the development stack. */
import type { Config } from '../../service/config.js';

export interface ToolDatabase {
  readonly url: string;
  close(): Promise<void>;
}

/** Loads the development stack only where DATABASE_URL is not set: the image does not have it. */
export async function toolDatabase(config: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<ToolDatabase> {
  if (config.databaseUrl !== '') return { url: config.databaseUrl, close: () => Promise.resolve() };
  const { sharedDatabaseOf } = await import('../../stack/database-of.js');
  return sharedDatabaseOf(config);
}
