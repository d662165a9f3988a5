/**
 * Reads the signed orders of fills back from the commands log, in few reads, and keeps the recently used ones in
 * memory.
 */
import { LRUCache } from 'lru-cache';
import { MalformedRecord, decodeCommand } from '../../engine/records/codec.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { Log } from '../../engine/log/log.js';

export interface SignedOrders {
  /**
   * The orders with these numbers (log positions). Throws LogUnavailable, or NoSuchOrder for positions without an
   * order.
   */
  read(numbers: Iterable<number>): Promise<Map<number, PlaceOrder>>;
}

/**
 * There is no order at log positions that fills name: the log is not the one that the engine has read, or it is
 * damaged.
 */
export class NoSuchOrder extends Error {
  readonly positions: ReadonlySet<number>;

  /** `missing`: what the log has instead, by position; at least one entry. */
  constructor(missing: ReadonlyMap<number, string>) {
    const [[position, found] = []] = missing;
    const others = missing.size === 1 ? '' : ` (and ${missing.size - 1} more)`;
    super(`fills name orders that are not in the log: position ${position} of the commands has ${found}${others}; the log is not what the engine has read`);
    this.name = 'NoSuchOrder';
    this.positions = new Set(missing.keys());
  }
}

/** Orders up to this many positions apart are read together, with the records between them. */
const GAP = 64;
/** The most records per read. */
const PAGE = 1_000;
/** The most reads at a time. */
const PARALLEL = 8;

/** `kept`: how many orders stay in memory; the least recently used are dropped first. */
export function createSignedOrders(log: Pick<Log, 'read'>, kept = 10_000): SignedOrders {
  const known = new LRUCache<number, PlaceOrder>({ max: kept });

  async function readRange({ from, to, wanted }: Range, answer: Answer): Promise<void> {
    const records = await log.read('commands', from, to - from + 1);
    // The log may return fewer records than asked for.
    const end = from + records.length;
    for (const number of wanted) {
      const record = records[number - from];
      if (record !== undefined) take(number, record.data, answer);
      else if (records.length === 0) answer.missing.set(number, 'no record');
    }
    if (records.length > 0 && end <= to) {
      await readRange({ from: end, to, wanted: wanted.filter((number) => number >= end) }, answer);
    }
  }

  return {
    async read(numbers) {
      const orders = new Map<number, PlaceOrder>();
      const missing = new Map<number, string>();
      const unknown = new Set<number>();
      for (const number of numbers) {
        const order = known.get(number);
        if (order === undefined) unknown.add(number);
        else orders.set(number, order);
      }
      const ranges = rangesOf([...unknown]);
      for (let i = 0; i < ranges.length; i += PARALLEL) {
        await Promise.all(ranges.slice(i, i + PARALLEL).map((range) => readRange(range, { orders, missing })));
      }
      for (const [number, order] of orders) known.set(number, order);
      if (missing.size > 0) throw new NoSuchOrder(missing);
      return orders;
    },
  };
}

interface Answer {
  readonly orders: Map<number, PlaceOrder>;
  /** What the log has instead of an order, by position. */
  readonly missing: Map<number, string>;
}

function take(number: number, data: Uint8Array, { orders, missing }: Answer): void {
  try {
    const command = decodeCommand(data);
    if (command.kind === 'PlaceOrder') orders.set(number, command);
    else missing.set(number, `a command of kind ${command.kind}`);
  } catch (error) {
    if (!(error instanceof MalformedRecord)) throw error;
    missing.set(number, 'a record that is not a command');
  }
}

interface Range {
  readonly from: number;
  to: number;
  readonly wanted: number[];
}

function rangesOf(numbers: number[]): Range[] {
  const ranges: Range[] = [];
  for (const number of numbers.sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && number - last.to <= GAP && number - last.from < PAGE) {
      last.to = number;
      last.wanted.push(number);
    } else {
      ranges.push({ from: number, to: number, wanted: [number] });
    }
  }
  return ranges;
}
