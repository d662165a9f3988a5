/**
 * One contestant of the book's benchmark in a process of its own, where the other one's garbage and compiled code are not in its way.
 * Arguments: `own` or `peer`, and a `Contest` as JSON. Answers each message with a `Run`.
 */
import { setImmediate } from 'node:timers/promises';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { OrderBook, Side } from 'nodejs-order-book';
import { bookOperations, type BookOperation } from './book-operations.js';
import { Matching } from './book-matching.js';

export interface Contest {
  readonly books: number;
  /** Operations before those that are timed, after which about so many orders rest. */
  readonly resting: number;
  readonly operations: number;
}

export interface Run {
  readonly nsAnOperation: number;
  readonly gcMsPerMillion: number;
  /** What rests at the end, to see that both books did the same. */
  readonly resting: number;
}

const contest = JSON.parse(process.argv[3]!) as Contest;
const operations = bookOperations(1, contest);
const run = process.argv[2] === 'own' ? runOwn : runPeer;
process.on('message', () => { void run().then((result) => process.send!(result)); });

async function runOwn(): Promise<Run> {
  const matching = new Matching(contest.books);
  const step = (operation: BookOperation) => {
    if (operation.cancel) matching.cancel(operation);
    else matching.place(operation);
  };
  return { ...await timed(operations, step), resting: matching.pool.size };
}

/** The peer's ids are strings: each operation has one of its own, as it would come from a request. */
async function runPeer(): Promise<Run> {
  const books = Array.from({ length: contest.books }, () => new OrderBook());
  const options = operations.map(({ cancel, orderHash, book, side, price, sizeLo }) => ({
    cancel, book: books[book]!, id: Buffer.from(orderHash, 'latin1').toString('latin1'),
    side: side === 0 ? Side.BUY : Side.SELL, price, size: sizeLo,
  }));
  const step = (option: (typeof options)[number]) => {
    if (option.cancel) option.book.cancel(option.id);
    else option.book.limit(option);
  };
  const measured = await timed(options, step);
  return { ...measured, resting: books.reduce((sum, book) => sum + ordersOf(book), 0) };
}

function ordersOf(book: OrderBook): number {
  const { asks, bids } = book.snapshot();
  return [...asks, ...bids].reduce((sum, level) => sum + level.orders.length, 0);
}

/**
 * Runs the first `resting` steps, then times the others and the garbage collection during them. The time is the smaller of elapsed
 * and processor time: the one counts what else runs on the machine, the other what the collector's and compiler's threads do aside.
 */
async function timed<T>(items: readonly T[], step: (item: T) => void): Promise<Omit<Run, 'resting'>> {
  for (let i = 0; i < contest.resting; i++) step(items[i]!);
  globalThis.gc!();
  const collections: { startTime: number; duration: number }[] = [];
  const observer = new PerformanceObserver((list) => { collections.push(...list.getEntries()); });
  observer.observe({ entryTypes: ['gc'] });
  const processor = process.cpuUsage();
  const start = performance.now();
  for (let i = contest.resting; i < items.length; i++) step(items[i]!);
  const end = performance.now();
  const { user, system } = process.cpuUsage(processor);
  // Entries arrive some time later, in order: once a collection after the end is here, so are all before it.
  globalThis.gc!();
  while (!collections.some((each) => each.startTime >= end)) await setImmediate();
  observer.disconnect();
  const gcMs = collections.filter((each) => each.startTime >= start && each.startTime < end)
    .reduce((sum, each) => sum + each.duration, 0);
  const count = items.length - contest.resting;
  const ms = Math.min(end - start, (user + system) / 1_000);
  return { nsAnOperation: ms * 1e6 / count, gcMsPerMillion: gcMs * 1e6 / count };
}
