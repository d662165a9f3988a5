/** What every adapter of the log must do: one suite, run over each of them. A further adapter joins by one line in `adapters`. */
import assert from 'node:assert/strict';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { openPostgresLog } from '../../engine/log/postgres/postgres-log.js';
import { InvalidAppend, MAX_APPEND_RECORDS } from '../../engine/log/append-check.js';
import { MAX_RECORD_BYTES, RecordTooLarge, WrongPosition, type Log, type LogRecord, type NewRecord } from '../../engine/log/log.js';
import { newRecord, newRecords, placed, take } from '../support/log-records.js';
import { testDatabase } from '../support/postgres.js';

interface Store {
  /** A further handle over the same store, as another process would have. */
  open(): Promise<Log>;
  remove(): Promise<void>;
}

const adapters: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => {
    const store = createMemoryStore();
    return { open: async () => createMemoryLog(store), remove: async () => undefined };
  },
  Postgres: async () => {
    const { url, drop } = await testDatabase();
    return { open: () => openPostgresLog({ url }), remove: drop };
  },
};

for (const [name, createStore] of Object.entries(adapters)) {
  describe(`log: ${name}`, () => {
    let store: Store;
    let handles: Log[];
    let log: Log;

    beforeEach(async () => {
      store = await createStore();
      handles = [];
      log = await open();
    });

    afterEach(async () => {
      await Promise.all(handles.map((handle) => handle.close()));
      await store.remove();
    });

    async function open(): Promise<Log> {
      const handle = await store.open();
      handles.push(handle);
      return handle;
    }

    describe('append, read, length', () => {
      it('starts empty', async () => {
        assert.equal(await log.length('commands'), 0);
        assert.deepEqual(await log.read('commands', 0, 10), []);
        assert.deepEqual(await log.read('commands', 5, 10), []);
      });

      it('gives contiguous positions from 0 and returns the bytes as they were', async () => {
        const [a, b, c] = [newRecord(Buffer.alloc(0)), newRecord(Buffer.from([0, 255, 10])), newRecord(Buffer.from('{"é":"\u{1f600}"}'))];
        assert.equal(await log.append('commands', [a, b]), 0);
        assert.equal(await log.append('commands', [c]), 2);
        assert.equal(await log.length('commands'), 3);
        assert.deepEqual(await readAll(log), placed(0, [a, b, c]));
        assert.deepEqual(await log.read('commands', 1, 1), placed(1, [b]));
        assert.deepEqual(await log.read('commands', 3, 10), []);
      });

      it('keeps streams apart', async () => {
        const [command, outcome] = newRecords(2);
        assert.equal(await log.append('commands', [command!]), 0);
        assert.equal(await log.append('outcomes', [outcome!]), 0);
        assert.deepEqual(await log.read('commands', 0, 10), placed(0, [command!]));
        assert.deepEqual(await log.read('outcomes', 0, 10), placed(0, [outcome!]));
      });

      it('is one log for all handles, and keeps what closed ones wrote', async () => {
        const records = newRecords(3);
        const other = await open();
        await other.append('commands', records);
        await other.close();
        assert.deepEqual(await readAll(log), placed(0, records));
        assert.equal(await (await open()).length('commands'), 3);
      });

      it('pages through 10,000 records', async () => {
        const records = newRecords(10_000);
        for (let i = 0; i < records.length; i += 1_000) await log.append('commands', records.slice(i, i + 1_000));
        assert.deepEqual(await readAll(log), placed(0, records));
        assert.deepEqual(await log.read('commands', 4_990, 20), placed(4_990, records.slice(4_990, 5_010)));
      });

      it('returns the largest records, a page of them in several reads if need be', async () => {
        const records = Array.from({ length: 8 }, (_, i) => newRecord(Buffer.alloc(MAX_RECORD_BYTES, i)));
        await log.append('commands', records);
        assert.deepEqual(await readAll(log), placed(0, records));
      });
    });

    describe('refused input: nothing is written', () => {
      const good = newRecord();
      const tooLarge = newRecord(Buffer.alloc(MAX_RECORD_BYTES + 1));
      const refused: readonly [string, unknown, number | undefined, new (...args: never[]) => Error][] = [
        ['an oversized record', [good, tooLarge], undefined, RecordTooLarge],
        ['an oversized record, with expected', [good, tooLarge], 0, RecordTooLarge],
        ['no records', [], undefined, InvalidAppend],
        ['too many records', newRecords(MAX_APPEND_RECORDS + 1), undefined, InvalidAppend],
        ['too many bytes', Array.from({ length: 68 }, () => newRecord(tooLarge.data.subarray(1))), undefined, InvalidAppend],
        ['an id that is no UUID', [good, { id: 'order-1', data: good.data }], undefined, InvalidAppend],
        ['an id in upper case', [{ id: 'AAAAAAAA-0000-4000-8000-000000000000', data: good.data }], undefined, InvalidAppend],
        ['an id with a quote', [{ id: `${good.id.slice(0, 35)}'`, data: good.data }], undefined, InvalidAppend],
        ['no id', [{ data: good.data }], undefined, InvalidAppend],
        ['data as text', [good, { id: good.id, data: '{}' }], undefined, InvalidAppend],
        ['no data', [{ id: good.id }], undefined, InvalidAppend],
        ['a negative position', [good], -1, InvalidAppend],
        ['a fractional position', [good], 0.5, InvalidAppend],
        ['no number as position', [good], Number.NaN, InvalidAppend],
      ];
      for (const [what, records, expected, error] of refused) {
        it(what, async () => {
          await assert.rejects(log.append('commands', records as NewRecord[], expected), error);
          assert.equal(await log.length('commands'), 0);
          assert.equal(await log.append('commands', [good]), 0);
        });
      }

      it('a read from no position', async () => {
        await assert.rejects(log.read('commands', -1, 1), RangeError);
        await assert.rejects(log.read('commands', 1.5, 1), RangeError);
      });
    });

    describe('expected position', () => {
      it('appends when it is right', async () => {
        const records = newRecords(3);
        assert.equal(await log.append('outcomes', records.slice(0, 2), 0), 0);
        assert.equal(await log.append('outcomes', records.slice(2), 2), 2);
        assert.deepEqual(await log.read('outcomes', 0, 10), placed(0, records));
      });

      it('refuses when it is behind or ahead, and writes nothing', async () => {
        const records = newRecords(2);
        await log.append('outcomes', records);
        for (const expected of [0, 1, 3]) {
          await assert.rejects(log.append('outcomes', newRecords(2), expected), (error: unknown) => {
            assert.ok(error instanceof WrongPosition);
            assert.deepEqual([error.stream, error.expected, error.actual], ['outcomes', expected, 2]);
            return true;
          });
        }
        assert.deepEqual(await log.read('outcomes', 0, 10), placed(0, records));
      });

      it('counts a repeated append of the same records as done, also by another handle and with others behind it', async () => {
        const records = newRecords(5);
        await log.append('outcomes', records.slice(0, 3), 0);
        await log.append('outcomes', records.slice(3), 3);
        const other = await open();
        assert.equal(await log.append('outcomes', records.slice(0, 3), 0), 0);
        assert.equal(await other.append('outcomes', records.slice(3), 3), 3);
        assert.equal(await other.append('outcomes', records.slice(1, 4), 1), 1);
        assert.deepEqual(await log.read('outcomes', 0, 10), placed(0, records));
      });

      it('refuses a batch that is only partly there, or there in another order', async () => {
        const [a, b, c] = newRecords(3);
        await log.append('outcomes', [a!, b!], 0);
        await assert.rejects(log.append('outcomes', [b!, a!], 0), WrongPosition);
        await assert.rejects(log.append('outcomes', [a!, c!], 0), WrongPosition);
        await assert.rejects(log.append('outcomes', [a!, b!, c!], 0), WrongPosition);
        assert.deepEqual(await log.read('outcomes', 0, 10), placed(0, [a!, b!]));
      });

      it('lets one of two racing writers win, at every position', async () => {
        const writers = [log, await open()];
        const history: NewRecord[] = [];
        for (let turn = 0; turn < 20; turn++) {
          const batches = writers.map(() => newRecords(2));
          const results = await Promise.allSettled(writers.map((writer, i) => writer.append('outcomes', batches[i]!, 2 * turn)));
          const winner = results.findIndex(({ status }) => status === 'fulfilled');
          const loser = results[1 - winner];
          assert.ok(loser?.status === 'rejected' && loser.reason instanceof WrongPosition, `turn ${turn}: one wins, one is fenced out`);
          history.push(...batches[winner]!);
        }
        assert.deepEqual(await log.read('outcomes', 0, 100), placed(0, history));
      });
    });

    describe('the same ids again with other bytes', () => {
      const other = ({ id }: NewRecord): NewRecord => ({ id, data: Buffer.from(`other than ${id}`) });

      for (const expected of [undefined, 0]) {
        for (const again of ['the same handle', 'another handle', 'a handle that follows']) {
          it(`followers of all handles get what is stored (${again}, ${expected === undefined ? 'without' : 'with'} expected)`, async () => {
            const records = newRecords(2);
            const [abort, second] = [new AbortController(), await open()];
            const following = again === 'a handle that follows' ? take(second.follow('outcomes', 0, abort.signal), 3, { exactly: false }) : [];
            await log.append('outcomes', records, expected);
            const position = await (again === 'the same handle' ? log : second).append('outcomes', records.map(other), expected);
            await log.append('outcomes', newRecords(1));
            const stored = await log.read('outcomes', 0, 10);
            if (expected !== undefined) assert.deepEqual([position, stored.slice(0, 2)], [0, placed(0, records)]);
            assert.deepEqual(stored.slice(position, position + 2).map(({ id }) => id), records.map(({ id }) => id));
            for (const handle of [log, second, await open()]) {
              assert.deepEqual(await take(handle.follow('outcomes', 0, abort.signal), stored.length), stored);
            }
            assert.deepEqual(stored.slice(0, (await following).length), await following);
          });
        }
      }
    });

    it('takes concurrent appends of several handles: no gap, nothing lost, nothing doubled, each batch together', async () => {
      const writers = [log, await open(), await open(), await open()];
      const batches = writers.flatMap((writer, w) => (
        Array.from({ length: 60 }, (_, i) => ({ writer, records: newRecords(1 + (w + i) % 4) }))));
      const firsts = await Promise.all(batches.map(({ writer, records }) => writer.append('commands', records)));
      const expected = batches.flatMap(({ records }, i) => placed(firsts[i]!, records)).sort((a, b) => a.position - b.position);
      assert.deepEqual(expected.map(({ position }) => position), expected.map((_, i) => i));
      assert.deepEqual(await readAll(log), expected);
    });

    describe('follow', () => {
      let abort: AbortController;
      beforeEach(() => { abort = new AbortController(); });
      afterEach(() => { abort.abort(); });
      const follow = (handle: Log, from: number) => handle.follow('commands', from, abort.signal);

      it('gives what is there from 0, from the middle, and then what comes, by this handle and by others', async () => {
        const records = newRecords(30);
        await log.append('commands', records.slice(0, 10));
        const other = await open();
        const all = take(follow(log, 0), 30);
        const some = take(follow(other, 7), 23);
        const later = take(follow(other, 10), 20);
        for (let i = 10; i < 30; i += 5) await (i % 10 === 0 ? log : other).append('commands', records.slice(i, i + 5));
        assert.deepEqual(await all, placed(0, records));
        assert.deepEqual(await some, placed(7, records.slice(7)));
        assert.deepEqual(await later, placed(10, records.slice(10)));
      });

      it('gives nothing before its position when it starts beyond the end', async () => {
        const records = newRecords(6);
        const fromFour = take(follow(log, 4), 2);
        await log.append('commands', records.slice(0, 3));
        await log.append('commands', records.slice(3));
        assert.deepEqual(await fromFour, placed(4, records.slice(4)));
      });

      it('goes on where an earlier follower stopped', async () => {
        const records = newRecords(10);
        await log.append('commands', records);
        const first = await take(follow(log, 0), 4, { exactly: false });
        const rest = first.length < 10 ? await take(follow(log, first.length), 10 - first.length) : [];
        assert.deepEqual([...first, ...rest], placed(0, records));
      });

      it('ends quietly when aborted: while it waits, before it begins, between batches', async () => {
        const batches: number[] = [];
        const waiting = (async () => { for await (const batch of follow(log, 0)) batches.push(batch.length); })();
        await log.append('commands', newRecords(1));
        await take(follow(log, 0), 1);
        abort.abort();
        await waiting;
        for await (const batch of follow(log, 0)) batches.push(batch.length);
        assert.deepEqual(batches, [1]);
      });

      it('ends when its log is closed', async () => {
        const other = await open();
        const ended = (async () => { for await (const batch of follow(other, 0)) assert.fail(`got ${batch.length} records`); })();
        await other.close();
        await ended;
      });

      it('gives every record once and in order while four handles write and the follower is slow', async () => {
        const writers = [log, await open(), await open(), await open()];
        const followed = Promise.all(writers.map((handle) => take(follow(handle, 0), 800, { pause: true })));
        await Promise.all(writers.map(async (writer) => {
          for (let i = 0; i < 100; i++) await writer.append('commands', newRecords(2));
        }));
        const all = await readAll(log);
        assert.equal(all.length, 800);
        for (const seen of await followed) assert.deepEqual(seen, all);
      });
    });
  });
}

/** All commands, read in pages until an empty one. */
async function readAll(log: Log): Promise<LogRecord[]> {
  const all: LogRecord[] = [];
  for (let page = await log.read('commands', 0, 3_000); page.length > 0; page = await log.read('commands', all.length, 3_000)) all.push(...page);
  return all;
}
