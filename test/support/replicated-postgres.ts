/**
 * A real primary, whose exchange has a user without a superuser's rights, and a hot standby that streams from it asynchronously: both in clusters
 * of their own. The standby can be away, get nothing any more, and be promoted.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { urlOf } from './postgres.js';
import { onDatabase } from './sql.js';
import { startTcpProxy } from './proxies.js';

export interface ReplicatedPostgres {
  /**
   * The exchange's database, by the user who owns it: as a managed Postgres gives one, who may create roles and is no superuser. After a failover
   * it leads to the promoted standby.
   */
  readonly primary: string;
  /** The same database and user on the standby. */
  readonly standby: string;
  /** The standby's database, by its superuser. */
  readonly standbyAdmin: string;
  stopStandby(): Promise<void>;
  startStandby(): Promise<void>;
  /** The standby gets nothing any more. */
  cutReplication(): void;
  /** Ends the primary and promotes the standby. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

const SETTINGS = { fsync: 'off', min_wal_size: '80MB', shared_buffers: '64MB' };
const USER = 'managed';
const DATABASE = 'exchange';

/** `settings` are further ones of both servers. */
export async function startReplicatedPostgres(settings: Readonly<Record<string, string>> = {}): Promise<ReplicatedPostgres> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-standby-'));
  const ending: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })];
  const stop = async (): Promise<void> => { for (const end of ending.splice(0).reverse()) await end(); };
  try {
    return { ...await startBoth(directory, { ...SETTINGS, ...settings }, ending), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Adds to `ending` what ends each part. */
async function startBoth(
  directory: string, settings: Readonly<Record<string, string>>, ending: (() => Promise<unknown>)[],
): Promise<Omit<ReplicatedPostgres, 'stop'>> {
  const [ofPrimary, ofStandby] = [join(directory, 'primary'), join(directory, 'standby')];
  const start = (of: string, port: number, more: Readonly<Record<string, string>> = {}): Promise<EmbeddedPostgres> => (
    startEmbeddedPostgres({ directory: of, port, log: () => undefined, settings: { ...settings, ...more } }));
  const passing = async (target: Parameters<typeof startTcpProxy>[0]) => {
    const proxy = await startTcpProxy(target);
    ending.push(() => proxy.close());
    return proxy;
  };
  await makeClusters(ofPrimary, ofStandby, () => start(ofPrimary, 0));

  const primary = await start(ofPrimary, 0);
  ending.push(() => primary.stop());
  const { port: source, username, password } = new URL(primary.tcpUrl);
  const target = { host: '127.0.0.1', port: Number(source) };
  const [writes, replication] = [await passing(target), await passing({ ...target })];
  const conninfo = `host=127.0.0.1 port=${replication.port} user=${username} password=${password}`;
  let standby = await start(ofStandby, 0, { primary_conninfo: conninfo });
  ending.push(() => standby.stop());
  const { tcpUrl } = standby;
  const port = Number(new URL(tcpUrl).port);
  return {
    primary: asUser(primary.tcpUrl, writes.port), standby: asUser(tcpUrl, port), standbyAdmin: urlOf(tcpUrl, DATABASE),
    stopStandby: () => standby.stop(),
    async startStandby() { standby = await start(ofStandby, port, { primary_conninfo: conninfo }); },
    cutReplication: () => { replication.refuse(); },
    async failOver() {
      writes.refuse();
      await primary.stop();
      await onDatabase(tcpUrl, (client) => client.query('select pg_promote()'));
      target.port = port;
      writes.accept();
    },
  };
}

/** A cluster with the exchange's user and database, and its copy, which begins as a standby. */
async function makeClusters(ofPrimary: string, ofStandby: string, start: () => Promise<EmbeddedPostgres>): Promise<void> {
  const made = await start();
  try {
    await onDatabase(made.tcpUrl, (client) => client.query(`create role ${USER} login createrole password '${USER}'`));
    await onDatabase(made.tcpUrl, (client) => client.query(`create database ${DATABASE} owner ${USER}`));
  } finally {
    await made.stop();
  }
  await mkdir(ofStandby);
  await promisify(execFile)('cp', ['-a', join(ofPrimary, 'cluster'), ofStandby]);
  await writeFile(join(ofStandby, 'cluster', 'standby.signal'), '');
}

function asUser(superuser: string, port: number): string {
  const url = new URL(urlOf(superuser, DATABASE));
  [url.username, url.password, url.port] = [USER, USER, String(port)];
  return url.href;
}
