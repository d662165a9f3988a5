/** The development stack's bearer token: one file, one token, whoever starts, and a new one when the old one is of no use. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { developmentTokenText, keepDevelopmentToken } from '../../stack/development-token.js';
import { issueToken } from '../../service/access/issue-token.js';
import { openTokenStore, type TokenStore } from '../../service/access/token-store.js';
import { digestOf, tokenOf } from '../../service/access/token.js';
import { testDatabase } from '../support/postgres.js';

describe('access: the token of the development stack', () => {
  let url: string;
  let dataDir: string;
  let path: string;
  let store: TokenStore;

  beforeEach(async () => {
    ({ url } = await testDatabase());
    dataDir = await mkdtemp(join(tmpdir(), 'prediction-exchange-token-'));
    path = join(dataDir, 'token');
    store = openTokenStore({ url });
  });
  afterEach(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });

  const keep = () => keepDevelopmentToken({ url, dataDir });
  const held = async () => (await readFile(path, 'utf8')).trim();
  const mode = async () => (await stat(path)).mode & 0o777;
  const states = async () => (await store.list()).map(({ name, state }) => `${name} ${state}`);

  it('is issued at the first start, is in a file that only its owner can read, and stays', async () => {
    const first = await keep();
    assert.deepEqual([first.path, await held(), await mode(), await readdir(dataDir)], [path, first.text, 0o600, ['token']]);
    const found = await store.find(digestOf(first.text)!);
    assert.deepEqual([found?.name, found?.state, found?.scopes, found?.expiresAt, found?.lastUsedAt], ['development', 'live', ['relay'], null, null]);
    assert.deepEqual(await keep(), first);
    assert.deepEqual(await states(), ['development live']);
  });

  it('is one token for processes that start at the same time', async () => {
    const kept = await Promise.all(Array.from({ length: 6 }, keep));
    assert.deepEqual(kept.map(({ text }) => text), Array(6).fill(await held()));
    assert.deepEqual(await states(), ['development live']);
  });

  const useless: Record<string, (text: string) => Promise<unknown>> = {
    'the file is gone': () => rm(path),
    'the file is empty': () => writeFile(path, ''),
    'the file was cut': (text) => writeFile(path, text.slice(0, 30)),
    'the file has a token of another database': () => writeFile(path, tokenOf(Buffer.alloc(32, 9))),
    'the token was revoked': () => store.revoke('development'),
    'the token has another scope only': async () => writeFile(path, (await issueToken(store, { name: 'narrow', scopes: ['relay:ctf-split'] })).text),
  };
  for (const [what, spoil] of Object.entries(useless)) {
    it(`is issued anew when ${what}, and the old one is of no use to a finder`, async () => {
      const first = await keep();
      await spoil(first.text);
      const second = await keep();
      assert.notEqual(second.text, first.text);
      assert.deepEqual([await held(), await mode()], [second.text, 0o600]);
      assert.equal((await store.find(digestOf(first.text)!))?.state, 'revoked');
      assert.equal((await store.find(digestOf(second.text)!))?.state, 'live');
    });
  }

  it('may be one of the developer\'s own, and its file is closed to others', async () => {
    const { text } = await issueToken(store, { name: 'mine', scopes: ['relay'] });
    await writeFile(path, `${text}\n`);
    await chmod(path, 0o644);
    assert.equal((await keep()).text, text);
    assert.deepEqual([await states(), await mode()], [['mine live'], 0o600]);
  });

  it('is replaced after a crash in the middle, whatever was left', async () => {
    await writeFile(`${path}.new`, 'half');
    const { text } = await keep();
    assert.deepEqual([await held(), await readdir(dataDir)], [text, ['token']]);
  });

  it('is told with its file, and itself on a terminal alone: other output may be kept and shared', () => {
    const token = { text: 'pex_x', path: '.data/token' };
    const shown = developmentTokenText(token, { isTerminal: true });
    assert.match(shown, /^Bearer token of this stack, with the scope relay: pex_x\n {2}It is in \.data\/token, which only you can read/);
    const told = developmentTokenText(token, { isTerminal: false });
    assert.match(told, /^The bearer token of this stack, with the scope relay, is in \.data\/token, which only you can read/);
    assert.equal(told.includes(token.text), false);
  });
});
