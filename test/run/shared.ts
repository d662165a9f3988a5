/** What all processes of a run share: a folder for what is made once, and a Postgres where tests use one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgresCluster } from '../support/postgres.js';
import { filesThatUse } from './imports.js';

export interface Shared {
  /** Variables for the tests. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startShared(files: readonly string[]): Promise<Shared> {
  const folder = await mkdtemp(join(tmpdir(), 'prediction-exchange-run-'));
  const usesPostgres = (await filesThatUse('support/postgres.ts', files)).length > 0;
  const postgres = usesPostgres ? await startPostgresCluster() : undefined;
  return {
    environment: { TEST_RUN_DIR: folder, ...postgres === undefined ? {} : { TEST_POSTGRES: postgres.url } },
    async close() {
      await postgres?.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
