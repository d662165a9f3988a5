/** A private key has one format wherever the program takes one: key files, environment variables, and the places that a chains file names. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateKeyIn } from '../../command/lane/private-key.js';
import { keyOfFile } from '../../tools/terminal/private-key.js';
import { keyFrom } from '../../tools/market/key.js';

const KEY = `0x${'4f'.repeat(32)}`;
const FORMS: Readonly<Record<string, string>> = {
  'with 0x': KEY, 'without': KEY.slice(2), 'capital letters': KEY.toUpperCase(), 'a line break': `${KEY}\n`, 'another system\'s line break': `${KEY.slice(2)}\r\n`, 'spaces': `  ${KEY}  `,
};
const NO_KEYS: Readonly<Record<string, string>> = {
  'nothing': '', 'a digit less': KEY.slice(0, -1), 'a digit more': `${KEY}0`, 'another letter': KEY.replace('4f', '4g'), 'two': `${KEY}\n${KEY}`, 'zero': '0'.repeat(64), 'beyond the curve': 'f'.repeat(64),
  'words': 'test test test',
};

describe('service: a private key', () => {
  let directory: string;
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-keys-')); });
  after(() => rm(directory, { recursive: true }));

  const inFile = async (text: string): Promise<string> => {
    const path = join(directory, 'key');
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const fromEnvironment = (text: string) => keyFrom({ environment: { MARKET_KEY: text }, chain: { chainId: 1, testnet: false }, development: () => Promise.resolve('') });

  for (const [what, text] of Object.entries(FORMS)) {
    it(`is read ${what}, from a text, a file and a variable`, async () => {
      assert.deepEqual([privateKeyIn(text), await keyOfFile(await inFile(text)), await fromEnvironment(text)], [KEY, KEY, KEY]);
    });
  }

  for (const [what, text] of Object.entries(NO_KEYS)) {
    it(`is not ${what}; the error says the format, and not the text`, async () => {
      assert.equal(privateKeyIn(text), undefined);
      const path = await inFile(text);
      await assert.rejects(keyOfFile(path), (error: Error) => error.message === `--key-file ${path}: expected a private key: 64 hex digits, with or without 0x`);
      if (text !== '') await assert.rejects(fromEnvironment(text), /^SettingError: MARKET_KEY: expected a private key: 64 hex digits, with or without 0x$/);
    });
  }

  it('is not read from a file that others can read', async () => {
    const path = await inFile(KEY);
    await chmod(path, 0o640);
    await assert.rejects(keyOfFile(path), /other users of this machine can read the key: chmod 600 /);
  });
});
