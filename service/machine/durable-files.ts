/** Writes files durably: they are complete and on disk when the call returns. */
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file and waits until it is on disk. A `secret` file must not exist yet, and only its owner can read it. */
export async function writeDurably(path: string, content: Uint8Array | string, { secret = false } = {}): Promise<void> {
  const file = secret ? await open(path, 'wx', 0o600) : await open(path, 'w', 0o644);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Replaces a file, atomically: a reader, also after a crash, finds the old content or the new. */
export async function replaceDurably(path: string, content: Uint8Array | string): Promise<void> {
  await writeDurably(`${path}.new`, content);
  await rename(`${path}.new`, path);
  await syncDirectory(dirname(path));
}

/** Waits until the names that were created, changed or removed in a directory are on disk. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
