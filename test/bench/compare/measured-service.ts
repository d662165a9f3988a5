/** The service of a build in a process of its own, in a new directory, on a Postgres that counts statements and has been used. */
import { appendFile, chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../../stack/embedded-postgres.js';
import { startService, type ServiceProcess } from '../../support/service-process.js';
import type { Build } from './revision.js';
import { openMeter, type Usage } from './usage.js';
import { useWal } from './used-wal.js';

export interface MeasuredService extends ServiceProcess {
  /** Of its Postgres. */
  readonly postmaster: number;
  usage(): Promise<Usage>;
  /** Stops it and removes what it had. */
  remove(): Promise<void>;
}

export interface MeasuredOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** Further arguments of Node. */
  readonly nodeArgs?: readonly string[];
  /** Of Postgres, beside the service's own. */
  readonly postgres?: Readonly<Record<string, string>>;
}

const COUNTING = { shared_preload_libraries: 'pg_stat_statements' };

export async function startMeasured({ dist }: Build, { environment, nodeArgs = [], postgres = {} }: MeasuredOptions): Promise<MeasuredService> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  // The account that runs Postgres must be able to enter.
  await chmod(directory, 0o755);
  const database = join(directory, 'data', 'postgres');
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  try {
    // The cluster exists before the service starts it, so that it starts with these settings.
    await (await startEmbeddedPostgres({ directory: database, log: () => undefined })).stop();
    const settings = Object.entries({ ...COUNTING, ...postgres }).map(([name, value]) => `${name} = '${value}'\n`);
    await appendFile(join(database, 'cluster', 'postgresql.auto.conf'), settings.join(''));
    const service = await startService({ DATA_DIR: join(directory, 'data'), LOG_LEVEL: 'info', CHAIN_PORT: '0', ...environment }, { dist, nodeArgs });
    // Also when this program fails: a stopped one would stay for ever.
    const kill = (): void => { service.child.kill('SIGKILL'); };
    process.once('exit', kill);
    const { url, pid } = await runningPostgres(join(database, 'cluster'));
    await useWal(url);
    const meter = await openMeter({ url, postmaster: pid, service: service.child.pid! });
    return {
      ...service,
      postmaster: pid,
      usage: () => meter.read(),
      async remove() {
        await meter.close();
        await service.stop();
        process.off('exit', kill);
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The Postgres that runs on a cluster's directory, as that says itself. */
async function runningPostgres(cluster: string): Promise<{ readonly url: string; readonly pid: number }> {
  const [pid, , , port] = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n');
  const password = (await readFile(join(cluster, 'password'), 'utf8')).trim();
  return { url: `postgresql://postgres:${password}@127.0.0.1:${port!}/postgres`, pid: Number(pid) };
}
