/**
 * The book alone against the npm package `nodejs-order-book`: the same seeded operations, on one book and on a thousand, each contestant in a process
 * of its own, in turns.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Book } from '../../engine/book/book.js';
import { OrderPool } from '../../engine/book/order-pool.js';
import { HASH_WORDS } from '../../engine/book/order-record.js';
import { BUY, YES } from '../../engine/records/fields.js';
import type { Contest, Run } from './book-contestant.js';
import { seeded } from './book-operations.js';
import type { BenchLine } from './line.js';
import { medianOf } from './median.js';

const OPERATIONS = 300_000;
/** Turns of each; V8 compiles during the first ones, which do not count. */
const [WARM_UP, TURNS] = [3, 9];

/** Lines for the book's targets. Needs `node --expose-gc`. */
export async function bookBench(): Promise<BenchLine[]> {
  return [
    ...await compare('one book', { books: 1, resting: 10_000, operations: OPERATIONS }, 40),
    ...await compare('1,000 books', { books: 1_000, resting: 100_000, operations: OPERATIONS }, 35),
    { name: 'book: memory of a resting order', figure: bytesAnOrder(), unit: 'bytes', target: { atMost: 100 } },
  ];
}

async function compare(name: string, contest: Contest, ratioAtLeast: number): Promise<BenchLine[]> {
  const contestants = ['own', 'peer'].map((which) => start(which, contest)) as [ChildProcess, ChildProcess];
  try {
    const [own, peer]: [Run[], Run[]] = [[], []];
    for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
      own.push(await runOf(contestants[0]));
      peer.push(await runOf(contestants[1]));
    }
    const resting = new Set([...own, ...peer].map((run) => run.resting));
    if (resting.size !== 1) throw new Error(`the books differ in how many orders rest: ${[...resting].join(', ')}`);
    return [{
      name: `book: 50 % adds, 30 % crossing, 20 % cancels on ${name}`, ...rates(own), unit: 'operations/s',
      peer: { name: 'nodejs-order-book', figure: rates(peer).figure }, target: { ratioAtLeast },
    }, {
      name: `book: garbage collection on ${name}`, figure: Math.max(...own.slice(WARM_UP).map((run) => run.gcMsPerMillion)),
      unit: 'ms a million operations', target: { atMost: 20 },
    }];
  } finally {
    for (const contestant of contestants) contestant.kill();
  }
}

function start(which: string, contest: Contest): ChildProcess {
  return fork(fileURLToPath(new URL('./book-contestant.js', import.meta.url)), [which, JSON.stringify(contest)], { execArgv: ['--expose-gc'] });
}

async function runOf(contestant: ChildProcess): Promise<Run> {
  const answer = once(contestant, 'message');
  contestant.send('run');
  return (await answer)[0] as Run;
}

function rates(runs: readonly Run[]): ReturnType<typeof medianOf> {
  return medianOf(runs.slice(WARM_UP).map((run) => 1e9 / run.nsAnOperation));
}

/** Growth of array buffers and heap for a million resting orders on one book. */
function bytesAnOrder(): number {
  const orders = 1_000_000;
  const random = seeded(2);
  const key = new Int32Array(HASH_WORDS);
  const before = memoryInUse();
  const pool = new OrderPool();
  const book = new Book(pool);
  for (let i = 0; i < orders; i++) {
    for (let word = 0; word < HASH_WORDS; word++) key[word] = Math.floor(random() * 2 ** 32);
    const slot = pool.allocateKey(key, 0);
    pool.describe(slot, { book: 0, side: BUY, outcome: YES, price: 499_000 + Math.floor(random() * 1_000), number: i });
    pool.setRemaining(slot, 0, 1_000_000);
    book.rest(slot);
  }
  const bytes = memoryInUse() - before;
  if (pool.size !== orders || book.levels(0) > 1_000) throw new Error('not all orders rest');
  return bytes / orders;
}

function memoryInUse(): number {
  globalThis.gc!();
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  return arrayBuffers + heapUsed;
}
