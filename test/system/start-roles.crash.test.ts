/** `npm run start:roles`: each role in a process of its own at its own port; the stack ends as its first process ends, and says which it was. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { haveEnded, startedBy } from '../support/test-machine.js';
import { freePorts, ready } from '../support/role-processes.js';
import { spawnStack, type SpawnedService } from '../support/service-process.js';
import { within } from '../support/until.js';

const PROCESSES = ['engine+projections', 'query', 'prices', 'api'];

describe('npm run start:roles', function () {
  this.timeout(120_000);
  let directory: string;
  let port: number;
  let stack: SpawnedService;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-start-roles-'));
    await chmod(directory, 0o755);
  });
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

  beforeEach(async () => {
    [port] = await freePorts(PROCESSES.length) as [number];
    stack = spawnStack({
      PORT: String(port), PROCESSES: PROCESSES.join(' '), DATA_DIR: join(directory, 'data'), CHAINS: 'none', PYTH_API_KEY: 'a-secret',
    }, PROCESSES.length);
    await stack.listening;
  });

  const children = () => startedBy(stack.child.pid!).filter(({ command }) => command.includes('/service/main.js'));

  /** The process that serves at the port has these roles. */
  const rolesAt = async (at: number) => {
    await ready(`http://127.0.0.1:${at}`);
    return (await (await fetch(`http://127.0.0.1:${at}/health/ready`)).json() as { roles: string[] }).roles.sort();
  };

  const environmentOf = async (pid: number) => Object.fromEntries((await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').map((each) => each.split('=', 2)));

  it('puts api at PORT and the others at the ports after it, gives a secret only to its role, and ends with 0 after SIGTERM', async () => {
    deepEqual(await Promise.all([0, 1, 2, 3].map((i) => rolesAt(port + i))), [['api'], ['query'], ['engine', 'projections'], ['prices']]);
    const environments = await Promise.all(children().map(({ pid }) => environmentOf(pid)));
    deepEqual(environments.filter(({ PYTH_API_KEY }) => PYTH_API_KEY !== undefined).map(({ ROLES }) => ROLES), ['prices']);
    const left = children().map(({ pid }) => pid);
    stack.child.kill('SIGTERM');
    equal(await within('the stack stops', stack.exited), 0);
    await haveEnded(left);
  });

  it('ends when one of them is killed, with its exit code, and stops the others', async () => {
    const all = children();
    const environments = await Promise.all(all.map(async ({ pid }) => ({ pid, ...await environmentOf(pid) as { ROLES: string } })));
    const { pid } = environments.find(({ ROLES }) => ROLES === 'query')!;
    process.kill(pid, 'SIGKILL');
    equal(await within('the stack ends', stack.exited), 128 + 9);
    const said = stack.lastLines().find((line) => line.includes('cannot go on'))!;
    match((JSON.parse(said) as { msg: string }).msg, new RegExp(`^the stack cannot go on: the query process \\(pid ${pid}\\) was ended by SIGKILL; the others are stopped$`));
    await haveEnded(all.map((each) => each.pid));
  });

  it('ends when one of them ends by itself', async () => {
    const [{ pid } = { pid: 0 }] = children();
    process.kill(pid, 'SIGTERM');
    equal(await within('the stack ends', stack.exited), 0);
    match(stack.lastLines().join('\n'), new RegExp(`process \\(pid ${pid}\\) has ended with exit code 0; the others are stopped`));
  });
});
