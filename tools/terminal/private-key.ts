/** Reads the private key of a command-line tool from a file. The key never appears in an error. */
import { readFile, stat } from 'node:fs/promises';
import { SettingError } from '../../service/settings.js';
import { privateKeyOf } from '../market/terms.js';

const OTHERS = 0o077;

/** The key in a file. Throws SettingError when it is not a key, or when others can read the file. */
export async function keyOfFile(path: string): Promise<string> {
  let text: string;
  try {
    const { mode } = await stat(path);
    if ((mode & OTHERS) !== 0) throw new SettingError(`--key-file ${path}: other users of this machine can read the key: chmod 600 ${path}`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof SettingError) throw error;
    throw new SettingError(`--key-file ${path}: it cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  return privateKeyOf(text, `--key-file ${path}`);
}
