/** A real primary, whose exchange has a user without a superuser's rights, and a hot standby that streams from it: both in clusters of their own. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../service/embedded/embedded-postgres.js';
import { onDatabase, urlOf } from './postgres-cluster.js';

export interface ReplicatedPostgres {
  /** The exchange's database, by the user who owns it: as a managed Postgres gives one, who may create roles and is no superuser. */
  readonly primary: string;
  /** The same database and user on the standby. */
  readonly standby: string;
  /** The standby's database, by its superuser. */
  readonly standbyAdmin: string;
  stopStandby(): Promise<void>;
  startStandby(): Promise<void>;
  stop(): Promise<void>;
}

const SETTINGS = { fsync: 'off', min_wal_size: '80MB', shared_buffers: '64MB' };
const USER = 'managed';
const DATABASE = 'exchange';

/** `settings` are further ones of both servers. */
export async function startReplicatedPostgres(settings: Readonly<Record<string, string>> = {}): Promise<ReplicatedPostgres> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-standby-'));
  const [ofPrimary, ofStandby] = [join(directory, 'primary'), join(directory, 'standby')];
  const start = (of: string, port: number, more: Readonly<Record<string, string>> = {}): Promise<EmbeddedPostgres> => (
    startEmbeddedPostgres({ directory: of, port, log: () => undefined, settings: { ...SETTINGS, ...settings, ...more } }));
  const made = await start(ofPrimary, 0);
  await onDatabase(made.tcpUrl, (client) => client.query(`create role ${USER} login createrole password '${USER}'`));
  await onDatabase(made.tcpUrl, (client) => client.query(`create database ${DATABASE} owner ${USER}`));
  await made.stop();
  await mkdir(ofStandby);
  await promisify(execFile)('cp', ['-a', join(ofPrimary, 'cluster'), ofStandby]);
  await writeFile(join(ofStandby, 'cluster', 'standby.signal'), '');

  const primary = await start(ofPrimary, portOf(made));
  const source = new URL(primary.tcpUrl);
  const conninfo = `host=127.0.0.1 port=${source.port} user=${source.username} password=${source.password}`;
  let standby = await start(ofStandby, 0, { primary_conninfo: conninfo });
  const port = portOf(standby);
  return {
    primary: asUser(primary.tcpUrl), standby: asUser(standby.tcpUrl), standbyAdmin: urlOf(standby.tcpUrl, DATABASE),
    stopStandby: () => standby.stop(),
    async startStandby() { standby = await start(ofStandby, port, { primary_conninfo: conninfo }); },
    async stop() {
      await standby.stop();
      await primary.stop();
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
    },
  };
}

function portOf({ tcpUrl }: EmbeddedPostgres): number {
  return Number(new URL(tcpUrl).port);
}

function asUser(superuser: string): string {
  const url = new URL(urlOf(superuser, DATABASE));
  [url.username, url.password] = [USER, USER];
  return url.href;
}
