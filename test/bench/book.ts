/** The book alone against the npm package `nodejs-order-book`: the same seeded operations, on one book and on a thousand. */
import { setImmediate } from 'node:timers/promises';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { OrderBook, Side } from 'nodejs-order-book';
import { Book } from '../../engine/book/book.js';
import { OrderPool } from '../../engine/book/order-pool.js';
import { HASH_WORDS } from '../../engine/book/order-record.js';
import { BUY, YES } from '../../engine/records/fields.js';
import { bookOperations, seeded, type BookOperation } from './book-operations.js';
import { Matching } from './book-matching.js';
import type { BenchLine } from './line.js';

interface Run {
  readonly nsAnOperation: number;
  readonly gcMsPerMillion: number;
  /** What rests at the end, to see that both books did the same. */
  readonly resting: number;
}

const OPERATIONS = 300_000;

/** Lines for the book's targets. Needs `node --expose-gc`. */
export async function bookBench(): Promise<BenchLine[]> {
  return [
    ...await compare({ name: 'one book', books: 1, resting: 10_000, rounds: 12, ratioAtLeast: 25 }),
    ...await compare({ name: '1,000 books', books: 1_000, resting: 100_000, rounds: 4, ratioAtLeast: 12 }),
    { name: 'book: memory of a resting order', figure: bytesAnOrder(), unit: 'bytes', target: { atMost: 100 } },
  ];
}

/** Rounds of both in turn; of each the best one: what the program can do when nothing else disturbs the machine. */
async function compare(given: { name: string; books: number; resting: number; rounds: number; ratioAtLeast: number }): Promise<BenchLine[]> {
  const operations = bookOperations(1, { ...given, operations: OPERATIONS });
  const own = [];
  const peer = [];
  for (let i = 0; i < given.rounds; i++) {
    own.push(await runOwn(operations, given));
    peer.push(await runPeer(operations, given));
  }
  const resting = new Set([...own, ...peer].map((run) => run.resting));
  if (resting.size !== 1) throw new Error(`the books differ in how many orders rest: ${[...resting].join(', ')}`);
  return [{
    name: `book: 50 % adds, 30 % crossing, 20 % cancels on ${given.name}`, figure: best(own), unit: 'operations/s',
    peer: { name: 'nodejs-order-book', figure: best(peer) }, target: { ratioAtLeast: given.ratioAtLeast },
  }, {
    name: `book: garbage collection on ${given.name}`, figure: Math.max(...own.map((run) => run.gcMsPerMillion)),
    unit: 'ms a million operations', target: { atMost: 20 },
  }];
}

function best(runs: readonly Run[]): number {
  return 1e9 / Math.min(...runs.map((run) => run.nsAnOperation));
}

async function runOwn(operations: readonly BookOperation[], given: { books: number; resting: number }): Promise<Run> {
  const matching = new Matching(given.books);
  const step = (operation: BookOperation) => {
    if (operation.cancel) matching.cancel(operation);
    else matching.place(operation);
  };
  return { ...await timed(operations, given.resting, step), resting: matching.pool.size };
}

/** The peer's ids are strings: each operation has one of its own, as it would come from a request. */
async function runPeer(operations: readonly BookOperation[], given: { books: number; resting: number }): Promise<Run> {
  const books = Array.from({ length: given.books }, () => new OrderBook());
  const options = operations.map(({ cancel, orderHash, book, side, price, sizeLo }) => ({
    cancel, book: books[book]!, id: Buffer.from(orderHash, 'latin1').toString('latin1'),
    side: side === 0 ? Side.BUY : Side.SELL, price, size: sizeLo,
  }));
  const step = (option: (typeof options)[number]) => {
    if (option.cancel) option.book.cancel(option.id);
    else option.book.limit(option);
  };
  const measured = await timed(options, given.resting, step);
  return { ...measured, resting: books.reduce((sum, book) => sum + ordersOf(book), 0) };
}

function ordersOf(book: OrderBook): number {
  const { asks, bids } = book.snapshot();
  return [...asks, ...bids].reduce((sum, level) => sum + level.orders.length, 0);
}

/**
 * Runs the first `untimed` steps, then times the others and the garbage collection during them. The time is the smaller of elapsed
 * and processor time: the one counts what else runs on the machine, the other what the collector's and compiler's threads do aside.
 */
async function timed<T>(items: readonly T[], untimed: number, step: (item: T) => void): Promise<Omit<Run, 'resting'>> {
  for (let i = 0; i < untimed; i++) step(items[i]!);
  globalThis.gc!();
  const collections: { startTime: number; duration: number }[] = [];
  const observer = new PerformanceObserver((list) => { collections.push(...list.getEntries()); });
  observer.observe({ entryTypes: ['gc'] });
  const processor = process.cpuUsage();
  const start = performance.now();
  for (let i = untimed; i < items.length; i++) step(items[i]!);
  const end = performance.now();
  const { user, system } = process.cpuUsage(processor);
  // Entries arrive some time later, in order: once a collection after the end is here, so are all before it.
  globalThis.gc!();
  while (!collections.some((each) => each.startTime >= end)) await setImmediate();
  observer.disconnect();
  const gcMs = collections.filter((each) => each.startTime >= start && each.startTime < end)
    .reduce((sum, each) => sum + each.duration, 0);
  const count = items.length - untimed;
  const ms = Math.min(end - start, (user + system) / 1_000);
  return { nsAnOperation: ms * 1e6 / count, gcMsPerMillion: gcMs * 1e6 / count };
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
