/** Files that are whole and on disk when the call returns. */
import { open } from 'node:fs/promises';

/** Writes a file and waits until it is on disk; `secret`: readable by its owner only, and it must be new. */
export async function writeDurably(path: string, content: Uint8Array | string, { secret = false } = {}): Promise<void> {
  const file = secret ? await open(path, 'wx', 0o600) : await open(path, 'w', 0o644);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Waits until names that were made, changed or removed in a directory are on disk. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
