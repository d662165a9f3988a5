/** The embedded Postgres keeps its data through kill -9 of itself and of its owner, and is never run twice on a directory. */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { within } from '../../engine/waiting.js';
import { DirectoryInUse } from '../../service/machine/directory-lock.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { runSql } from '../support/sql.js';
import { until } from '../support/until.js';
import { haveEnded, isRunning, killGuardOf, listProcesses, startedBy } from '../support/test-machine.js';

const PATIENCE_MS = 60_000;

describe('embedded Postgres', () => {
  let home: string;
  /** Where the cluster is: the test's own folder, or one below it. */
  let directory: string;
  let children: ChildProcess[];
  let servers: EmbeddedPostgres[];
  /** Has a cluster that nobody uses. */
  let earlier: string;

  before(async () => {
    earlier = await mkdtemp(join(tmpdir(), 'prediction-exchange-embedded-'));
    await (await startEmbeddedPostgres({ directory: earlier, log: () => undefined })).stop();
  });
  after(() => rm(earlier, { recursive: true, force: true, maxRetries: 50, retryDelay: 50 }));

  beforeEach(async () => {
    directory = home = await mkdtemp(join(tmpdir(), 'prediction-exchange-embedded-'));
    children = [];
    servers = [];
  });

  afterEach(async () => {
    for (const child of children) await killed(child);
    for (const server of servers) await server.stop();
    // Starting there once more stops what a killed owner has left running.
    if (isUsed()) await (await start()).stop();
    await rm(home, { recursive: true, force: true, maxRetries: 50, retryDelay: 50 });
  });

  /** Whether a process works in the test's folder. */
  const isUsed = () => listProcesses().some(({ command }) => command.includes(home));

  /** The cluster of an earlier start is there: to make one takes long, and concerns some of the tests. */
  async function hasCluster(): Promise<void> {
    await mkdir(directory, { recursive: true });
    await promisify(execFile)('cp', ['-a', join(earlier, 'cluster'), directory]);
  }

  async function start(): Promise<EmbeddedPostgres> {
    const server = await startEmbeddedPostgres({ directory, log: () => undefined });
    servers.push(server);
    return server;
  }

  /** Another node process that starts it and says `initdb` when that begins to write, then its url and process number. */
  function startElsewhere() {
    const module = new URL('../../stack/embedded-postgres.js', import.meta.url).href;
    const child = spawn(process.execPath, ['--input-type=module', '-e', `
      import { startEmbeddedPostgres } from ${JSON.stringify(module)};
      const server = await startEmbeddedPostgres({ directory: process.argv[1], log: (line) => console.log('log', line) });
      console.log('ready', server.url, server.pid);
      setInterval(() => {}, 1000);
    `, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      child,
      async until(pattern: RegExp): Promise<string> {
        const end = Date.now() + PATIENCE_MS;
        for (;;) {
          const line = await within(lines.next(), Math.max(0, end - Date.now()));
          if (line === undefined) throw new Error(`the other process has not written ${String(pattern)} within ${PATIENCE_MS / 1_000} s`);
          if (line.done) throw new Error(`the other process ended before it wrote ${String(pattern)}`);
          if (pattern.test(line.value)) return line.value;
        }
      },
    };
  }

  it('keeps rows through a graceful stop, kill -9 of Postgres, and kill -9 of the owner that leaves Postgres running', async () => {
    const first = await start();
    assert.match(first.url, /^postgresql:\/\/postgres:[0-9a-f]{48}@%2F[\w%-]+%2Fcluster:\d+\/postgres$/);
    assert.equal(statSync(join(directory, 'cluster/password')).mode & 0o777, 0o600);
    await runSql(first.url, 'create table kept (n int primary key)');
    await runSql(first.url, 'insert into kept values (1)');
    await first.stop();
    await first.stop();
    assert.equal(isRunning(first.pid), false);

    const second = await start();
    await runSql(second.url, 'insert into kept values (2)');
    process.kill(second.pid, 'SIGKILL');
    assert.equal((await second.ended).message, `Postgres (pid ${second.pid}) was stopped: signal SIGKILL`);
    await second.stop();

    const owner = startElsewhere();
    const [, url, pid] = (await owner.until(/^ready/)).split(' ');
    await runSql(url!, 'insert into kept values (3)');
    killGuardOf(Number(pid));
    await killed(owner.child);
    assert.equal(isRunning(Number(pid)), true, 'the test needs the orphan');

    const third = await start();
    assert.equal(isRunning(Number(pid)), false);
    assert.deepEqual(await runSql(third.url, 'select n from kept order by n'), [{ n: 1 }, { n: 2 }, { n: 3 }]);
    await assert.rejects(runSql(third.url.replace(/postgres:[0-9a-f]+@/, 'postgres:wrong@'), 'select 1'), /password authentication failed/);
  });

  for (const [where, folders] of [['a folder', []], ['a folder that is closed to everybody else', ['closed', 'data']]] as const) {
    it(`in ${where} ends with its owner, which is killed, without another start`, async () => {
      if (folders.length > 0) mkdirSync(join(directory, 'closed'), { mode: 0o700 });
      directory = join(directory, ...folders);
      await hasCluster();
      const owner = startElsewhere();
      const [, url, pid] = (await owner.until(/^ready/)).split(' ');
      await runSql(url!, 'create table kept as select 1 as n');
      const left = startedBy(owner.child.pid!);
      assert.ok(left.some((each) => each.pid === Number(pid)));
      await killed(owner.child);
      await haveEnded(left.map((each) => each.pid));
      assert.deepEqual(await runSql((await start()).url, 'select n from kept'), [{ n: 1 }]);
    });
  }

  it('is reached by TCP too, and by TCP alone where the path is too long for a socket', async () => {
    await hasCluster();
    const server = await start();
    assert.match(server.tcpUrl, /@127\.0\.0\.1:\d+\/postgres$/);
    assert.deepEqual(await runSql(server.tcpUrl, 'select 1 as one'), [{ one: 1 }]);
    await server.stop();
    directory = join(directory, 'd'.repeat(100));
    await hasCluster();
    const long = await start();
    assert.equal(long.url, long.tcpUrl);
    assert.deepEqual(await runSql(long.url, 'select 1 as one'), [{ one: 1 }]);
  });

  it('runs below a folder that is closed to everybody else, as root has one', async () => {
    const closed = join(directory, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    directory = join(closed, 'data');
    const server = await start();
    assert.deepEqual(await runSql(server.url, 'select 1 as one'), [{ one: 1 }]);
    assert.equal(statSync(closed).mode & 0o777, 0o700, 'it is closed still');
  });

  it('refuses a second start while the first lives, in this process and in another', async () => {
    const owner = startElsewhere();
    await owner.until(/^log/);
    await assert.rejects(start(), (error: Error) => error instanceof DirectoryInUse && error.message.includes(`process ${owner.child.pid}:`));
    const [, url] = (await owner.until(/^ready/)).split(' ');
    await assert.rejects(start(), DirectoryInUse);
    assert.deepEqual(await runSql(url!, 'select 1 as one'), [{ one: 1 }]);
  });

  it('makes the cluster anew when its owner was killed during initdb', async () => {
    const owner = startElsewhere();
    await owner.until(/performing post-bootstrap|running bootstrap/);
    await killed(owner.child);
    await until('initdb ends', () => !isUsed() || undefined);
    assert.equal(existsSync(join(directory, 'cluster')), false, 'the test needs a half-made cluster');
    mkdirSync(join(directory, 'making-abc'));
    writeFileSync(join(directory, 'making-abc/PG_VERSION'), '18\n');

    const server = await start();
    assert.deepEqual(await runSql(server.url, 'select 1 as one'), [{ one: 1 }]);
    assert.deepEqual(readdirSync(directory).sort(), ['cluster', 'lock']);
  });

  it('starts though the number in the pid file of a killed Postgres is now somebody else\'s', async () => {
    await hasCluster();
    const first = await start();
    await runSql(first.url, 'create table kept as select 1 as n');
    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    await first.stop();
    const { uid, gid } = statSync(join(directory, 'cluster'));
    const somebody = spawn('sleep', ['1000'], { uid, gid, cwd: '/' });
    children.push(somebody);
    const pidFile = join(directory, 'cluster/postmaster.pid');
    writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(somebody.pid)));
    const second = await start();
    assert.deepEqual(await runSql(second.url, 'select n from kept'), [{ n: 1 }]);
    assert.equal(isRunning(somebody.pid!), true);
  });

  it('says why Postgres does not start, and lets the directory go', async () => {
    await hasCluster();
    const first = await start();
    await first.stop();
    unlinkSync(join(directory, 'cluster/global/pg_control'));
    await assert.rejects(start(), /Postgres does not start on .*pg_control/s);
    await assert.rejects(start(), /Postgres does not start on .*pg_control/s);
  });
});

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const died = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await died;
}
