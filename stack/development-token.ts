/** The bearer token of the development stack: kept in a file, so that whoever runs the stack can use the relayer at once. */
import { chmod, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory, writeDurably } from '../service/machine/durable-files.js';
import { addToken } from '../service/access/issue-token.js';
import { allows, type Scope } from '../service/api/scopes.js';
import { openTokenStore, type Tokens } from '../service/access/token-store.js';
import { digestOf } from '../service/access/token.js';

export interface DevelopmentToken {
  readonly text: string;
  /** The file that has it, which only its owner can read. */
  readonly path: string;
}

const NAME = 'development';
const SCOPE: Scope = 'relay';
const OWNER_ONLY = 0o600;

/**
 * The token in `DATA_DIR/token` if it is live and has the scope `relay`; else a new one in its place. Several processes may call this
 * at the same time: they get the same token. `url`: the Postgres in which tokens are issued.
 */
export async function keepDevelopmentToken({ url, dataDir }: { readonly url: string; readonly dataDir: string }): Promise<DevelopmentToken> {
  const path = join(dataDir, 'token');
  const store = openTokenStore({ url, connections: 1 });
  try {
    return { path, text: await store.alone((tokens) => keptOrNew(tokens, path)) };
  } finally {
    await store.close();
  }
}

/**
 * What a developer is told of the token. Besides the file and the stack's own page (dev-token.ts), the only place that shows it, and only on a
 * terminal: what goes elsewhere may be kept with the log lines and shown to others.
 */
export function developmentTokenText({ text, path }: DevelopmentToken, { isTerminal }: { readonly isTerminal: boolean }): string {
  const more = 'which only you can read; this stack also gives it to its page, and so to any program on this machine.\n'
    + '  npm run tool -- token issue makes others; see docs/tokens.md.\n\n';
  if (!isTerminal) return `The bearer token of this stack, with the scope ${SCOPE}, is in ${path}, ${more}`;
  return `Bearer token of this stack, with the scope ${SCOPE}: ${text}\n  It is in ${path}, ${more}`;
}

async function keptOrNew(tokens: Tokens, path: string): Promise<string> {
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (await isUsable(tokens, kept)) {
    if (((await stat(path)).mode & 0o777) !== OWNER_ONLY) await chmod(path, OWNER_ONLY);
    return kept;
  }
  // Of an earlier token nobody has the text any more.
  await tokens.revoke(NAME);
  const { text } = await addToken(tokens, { name: NAME, scopes: [SCOPE] });
  await replaceFile(path, `${text}\n`);
  return text;
}

async function isUsable(tokens: Tokens, text: string): Promise<boolean> {
  const sha256 = digestOf(text);
  const found = sha256 === undefined ? undefined : await tokens.find(sha256);
  return found?.state === 'live' && allows(found.scopes, SCOPE);
}

/** Readers see the old file or the new one, never a part. */
async function replaceFile(path: string, content: string): Promise<void> {
  const next = `${path}.new`;
  await rm(next, { force: true });
  await writeDurably(next, content, { secret: true });
  await rename(next, path);
  await syncDirectory(join(path, '..'));
}
