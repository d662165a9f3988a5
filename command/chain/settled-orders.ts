/** The signed orders behind fills, read back from the commands log: in few reads, and each of the latest once. */
import { decodeCommand } from '../../engine/codec.js';
import type { PlaceOrder } from '../../engine/commands.js';
import type { Log } from '../../engine/log.js';

export interface SettledOrders {
  /** The orders with these numbers (log positions). Throws LogUnavailable, or NoSuchOrder for a position without an order. */
  read(numbers: Iterable<number>): Promise<Map<number, PlaceOrder>>;
}

/** A fill names a log position at which there is no order: the log is not the one that the engine has read. */
export class NoSuchOrder extends Error {
  constructor(position: number, found: string) {
    super(`a fill names the order at position ${position} of the commands, but there is ${found}: the log is not the engine's`);
    this.name = 'NoSuchOrder';
  }
}

/** Orders that are closer to each other than this are read at once, with what is between them. */
const GAP = 64;
/** Records of one read at most. */
const PAGE = 1_000;
/** Reads on their way together at most. */
const PARALLEL = 8;

/** `kept`: how many of the orders that were asked for latest stay in memory. */
export function createSettledOrders(log: Pick<Log, 'read'>, kept = 10_000): SettledOrders {
  const latest = new Map<number, PlaceOrder>();

  async function readRange({ from, to, wanted }: Range, found: Map<number, PlaceOrder>): Promise<void> {
    const records = await log.read('commands', from, to - from + 1);
    // A page may end early.
    const end = from + records.length;
    for (const number of wanted) {
      if (number >= end) continue;
      const command = decodeCommand(records[number - from].data);
      if (command.kind !== 'PlaceOrder') throw new NoSuchOrder(number, `a ${command.kind}`);
      found.set(number, command);
    }
    if (records.length === 0) throw new NoSuchOrder(from, 'no record');
    if (end <= to) await readRange({ from: end, to, wanted: wanted.filter((number) => number >= end) }, found);
  }

  return {
    async read(numbers) {
      const orders = new Map<number, PlaceOrder>();
      const missing = new Set<number>();
      for (const number of numbers) {
        const order = latest.get(number);
        if (order === undefined) missing.add(number);
        else orders.set(number, order);
      }
      const ranges = rangesOf([...missing]);
      for (let i = 0; i < ranges.length; i += PARALLEL) {
        await Promise.all(ranges.slice(i, i + PARALLEL).map((range) => readRange(range, orders)));
      }
      // Those asked for again move to the end; the oldest at the front go.
      for (const [number, order] of orders) {
        latest.delete(number);
        latest.set(number, order);
      }
      for (const number of latest.keys()) {
        if (latest.size <= kept) break;
        latest.delete(number);
      }
      return orders;
    },
  };
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
