/** Where the demonstration finds a bearer token for the relayer. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_DATA_DIR } from '../../service/config.js';
import { isLoopback } from '../../service/settings.js';

export interface TokenSources {
  /** The URL of the service. */
  readonly url: string;
  /** --token. */
  readonly option: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface DemoToken {
  readonly text: string;
  /** Where it comes from, for messages: the text never appears in any. */
  readonly from: string;
}

/**
 * The bearer token that was given, else the one that a development stack keeps in its DATA_DIR. That one is sent to this machine only.
 * Throws an error that says what to do when there is none.
 */
export async function bearerTokenFor({ url, option, environment }: TokenSources): Promise<DemoToken> {
  if (option !== undefined) return { text: option.trim(), from: '--token' };
  const variable = environment['TOKEN']?.trim() ?? '';
  if (variable !== '') return { text: variable, from: 'TOKEN' };
  const path = join(environment['DATA_DIR']?.trim() || DEFAULT_DATA_DIR, 'token');
  const isHere = isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''));
  const kept = isHere ? (await readFile(path, 'utf8').catch(() => '')).trim() : '';
  if (kept !== '') return { text: kept, from: path };
  const where = isHere ? `${path} has none; set DATA_DIR to the stack's, or ` : '';
  throw new Error(`the relayer of ${url} needs a bearer token: ${where}give --token or set TOKEN (npm run tool -- token issue --name demo --scope relay)`);
}
