/** The digest and the order hash of every position that was replayed, in a file: what the chain names is compared with it, however old. */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

export interface PositionStore {
  /** The next position's digest, and its order's hash where the command places one. */
  add(digest: string, orderHash: string | undefined): void;
  /** Undefined for a position that was not added yet. */
  digestAt(position: number): string | undefined;
  /** Undefined, too, for a position at which no order was placed. */
  orderHashAt(position: number): string | undefined;
  /** Writes what is only in memory. */
  flush(): void;
  /** Closes the file, and deletes it unless it is kept for another run. */
  close(): void;
}

const HALF = 32;
const ROW = 2 * HALF;
const ROWS_IN_MEMORY = 16_384;

/** Opens a file with rows for `length` positions. Throws when it has fewer; later ones are cut off. */
export function openPositionStore({ path, length, keep }: { readonly path: string; readonly length: number; readonly keep: boolean }): PositionStore {
  const file = openSync(path, length === 0 ? 'w+' : 'r+');
  if (fstatSync(file).size < length * ROW) {
    closeSync(file);
    throw new Error(`${path} has fewer than ${length} positions`);
  }
  ftruncateSync(file, length * ROW);
  const newest = Buffer.alloc(ROWS_IN_MEMORY * ROW);
  let written = length;
  let next = length;

  function flush(): void {
    if (next === written) return;
    writeSync(file, newest, 0, (next - written) * ROW, written * ROW);
    written = next;
  }

  function half(position: number, offset: number): string | undefined {
    if (position < 0 || position >= next) return undefined;
    const bytes = Buffer.alloc(HALF);
    if (position >= written) newest.copy(bytes, 0, (position - written) * ROW + offset, (position - written) * ROW + offset + HALF);
    else readSync(file, bytes, 0, HALF, position * ROW + offset);
    return `0x${bytes.toString('hex')}`;
  }

  return {
    add(digest, orderHash) {
      if (next - written === ROWS_IN_MEMORY) flush();
      const at = (next - written) * ROW;
      newest.write(digest.slice(2), at, HALF, 'hex');
      if (orderHash === undefined) newest.fill(0, at + HALF, at + ROW);
      else newest.write(orderHash.slice(2), at + HALF, HALF, 'hex');
      next++;
    },
    digestAt: (position) => half(position, 0),
    orderHashAt(position) {
      const hash = half(position, HALF);
      return hash === NO_ORDER ? undefined : hash;
    },
    flush,
    close() {
      if (keep) flush();
      closeSync(file);
      if (!keep) rmSync(path, { force: true });
    },
  };
}

const NO_ORDER = `0x${'0'.repeat(ROW)}`;
