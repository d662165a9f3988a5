/** The ids of all replayed records as 64 bits each, in a file: which of them come twice is found in memory of fixed size. */
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
  const rows = openRows(path, length);
  return {
    add(id, mayRepeat) { rows.add(wordsOf(id, mayRepeat)); },
    find(id) {
      const both = new Set([bitsOf(wordsOf(id, true), 0), bitsOf(wordsOf(id, false), 0)]);
      return [...positionsOf(rows.pieces(), both).values()].flat().sort((a, b) => a - b);
    },
    repeated() {
      const twice = twiceIn(rows, perPass);
      if (twice.size === 0) return [];
      return [...positionsOf(rows.pieces(), twice).values()]
        .flatMap(([first, again]) => first === undefined || again === undefined ? [] : [[first, again] as const])
        .sort(([, a], [, b]) => a - b);
    },
    flush() { rows.flush(); },
    close() {
      if (keep) rows.flush();
      rows.close();
      if (!keep) rmSync(path, { force: true });
    },
  };
}

/** The lower and the upper word of an id's 64 bits. */
type Words = readonly [low: number, high: number];

/** `count` rows from position `from` on. */
interface Piece {
  readonly words: Uint32Array;
  readonly from: number;
  readonly count: number;
}

interface Rows {
  readonly length: number;
  add(words: Words): void;
  /** All rows in order; each piece only until the next is asked for. */
  pieces(): Iterable<Piece>;
  flush(): void;
  close(): void;
}

function openRows(path: string, length: number): Rows {
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

  return {
    flush,
    get length() { return next; },
    add(words) {
      if (next - written === ROWS_IN_MEMORY) flush();
      newest.set(words, (next - written) * WORDS);
      next++;
    },
    * pieces() {
      flush();
      const words = new Uint32Array(ROWS_IN_MEMORY * WORDS);
      for (let from = 0; from < next; from += ROWS_IN_MEMORY) {
        const count = Math.min(ROWS_IN_MEMORY, next - from);
        readSync(file, words, 0, count * ROW, from * ROW);
        yield { words, from, count };
      }
    },
    close() { closeSync(file); },
  };
}

/** The positions with these 64 bits, by them. */
function positionsOf(pieces: Iterable<Piece>, wanted: ReadonlySet<bigint>): ReadonlyMap<bigint, number[]> {
  const found = new Map<bigint, number[]>();
  const lows = new Set([...wanted].map((each) => Number(BigInt.asUintN(32, each))));
  for (const { words, from, count } of pieces) {
    for (let row = 0; row < count; row++) {
      if (!lows.has(words[row * WORDS] ?? 0)) continue;
      const bits = bitsOf(words, row * WORDS);
      if (wanted.has(bits)) found.set(bits, [...found.get(bits) ?? [], from + row]);
    }
  }
  return found;
}

/** The bits that two rows have which may not repeat. */
function twiceIn({ length, pieces }: Rows, perPass: number): ReadonlySet<bigint> {
  const passes = Math.max(1, Math.ceil(length / perPass));
  const twice = new Set<bigint>();
  for (let pass = 0; pass < passes && twice.size < MOST_REPEATED; pass++) {
    let before: bigint | undefined;
    for (const bits of gather(pieces(), (low) => low % passes === pass, 2 * perPass).sort()) {
      if (bits === before) twice.add(bits);
      if (twice.size >= MOST_REPEATED) break;
      before = bits;
    }
  }
  return twice;
}

/** The bits of the rows that may not repeat and whose lower word is in this pass. */
function gather(pieces: Iterable<Piece>, isIn: (low: number) => boolean, room: number): BigUint64Array {
  let gathered = new Uint32Array(room * WORDS);
  let end = 0;
  for (const { words, count } of pieces) {
    for (let at = 0; at < count * WORDS; at += WORDS) {
      const low = words[at] ?? 0;
      if ((low & MAY_REPEAT) !== 0 || !isIn(low >>> 1)) continue;
      if (end === gathered.length) {
        const larger = new Uint32Array(2 * gathered.length);
        larger.set(gathered);
        gathered = larger;
      }
      gathered.set(words.subarray(at, at + WORDS), end);
      end += WORDS;
    }
  }
  return new BigUint64Array(gathered.buffer, 0, end / WORDS);
}

function bitsOf(words: ArrayLike<number>, at: number): bigint {
  return BigInt((words[at] ?? 0) >>> 0) | BigInt((words[at + 1] ?? 0) >>> 0) << 32n;
}

/** Of the lower word. */
const MAY_REPEAT = 1;

/** Two hashes of the id that mix differently, after MurmurHash3's constants. */
function wordsOf(id: string, mayRepeat: boolean): Words {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b);
    high = high << 13 | high >>> 19;
  }
  low = Math.imul(low ^ low >>> 16, 0xc2b2ae35);
  return [mayRepeat ? low | MAY_REPEAT : low & ~MAY_REPEAT, high];
}
