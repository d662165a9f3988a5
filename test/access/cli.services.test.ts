/** `npm run tool -- token` as its users run it: what it prints, what it never prints, and its exit codes. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SCOPES } from '../../service/api/scopes.js';
import { openTokenStore } from '../../service/access/token-store.js';
import { digestOf } from '../../service/access/token.js';
import { databaseOf } from '../../stack/database-of.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';

const PROGRAM = fileURLToPath(new URL('../../tools/token.js', import.meta.url));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function token(environment: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { env: { PATH: process.env['PATH'] ?? '', ...environment } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('access: npm run tool -- token', () => {
  let database: TestDatabase;
  before(async () => { database = await testDatabase(); });
  const run = (...args: readonly string[]) => token({ DATABASE_URL: database.url }, ...args);

  it('issues a token and shows it once, lists it without, and revokes it', async () => {
    const issued = await run('issue', '--name', 'bot', '--scope', 'relay:ctf-split', '--scope', 'relay:ctf-merge', '--expires-in', '30d');
    const text = issued.stdout.trim();
    assert.ok(digestOf(text) !== undefined, 'standard output is the token alone');
    assert.equal(issued.code, 0);
    assert.match(issued.stderr, /^ID +NAME +STATE .*\n1 +bot +live +relay:ctf-split relay:ctf-merge +[\d-]+ [\d:]+Z +[\d-]+ [\d:]+Z +never\n/);
    assert.match(issued.stderr, /\nKeep the bearer token now: only its hash is stored\./);
    assert.ok(!issued.stderr.includes(text));

    const second = JSON.parse((await run('issue', '--name', 'other', '--scope', 'relay', '--json')).stdout) as Record<string, unknown>;
    assert.deepEqual({ ...second, token: digestOf(String(second['token'])) === undefined, createdAt: typeof second['createdAt'] }, {
      id: 2, name: 'other', state: 'live', scopes: ['relay'], createdAt: 'string', expiresAt: null, revokedAt: null, lastUsedAt: null, token: false,
    });

    const revoked = await run('revoke', 'bot');
    assert.deepEqual(revoked, { code: 0, stdout: 'Bearer token 1 (bot) is revoked: within 5 seconds no process takes it any more.\n', stderr: '' });
    assert.deepEqual(await run('revoke', '1'), { code: 0, stdout: '1 was revoked before.\n', stderr: '' });

    const listed = await run('list');
    assert.match(listed.stdout, /^ID .*\n1 +bot +revoked .*\n2 +other +live +relay +[\d-]+ [\d:]+Z +never +never\n$/);
    const json = await run('list', '--json');
    const { tokens } = JSON.parse(json.stdout) as { tokens: Record<string, unknown>[] };
    assert.deepEqual(tokens.map(({ id, name, state }) => [id, name, state]), [[1, 'bot', 'revoked'], [2, 'other', 'live']]);
    for (const { stdout } of [listed, json]) assert.doesNotMatch(stdout, /pex_|sha256/);
  });

  it('refuses wrong arguments with what was expected, and exit code 2', async () => {
    const wrong: [readonly string[], string][] = [
      [['issue', '--name', 'x', '--scope', 'admin'], `the scopes are ${SCOPES.join(', ')}`], [['issue', '--name', 'x'], `required option '--scope <scope>' not specified`],
      [['issue', '--scope', 'relay'], `required option '--name <name>' not specified`],
      [['issue', '--name', '7', '--scope', 'relay'], 'expected a letter, then at most 63 letters, digits and . _ @ -'],
      [['issue', '--name', 'x', '--scope', 'relay', '--expires-in', 'soon'], 'expected a number with s, m, h or d, such as 12h, up to 3650d'],
      [['revoke'], `missing required argument 'id-or-name'`], [['steal'], `unknown command 'steal'`], [[], 'Usage: token [options] [command]'],
    ];
    const answers = await Promise.all(wrong.map(([args]) => run(...args)));
    for (const [i, [args, text]] of wrong.entries()) {
      assert.deepEqual([answers[i]?.code, answers[i]?.stdout], [2, ''], args.join(' '));
      assert.ok(answers[i]?.stderr.includes(text), answers[i]?.stderr);
    }
    const help = await run('--help');
    assert.deepEqual([help.code, help.stderr], [0, '']);
  });

  it('says in one sentence what cannot be done, with exit code 1', async () => {
    await run('issue', '--name', 'taken', '--scope', 'relay');
    const nowhere = join(tmpdir(), 'prediction-exchange-that-never-was');
    const failures: [Promise<Ran>, RegExp][] = [
      [run('issue', '--name', 'taken', '--scope', 'relay'), /^bearer token \d+ has the name taken: choose another name, or revoke that token first\n$/],
      [run('revoke', 'nobody'), /^no bearer token has the id or name "nobody": npm run tool -- token list shows all\n$/],
      [token({ DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/x' }, 'list'), /^the database of the bearer tokens cannot be reached: connect ECONNREFUSED 127.0.0.1:1\n$/],
      [token({ DATABASE_URL: 'mysql://me:hunter2@db' }, 'list'), /DATABASE_URL: expected postgres:/],
      [token({ DATA_DIR: nowhere }, 'list'), /prediction-exchange-that-never-was has no database yet: start the exchange there first \(npm start\)/],
    ];
    for (const [ran, text] of failures) {
      const { code, stdout, stderr } = await ran;
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, text);
      assert.doesNotMatch(stderr, /hunter2/);
    }
    assert.ok(!(await readdir(tmpdir())).includes('prediction-exchange-that-never-was'));
  });

  it('finds the embedded database of DATA_DIR, while it runs and while it does not', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'prediction-exchange-tokens-'));
    // The account that runs Postgres must be able to enter.
    await chmod(dataDir, 0o755);
    const embedded = await databaseOf({ databaseUrl: '', dataDir }, () => undefined);
    const running = await token({ DATA_DIR: dataDir }, 'issue', '--name', 'running', '--scope', 'relay');
    const store = openTokenStore({ url: embedded.url });
    assert.deepEqual((await store.list()).map(({ name }) => name), ['running']);
    assert.equal((await store.find(digestOf(running.stdout.trim())!))?.name, 'running');
    await store.close();
    await embedded.close();
    const stopped = await token({ DATA_DIR: dataDir }, 'list', '--json');
    assert.deepEqual((JSON.parse(stopped.stdout) as { tokens: { name: string }[] }).tokens.map(({ name }) => name), ['running']);
    await rm(dataDir, { recursive: true, force: true });
  });
});
