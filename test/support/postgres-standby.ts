/** A Postgres with an asynchronous hot standby, made by a base backup: for tests in which the standby is promoted without the last commits. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../service/embedded/embedded-postgres.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

export interface StandbyScene {
  /** Of the server that takes the writes: the primary's, then the promoted standby's. */
  readonly url: string;
  /** The connections to it; the test cuts them off and lets them in again. */
  readonly proxy: TcpProxy;
  /** The standby itself. */
  readonly standbyUrl: string;
  /** The standby gets nothing any more. */
  cutReplication(): void;
  /** Ends the primary and promotes the standby, to which the URL leads from then on. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const SETTINGS = { fsync: 'off', min_wal_size: '80MB', shared_buffers: '64MB', max_connections: '60' };

/** `directory` takes both clusters. */
export async function startWithStandby(directory: string): Promise<StandbyScene> {
  const servers: EmbeddedPostgres[] = [];
  const proxies: TcpProxy[] = [];
  const stop = async (): Promise<void> => {
    for (const proxy of proxies) await proxy.close();
    for (const server of servers) await server.stop();
  };
  try {
    const primary = await startEmbeddedPostgres({ directory: join(directory, 'primary'), log: () => undefined, settings: SETTINGS });
    servers.push(primary);
    const { port, username, password } = new URL(primary.tcpUrl);
    const target = { host: '127.0.0.1', port: Number(port) };
    const proxy = await startTcpProxy(target);
    const replication = await startTcpProxy({ ...target });
    proxies.push(proxy, replication);
    await copyCluster(primary.tcpUrl, { from: join(directory, 'primary', 'cluster'), to: join(directory, 'standby') });
    const standby = await startEmbeddedPostgres({
      directory: join(directory, 'standby'), log: () => undefined,
      settings: { ...SETTINGS, primary_conninfo: `host=127.0.0.1 port=${replication.port} user=${username} password=${password}` },
    });
    servers.push(standby);
    const url = new URL(primary.tcpUrl);
    url.port = String(proxy.port);
    return {
      url: url.href, proxy, standbyUrl: standby.tcpUrl, stop,
      cutReplication: () => { replication.refuse(); },
      async failOver() {
        proxy.refuse();
        await primary.stop();
        await query(standby.tcpUrl, 'select pg_promote()');
        target.port = Number(new URL(standby.tcpUrl).port);
        proxy.accept();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A base backup as pg_basebackup makes it, whose program the package does not bring. */
async function copyCluster(url: string, { from, to }: { readonly from: string; readonly to: string }): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('select pg_backup_start(\'standby\', true)');
    await mkdir(to);
    const cluster = join(to, 'cluster');
    // With owners and rights.
    await run('cp', ['--archive', from, cluster]);
    const { rows: [{ label } = { label: '' }] } = await client.query<{ label: string }>('select labelfile as label from pg_backup_stop(false)');
    await rm(join(cluster, 'postmaster.pid'), { force: true });
    await writeFile(join(cluster, 'backup_label'), label);
    await writeFile(join(cluster, 'standby.signal'), '');
    for (const name of ['backup_label', 'standby.signal']) await run('chown', ['--reference', from, join(cluster, name)]);
    for (const name of await readdir(cluster)) if (name.startsWith('.s.PGSQL')) await rm(join(cluster, name));
  } finally {
    await client.end();
  }
}

export async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
