/**
 * Keeps the nonces of traders in a file, so that they rise across restarts whatever the clock does. For Node; one
 * program per file.
 */
import { open, readFile, rename } from 'node:fs/promises';
import type { NonceStore } from '../nonces.js';

/** The store in the file at this path, which is made when it is first needed. */
export function fileNonceStore(path: string): NonceStore {
  let known: Map<string, string> | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function saved(trader: string, nonce: bigint): Promise<void> {
    known ??= await kept(path);
    known.set(trader, nonce.toString());
    const beside = `${path}.new`;
    const file = await open(beside, 'w');
    try {
      await file.writeFile(JSON.stringify(Object.fromEntries(known)));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  }

  return {
    async load(trader) {
      known ??= await kept(path);
      const nonce = known.get(trader);
      return nonce === undefined ? undefined : BigInt(nonce);
    },
    save(trader, nonce) {
      const done = turn.then(() => saved(trader, nonce));
      turn = done.catch(() => undefined);
      return done;
    },
  };
}

/** A file that cannot be read is an error: beginning anew could repeat nonces. */
async function kept(path: string): Promise<Map<string, string>> {
  try {
    return new Map(Object.entries(JSON.parse(await readFile(path, 'utf8')) as Record<string, string>));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw new Error(`the nonces in ${path} cannot be read`, { cause: error });
  }
}
