/** The changes of a book's levels as bytes: the form in which the read model `orders` keeps them, and in which books of the past are read. */

/** A level after an outcome that touched it. */
export interface LevelChange {
  /** The position of the outcome. */
  readonly position: number;
  /** Its engine time in milliseconds. */
  readonly at: number;
  /** (outcome * 2 + side) * 1000000 + price. */
  readonly place: number;
  /** The size that rests there now; 0 where nothing does. */
  readonly size: bigint;
}

/** Changes in the order of the log, as bytes to which further ones can be added. */
export interface LevelChanges {
  count(): number;
  bytes(): Buffer;
  add(change: LevelChange): void;
}

/** A byte has seven bits of a number, the lowest ones first; all bytes of a number but the last one have the eighth bit, too. */
const BITS = 7;
const MORE = 2 ** BITS;
/** So many bytes of a number are exact in JavaScript's own numbers. */
const EXACT_BYTES = 7;

/**
 * Changes that begin with those of `written`. A change has four numbers: position and time, each less that of the change before, then place and
 * size. The first change has position and time as they are.
 */
export function levelChanges(written: Buffer = Buffer.alloc(0)): LevelChanges {
  const known = readLevelChanges(written);
  let { position, at } = known.at(-1) ?? { position: 0, at: 0 };
  let count = known.length;
  let bytes = written;
  let added: number[] = [];
  return {
    count: () => count,
    bytes() {
      if (added.length > 0) bytes = Buffer.concat([bytes, Buffer.from(added)]);
      added = [];
      return bytes;
    },
    add(change) {
      writeNumber(added, change.position - position);
      writeNumber(added, change.at - at);
      writeNumber(added, change.place);
      writeSize(added, change.size);
      ({ position, at } = change);
      count += 1;
    },
  };
}

function writeNumber(to: number[], value: number): void {
  let rest = value;
  for (; rest >= MORE; rest = Math.floor(rest / MORE)) to.push(rest % MORE + MORE);
  to.push(rest);
}

function writeSize(to: number[], size: bigint): void {
  if (size <= Number.MAX_SAFE_INTEGER) {
    writeNumber(to, Number(size));
    return;
  }
  let rest = size;
  for (; rest >= MORE; rest >>= BigInt(BITS)) to.push(Number(rest % BigInt(MORE)) + MORE);
  to.push(Number(rest));
}

/** The changes in these bytes. Throws Error when the bytes end within a change. */
export function readLevelChanges(bytes: Uint8Array): LevelChange[] {
  const changes: LevelChange[] = [];
  let [offset, position, at] = [0, 0, 0];
  const readNumber = (): number => {
    let [value, factor] = [0, 1];
    for (; ; factor *= MORE) {
      const byte = byteAt(bytes, offset++);
      value += byte % MORE * factor;
      if (byte < MORE) return value;
    }
  };
  const readSize = (): bigint => {
    let end = offset;
    while (byteAt(bytes, end) >= MORE) end += 1;
    if (end - offset < EXACT_BYTES) return BigInt(readNumber());
    let size = 0n;
    for (let i = end; i >= offset; i--) size = size * BigInt(MORE) + BigInt(byteAt(bytes, i) % MORE);
    offset = end + 1;
    return size;
  };
  while (offset < bytes.length) {
    position += readNumber();
    at += readNumber();
    changes.push({ position, at, place: readNumber(), size: readSize() });
  }
  return changes;
}

function byteAt(bytes: Uint8Array, offset: number): number {
  const byte = bytes[offset];
  if (byte === undefined) throw new Error('the changes of a book\'s levels end within a change');
  return byte;
}
