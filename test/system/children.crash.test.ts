/** `kill -9` of a service and no other start: nothing that it has started goes on running, whenever the kill comes. */
import { deepEqual, ok } from 'node:assert/strict';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { haveEnded, listProcesses, startedBy, type Listed } from '../support/test-machine.js';
import { spawnService, spawnStack, type SpawnedService } from '../support/service-process.js';
import { until, within } from '../support/until.js';

describe('kill -9 of a service leaves no process behind', function () {
  this.timeout(120_000);
  let directory: string;

  // What a killed service leaves, the next one finds: its own cluster is made once.
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-children-'));
    await chmod(directory, 0o755);
  });
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

  const environment = () => ({ DATA_DIR: join(directory, 'data'), CHAIN_PORT: '0', LOG_LEVEL: 'fatal' });

  /** Kills the service when it has started a process whose command line the pattern matches; returns all that it had started. */
  async function killAt(pattern: RegExp, { child, exited }: SpawnedService): Promise<readonly Listed[]> {
    const left = await until(`the service has started ${String(pattern)}`, () => {
      ok(child.exitCode === null, 'the service has ended by itself');
      const started = startedBy(child.pid!);
      return started.some(({ command }) => pattern.test(command)) && started;
    });
    child.kill('SIGKILL');
    await within('the service is dead', exited);
    return left;
  }

  async function isQuiet(left: readonly Listed[]): Promise<void> {
    await haveEnded(left.map(({ pid }) => pid));
    // What was started between the listing and the kill.
    await until('nothing runs that was started', () => !listProcesses().some(({ command }) => command.includes(directory)));
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
    const stack = spawnStack({ ...environment(), LOG_LEVEL: 'info', PROCESSES: 'projections engine+indexer lane+settlement query+api' }, 4);
    await stack.listening;
    const left = await killAt(/\/anvil --host/, stack);
    deepEqual(left.filter(({ command }) => command.includes('/service/main.js')).length, 4);
    await isQuiet(left);
  });

  it('while its roles start', async () => isQuiet(await killAt(/\/service\/main\.js/, spawnStack({
    ...environment(), PROCESSES: 'projections+engine+indexer+lane+settlement+query+api',
  }, 1))));
});
