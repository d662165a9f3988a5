/** `kill -9` of a service and no other start: nothing that it has started goes on running, whenever the kill comes. */
import { deepEqual, ok } from 'node:assert/strict';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { haveEnded, listProcesses, startedBy, type Listed } from '../support/process-table.js';
import { spawnService, spawnStack, type SpawnedService } from '../support/service-process.js';

describe('kill -9 of a service leaves no process behind', function () {
  this.timeout(120_000);
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-children-'));
    await chmod(directory, 0o755);
  });
  afterEach(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

  const environment = () => ({ DATA_DIR: join(directory, 'data'), CHAIN_PORT: '0', LOG_LEVEL: 'fatal' });

  /** Kills the service when it has started a process whose command line the pattern matches; returns all that it had started. */
  async function killAt(pattern: RegExp, { child, exited }: SpawnedService): Promise<readonly Listed[]> {
    let left = startedBy(child.pid!);
    while (!left.some(({ command }) => pattern.test(command))) {
      ok(child.exitCode === null, 'the service has ended by itself');
      await sleep(10);
      left = startedBy(child.pid!);
    }
    child.kill('SIGKILL');
    await exited;
    return left;
  }

  async function isQuiet(left: readonly Listed[]): Promise<void> {
    await haveEnded(left.map(({ pid }) => pid));
    // What was started between the listing and the kill.
    while (listProcesses().some(({ command }) => command.includes(directory))) await sleep(20);
  }

  for (const [when, pattern] of [
    ['creates the cluster', /\binitdb .*making-/], ['starts Postgres', /\/postgres -D .*cluster/], ['starts the chain', /\/anvil --host/],
  ] as const) {
    it(`while it ${when}`, async () => isQuiet(await killAt(pattern, spawnService(environment()))));
  }

  it('when it serves', async () => {
    const service = spawnService({ ...environment(), LOG_LEVEL: 'info' });
    await service.listening;
    const left = await killAt(/\/anvil --host/, service);
    ok(left.some(({ command }) => command.includes('postgres')) && left.filter(({ command }) => command.includes('guard()')).length === 2);
    await isQuiet(left);
  });

  it('when every role is a process of its own', async () => {
    const stack = spawnStack({ ...environment(), LOG_LEVEL: 'info', PROCESSES: 'projections engine+indexer lane+settlement query+api' });
    const url = await stack.listening;
    while (!await fetch(`${url}/health/ready`).then(({ ok: ready }) => ready, () => false)) await sleep(100);
    const left = await killAt(/\/anvil --host/, stack);
    deepEqual(left.filter(({ command }) => command.includes('/service/main.js')).length, 4);
    await isQuiet(left);
  });

  it('while its roles start', async () => isQuiet(await killAt(/\/service\/main\.js/, spawnStack({
    ...environment(), PROCESSES: 'projections+engine+indexer+lane+settlement+query+api',
  }))));
});
