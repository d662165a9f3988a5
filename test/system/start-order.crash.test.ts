/**
 * Single processes of each role, as supervisors on several machines start them, in random orders and before their Postgres: each listens at
 * once, says what it waits for, and works as soon as that has come.
 */
import { deepEqual, equal, match } from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { ROLE_NAMES, type RoleName } from '../../service/process/roles.js';
import { crashChain, type CrashChain } from '../support/crash-chain.js';
import { eventsOf, isSettled, provesAnswers, provesFills, readHistory } from '../support/crash-checks.js';
import { crashTraders, type CrashTraders } from '../support/crash-traders.js';
import { SEED, isLong } from '../support/extent.js';
import { startGateway } from '../support/gateway.js';
import { runSql } from '../support/sql.js';
import { createRandom } from '../support/random-commands.js';
import { freePorts } from '../support/role-processes.js';
import { spawnService, type SpawnedService } from '../support/service-process.js';
import { until, within } from '../support/until.js';

/** Roles that answer from the read models. */
const READERS: readonly RoleName[] = ['query', 'api', 'relayer'];

interface Readiness { readonly ready: boolean; readonly reasons: readonly string[]; readonly roles: readonly string[] }

describe(`processes that are started by themselves, in any order (SEED=${SEED})`, function () {
  this.timeout(300_000);
  const random = createRandom(SEED);
  const running = new Map<RoleName, { readonly service: SpawnedService; readonly url: string }>();
  let directory: string;
  let chain: CrashChain;
  let port: number;
  let postgres: EmbeddedPostgres | undefined;
  let password: string;
  let traders: CrashTraders;
  /** Where the proxy is. */
  let proxyUrl: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-order-'));
    chain = await crashChain(random, { means: ['rich', 'rich', 'permits'] });
    await writeFile(join(directory, 'chains.json'), chain.file(chain.url));
    traders = crashTraders({ chain, url: () => Promise.resolve(proxyUrl), seed: SEED });
    [port] = await freePorts(1) as [number];
    // Made beforehand, so that its password is known; then it is away.
    const made = await startPostgres();
    password = decodeURIComponent(new URL(made.tcpUrl).password);
    await made.stop();
    postgres = undefined;
  });
  after(async () => {
    await stop(ROLE_NAMES);
    await postgres?.stop();
    await chain.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  async function startPostgres(): Promise<EmbeddedPostgres> {
    return postgres = await startEmbeddedPostgres({
      directory: join(directory, 'postgres'), port, log: () => undefined, settings: { fsync: 'off', min_wal_size: '80MB', shared_buffers: '64MB' },
    });
  }

  const databaseUrl = (): string => `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`;

  async function start(role: RoleName): Promise<void> {
    const url = databaseUrl();
    const service = spawnService({
      ROLES: role, DATABASE_URL: url, LOG_URL: url, OUTBOX_URL: url, DATA_DIR: join(directory, role), CHAINS: join(directory, 'chains.json'),
      ...chain.keys, CANCEL_AUTH: 'required', LOG_LEVEL: 'info',
    });
    running.set(role, { service, url: await service.answering });
  }

  async function stop(roles: readonly RoleName[]): Promise<void> {
    const stopped = roles.flatMap((role) => running.get(role) ?? []);
    for (const role of roles) running.delete(role);
    for (const { service } of stopped) service.child.kill('SIGTERM');
    for (const { service } of stopped) equal(await within('a process stops', service.exited), 0, service.lastLines().join('\n'));
  }

  async function readiness(role: RoleName): Promise<Readiness & { readonly status: number }> {
    const answer = await fetch(`${running.get(role)!.url}/health/ready`);
    return { status: answer.status, ...await answer.json() as Readiness };
  }

  const reasonsAre = (role: RoleName, reason: RegExp) => until(`${role} says ${String(reason)}`, async () => {
    const { status, ready, reasons } = await readiness(role);
    return status === 503 && !ready && reasons.length === 1 && reason.test(reasons[0]!);
  });
  const areReady = async (roles: readonly RoleName[]) => {
    for (const role of roles) {
      await until(`${role} is ready`, async () => (await readiness(role)).ready, 120);
      await running.get(role)!.service.listening;
    }
  };

  /** A proxy as on several machines: it sends each request to the process of its role. */
  async function proxied<T>(work: () => Promise<T>): Promise<T> {
    const gateway = await startGateway(() => [...running].map(([role, { url }]) => ({ role, port: Number(new URL(url).port) })));
    proxyUrl = gateway.url;
    try {
      return await work();
    } finally {
      await gateway.close();
    }
  }

  /** Orders are taken, matched and settled, as clients and chain say. */
  const provesTrading = () => proxied(async () => {
    const [wanted, ending] = [traders.acknowledged.size + 20, new AbortController()];
    const trading = traders.trade(ending.signal);
    await Promise.race([trading, until('orders are taken', () => traders.acknowledged.size >= wanted)]);
    ending.abort();
    await within('traders have got all answers', trading);
    const history = await until('every fill has ended', async () => {
      const known = await readHistory(proxyUrl);
      return isSettled(known) && eventsOf(known, 'FillSettled').length > 0 && known;
    });
    provesAnswers(history, traders);
    await provesFills(history, chain);
  });

  const shuffled = <T>(list: readonly T[]): T[] => list.map((each) => [random(), each] as const).sort(([a], [b]) => a - b).map(([, each]) => each);

  it('Postgres last: every process says what it waits for, refuses requests at once, and trading works when all has come', async () => {
    const order = shuffled(ROLE_NAMES);
    for (const role of order) await start(role);
    for (const role of order) {
      await reasonsAre(role, new RegExp(`^waiting for the log( and the read models)?( and the outbox)? at 127\\.0\\.0\\.1:${port}/postgres: it refuses connections \\(ECONNREFUSED\\)$`));
      equal((await fetch(`${running.get(role)!.url}/health/live`)).status, 200);
    }
    match((await readiness('relayer')).reasons[0]!, /the log and the read models and the outbox/);
    match((await readiness('indexer')).reasons[0]!, /the log at/);
    for (const [role, path] of [['api', `/api/v1/orders/0x${'ab'.repeat(32)}`], ['query', '/api/v1/markets'], ['relayer', `/api/v1/users/0x${'ab'.repeat(20)}/nonces`]] as const) {
      const { status, headers } = await fetch(`${running.get(role)!.url}${path}`);
      deepEqual([status, headers.get('retry-after')], [503, '1'], role);
    }
    await startPostgres();
    await areReady(ROLE_NAMES);
    await provesTrading();
    for (const { service } of running.values()) equal(service.lastLines().some((line) => line.includes(password)), false, 'a secret');
  });

  it('the projections last: the processes that answer from the read models say so, the others work', async () => {
    // In the long form all of them start without read models, in a push only those that need them.
    const stopped = isLong ? ROLE_NAMES : [...READERS, 'projections'] as const;
    await stop(stopped);
    await runSql(databaseUrl(), 'drop schema read_models cascade');
    for (const role of shuffled(stopped.filter((each) => each !== 'projections'))) await start(role);
    await areReady(ROLE_NAMES.filter((role) => role !== 'projections' && !READERS.includes(role)));
    for (const role of READERS) {
      await reasonsAre(role, new RegExp(`^waiting for the read models at 127\\.0\\.0\\.1:${port}/postgres: no process with the projections role has made them yet$`));
    }
    await start('projections');
    await areReady(ROLE_NAMES);
    await provesTrading();
  });
});
