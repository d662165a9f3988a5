/** Orders read back from the commands log: in few reads, the latest from memory, and nothing that is not an order. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { NoSuchOrder, createSignedOrders } from '../../command/feed/signed-orders.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import { LogUnavailable, type Log, type LogRecord } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { newCommand } from '../support/commands.js';
import { appendAll } from '../support/log-records.js';
import { address, bytes32 } from '../support/scenario.js';

const LENGTH = 5_000;
/** Where the log has a tick of the clock. */
const TICKS = new Set([10, 4_999]);

function orderAt(position: number): PlaceOrder {
  return newCommand('PlaceOrder', {
    at: position, orderHash: bytes32(`o${position}`), marketId: bytes32('market'), trader: address('t'), side: 0, outcome: 0, price: 1,
    size: '10', nonce: String(position), expiration: '1900000000', signature: `0x${'ab'.repeat(65)}`,
  });
}

async function fullLog(): Promise<Log> {
  const log = createMemoryLog();
  const commands: Command[] = Array.from({ length: LENGTH }, (_, i) => TICKS.has(i) ? newCommand('AdvanceClock', { at: i }) : orderAt(i));
  await appendAll(log, 'commands', commands.map((command, i) => ({ id: recordId(`test ${i}`), data: encodeCommand(command) })));
  return log;
}

function ordersOf(log: Log, kept?: number) {
  const reads: [from: number, limit: number][] = [];
  const behind = { failing: false };
  const orders = createSignedOrders({
    read(stream, from, limit): Promise<LogRecord[]> {
      equal(stream, 'commands');
      reads.push([from, limit]);
      return behind.failing ? Promise.reject(new LogUnavailable(false)) : log.read(stream, from, limit);
    },
  }, kept);
  return { orders, reads, behind };
}

describe('settlement: orders', () => {
  let log: Log;
  const setUp = (kept?: number) => ordersOf(log, kept);

  before(async () => { log = await fullLog(); });

  const cases: [string, number[], [from: number, limit: number][]][] = [
    ['one order', [7], [[7, 1]]],
    ['neighbours', [9, 7, 8], [[7, 3]]],
    ['the tick between them is read and left', [9, 11], [[9, 3]]],
    ['as far apart as one read is worth it', [100, 164], [[100, 65]]],
    ['further apart', [100, 165], [[100, 1], [165, 1]]],
    ['a thousand records at most', Array.from({ length: 30 }, (_, i) => 1_000 + i * 50), [[1_000, 951], [2_000, 451]]],
    ['none', [], []],
  ];
  for (const [name, numbers, expected] of cases) {
    it(`reads ${name}: ${expected.length} reads`, async () => {
      const { orders, reads } = setUp();
      const found = await orders.read(numbers);
      deepEqual([...found].sort(([a], [b]) => a - b), [...numbers].sort((a, b) => a - b).map((number) => [number, orderAt(number)]));
      deepEqual(reads, expected);
    });
  }

  it('reads on where a page ends early', async () => {
    const found = await createSignedOrders({ read: (stream, from, limit) => log.read(stream, from, Math.min(limit, 3)) }).read([11, 20, 13]);
    deepEqual([...found], [11, 13, 20].map((number) => [number, orderAt(number)]));
  });

  it('remembers the orders asked for latest, and as many as it may', async () => {
    const { orders, reads } = setUp(3);
    await orders.read([0, 1, 2]);
    await orders.read([0]);
    deepEqual([...(await orders.read([500, 0, 2])).keys()].sort((a, b) => a - b), [0, 2, 500]);
    deepEqual(reads, [[0, 3], [500, 1]], '0 and 2 were remembered');
    await orders.read([1]);
    deepEqual(reads.slice(2), [[1, 1]], '1 was asked for longest ago, and went');
    await orders.read([0, 2, 500]);
    equal(reads.length, 4, 'one of them went for 1');
  });

  it('gives all orders of one question, however few it may remember', async () => {
    const { orders } = setUp(1);
    deepEqual([...(await orders.read([1, 2, 3])).keys()], [1, 2, 3]);
  });

  for (const [name, number, found] of [
    ['a tick of the clock', 10, 'a command of kind AdvanceClock'], ['nothing', LENGTH, 'no record'], ['no command', LENGTH - 2, 'a record that is not a command'],
  ] as const) {
    it(`refuses a position with ${name}, and keeps what it has read beside it`, async () => {
      const { orders, reads } = ordersOf({ ...log, read: async (...asked) => (await log.read(...asked)).map((record) => (
        record.position === LENGTH - 2 ? { ...record, data: record.data.subarray(1) } : record)) });
      await rejects(orders.read([9, number]), (error: Error) => {
        ok(error instanceof NoSuchOrder);
        deepEqual([[...error.positions], error.message], [
          [number], `fills name orders that are not in the log: position ${number} of the commands has ${found}; the log is not what the engine has read`]);
        return true;
      });
      const before = reads.length;
      deepEqual([[...(await orders.read([9])).keys()], reads.length], [[9], before]);
    });
  }

  it('names all positions without an order at once', async () => {
    const { orders } = setUp();
    await rejects(orders.read([9, 10, 700, LENGTH + 3, LENGTH + 1]), (error: Error) => {
      ok(error instanceof NoSuchOrder);
      deepEqual([...error.positions].sort((a, b) => a - b), [10, LENGTH + 1, LENGTH + 3]);
      match(error.message, / \(and 2 more\); /);
      return true;
    });
  });

  it('a log that cannot be reached is asked again', async () => {
    const { orders, behind } = setUp();
    behind.failing = true;
    await rejects(orders.read([7]), LogUnavailable);
    behind.failing = false;
    deepEqual([...(await orders.read([7])).keys()], [7]);
  });
});
