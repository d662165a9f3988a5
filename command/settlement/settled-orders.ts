/** The signed orders behind fills, read back from the commands log: in few reads, and each of the latest once. */
import { MalformedRecord, decodeCommand } from '../../engine/records/codec.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { Log } from '../../engine/log/log.js';

export interface SettledOrders {
  /** The orders with these numbers (log positions). Throws LogUnavailable, or NoSuchOrder for positions without an order. */
  read(numbers: Iterable<number>): Promise<Map<number, PlaceOrder>>;
}

/** Fills name log positions at which there is no order: the log is not the one that the engine has read, or it is damaged. */
export class NoSuchOrder extends Error {
  readonly positions: ReadonlySet<number>;

  /** `missing`: what is there instead, by position; at least one. */
  constructor(missing: ReadonlyMap<number, string>) {
    const [[position, found] = []] = missing;
    const others = missing.size === 1 ? '' : ` (and ${missing.size - 1} more)`;
    super(`fills name orders that are not in the log: position ${position} of the commands has ${found}${others}; the log is not what the engine has read`);
    this.name = 'NoSuchOrder';
    this.positions = new Set(missing.keys());
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

  async function readRange({ from, to, wanted }: Range, answer: Answer): Promise<void> {
    const records = await log.read('commands', from, to - from + 1);
    // A page may end early.
    const end = from + records.length;
    for (const number of wanted) {
      const record = records[number - from];
      if (record !== undefined) take(number, record.data, answer);
      else if (records.length === 0) answer.missing.set(number, 'no record');
    }
    if (records.length > 0 && end <= to) await readRange({ from: end, to, wanted: wanted.filter((number) => number >= end) }, answer);
  }

  return {
    async read(numbers) {
      const orders = new Map<number, PlaceOrder>();
      const missing = new Map<number, string>();
      const unknown = new Set<number>();
      for (const number of numbers) {
        const order = latest.get(number);
        if (order === undefined) unknown.add(number);
        else orders.set(number, order);
      }
      const ranges = rangesOf([...unknown]);
      for (let i = 0; i < ranges.length; i += PARALLEL) {
        await Promise.all(ranges.slice(i, i + PARALLEL).map((range) => readRange(range, { orders, missing })));
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
      if (missing.size > 0) throw new NoSuchOrder(missing);
      return orders;
    },
  };
}

interface Answer {
  readonly orders: Map<number, PlaceOrder>;
  /** What is there instead of an order. */
  readonly missing: Map<number, string>;
}

function take(number: number, data: Uint8Array, { orders, missing }: Answer): void {
  try {
    const command = decodeCommand(data);
    if (command.kind === 'PlaceOrder') orders.set(number, command);
    else missing.set(number, `a command of kind ${command.kind}`);
  } catch (error) {
    if (!(error instanceof MalformedRecord)) throw error;
    missing.set(number, 'a record that is no command');
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
