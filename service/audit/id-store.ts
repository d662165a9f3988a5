/** The ids of all replayed records as 64 bits each, in a file: which of them come twice is found in memory of fixed size, however long the history is. */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

export interface IdStore {
  /** The next position's id. `mayRepeat`: another record may rightly have it, too. */
  add(id: string, mayRepeat: boolean): void;
  /** Earlier positions whose id may be this one: different ids may have the same 64 bits. Ascending. */
  find(id: string): number[];
  /** Positions, two each, whose ids may be the same although they may not repeat; those that repeat first come first. */
  repeated(): (readonly [first: number, again: number])[];
  flush(): void;
  /** Closes the file, and deletes it unless it is kept for another run. */
  close(): void;
}

const WORDS = 2;
const ROW = WORDS * 4;
const ROWS_IN_MEMORY = 16_384;
/** So many are sorted at a time. */
const PER_PASS = 1 << 21;
/** Looks at so many repeated ids at most: one is enough for a difference. */
const MOST_REPEATED = 10_000;

/** Opens a file with rows for `length` positions. Throws when it has fewer; later ones are cut off. */
export function openIdStore({ path, length, keep, perPass = PER_PASS }: {
  readonly path: string; readonly length: number; readonly keep: boolean; readonly perPass?: number;
}): IdStore {
  const file = openSync(path, length === 0 ? 'w+' : 'r+');
  if (fstatSync(file).size < length * ROW) {
    closeSync(file);
    throw new Error(`${path} has fewer than ${length} positions`);
  }
  ftruncateSync(file, length * ROW);
  const newest = new Uint32Array(ROWS_IN_MEMORY * WORDS);
  let written = length;
  let next = length;

  function flush(): void {
    if (next === written) return;
    writeSync(file, newest, 0, (next - written) * ROW, written * ROW);
    written = next;
  }

  /** All rows in order, in pieces: `words` has `count` rows from position `from` on. */
  function* pieces(): Generator<{ readonly words: Uint32Array; readonly from: number; readonly count: number }> {
    flush();
    const words = new Uint32Array(ROWS_IN_MEMORY * WORDS);
    for (let from = 0; from < next; from += ROWS_IN_MEMORY) {
      const count = Math.min(ROWS_IN_MEMORY, next - from);
      readSync(file, words, 0, count * ROW, from * ROW);
      yield { words, from, count };
    }
  }

  /** The positions with these 64 bits, by them. */
  function positionsOf(wanted: ReadonlySet<bigint>): ReadonlyMap<bigint, number[]> {
    const found = new Map<bigint, number[]>();
    const lows = new Set([...wanted].map((each) => Number(BigInt.asUintN(32, each))));
    for (const { words, from, count } of pieces()) {
      for (let row = 0; row < count; row++) {
        if (!lows.has(words[row * WORDS]!)) continue;
        const bits = bitsOf(words, row);
        if (wanted.has(bits)) found.set(bits, [...found.get(bits) ?? [], from + row]);
      }
    }
    return found;
  }

  return {
    add(id, mayRepeat) {
      if (next - written === ROWS_IN_MEMORY) flush();
      write(newest, next - written, id, mayRepeat);
      next++;
    },
    find(id) {
      const both = new Set([true, false].map((mayRepeat) => {
        const words = new Uint32Array(WORDS);
        write(words, 0, id, mayRepeat);
        return bitsOf(words, 0);
      }));
      return [...positionsOf(both).values()].flat().sort((a, b) => a - b);
    },
    repeated() {
      const passes = Math.max(1, Math.ceil(next / perPass));
      const twice = new Set<bigint>();
      for (let pass = 0; pass < passes && twice.size < MOST_REPEATED; pass++) {
        const sorted = gather(pieces(), (low) => low % passes === pass, 2 * perPass).sort();
        for (let i = 1; i < sorted.length && twice.size < MOST_REPEATED; i++) if (sorted[i] === sorted[i - 1]) twice.add(sorted[i]!);
      }
      if (twice.size === 0) return [];
      return [...positionsOf(twice).values()].flatMap(([first, again]) => first === undefined || again === undefined ? [] : [[first, again] as const])
        .sort(([, a], [, b]) => a - b);
    },
    flush,
    close() {
      if (keep) flush();
      closeSync(file);
      if (!keep) rmSync(path, { force: true });
    },
  };
}

/** The bits of the rows that may not repeat and whose lower word is in this pass. */
function gather(pieces: Iterable<{ words: Uint32Array; count: number }>, isIn: (low: number) => boolean, room: number): BigUint64Array {
  let words = new Uint32Array(room * WORDS);
  let rows = 0;
  for (const { words: from, count } of pieces) {
    for (let row = 0; row < count; row++) {
      const low = from[row * WORDS]!;
      if ((low & MAY_REPEAT) !== 0 || !isIn(low >>> 1)) continue;
      if (rows * WORDS === words.length) {
        const larger = new Uint32Array(2 * words.length);
        larger.set(words);
        words = larger;
      }
      words[rows * WORDS] = low;
      words[rows * WORDS + 1] = from[row * WORDS + 1]!;
      rows++;
    }
  }
  return new BigUint64Array(words.buffer, 0, rows);
}

function bitsOf(words: Uint32Array, row: number): bigint {
  return BigInt(words[row * WORDS]!) | BigInt(words[row * WORDS + 1]!) << 32n;
}

/** Of the lower word. */
const MAY_REPEAT = 1;

/** Two hashes of the id that mix differently, after MurmurHash3's constants. */
function write(words: Uint32Array, row: number, id: string, mayRepeat: boolean): void {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b);
    high = high << 13 | high >>> 19;
  }
  low = Math.imul(low ^ low >>> 16, 0xc2b2ae35);
  words[row * WORDS] = mayRepeat ? low | MAY_REPEAT : low & ~MAY_REPEAT;
  words[row * WORDS + 1] = high;
}
