/** The development stack with its bearer token: in DATA_DIR/token, the same for one process and for many, and in nothing else that is written. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { digestOf } from '../../service/access/token.js';
import { spawnService, spawnStack, type SpawnedService } from '../support/service-process.js';
import { within } from '../support/until.js';

const TOLD = /^The bearer token of this stack, with the scope relay, is in (\S+), which only you can read/;
const TOOL = fileURLToPath(new URL('../../tools/token.js', import.meta.url));

describe('the bearer token of the development stack', function () {
  this.timeout(120_000);
  let directory: string;
  let dataDir: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-token-'));
    await chmod(directory, 0o755);
    dataDir = join(directory, 'data');
  });
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

  const settings = () => ({ DATA_DIR: dataDir, CHAINS: 'none', LOG_LEVEL: 'debug' });

  /** Lets the service run until it has told where its token is; returns the token. Its output is a pipe, as it would be to a file. */
  async function toldBy({ child, listening, exited }: SpawnedService): Promise<string> {
    const lines: string[] = [];
    const told = new Promise<string>((resolve) => {
      createInterface(child.stdout!).on('line', (line) => {
        lines.push(line);
        const [, path] = TOLD.exec(line) ?? [];
        if (path !== undefined) resolve(path);
      });
    });
    await listening;
    const path = await within('the token is told', Promise.race([told, exited.then((code) => { throw new Error(`ended with ${code}`); })]));
    const token = (await readFile(path, 'utf8')).trim();
    // An answered request, whose log line and those of the stop are read as well.
    await fetch(`${await listening}/health/live`, { headers: { Authorization: `Bearer ${token}` } });
    const read = once(child.stdout!, 'end');
    child.kill('SIGTERM');
    await within('the service stops', Promise.all([read, exited]));
    deepEqual(lines.filter((line) => line.includes(token)), [], 'it is in no line');
    return token;
  }

  it('is told by one process, by one per role, and used again by every start', async () => {
    const first = await toldBy(spawnService(settings()));
    ok(digestOf(first) !== undefined);
    equal(await readFile(join(dataDir, 'token'), 'utf8'), `${first}\n`);
    equal((await stat(join(dataDir, 'token'))).mode & 0o777, 0o600);
    // Of several processes, the one that has started them tells it.
    equal(await toldBy(spawnStack({ ...settings(), PROCESSES: 'api+relayer query+engine+projections' }, 2)), first);
    const { stdout } = await promisify(execFile)(process.execPath, [TOOL, 'list', '--json'], { env: { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir } });
    const { tokens } = JSON.parse(stdout) as { tokens: { name: string; state: string; scopes: string[] }[] };
    deepEqual(tokens.map(({ name, state, scopes }) => [name, state, scopes]), [['development', 'live', ['relay']]]);
  });
});
