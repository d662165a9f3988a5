/** The log's contract: what an append writes, where, and what it refuses. */
import assert from 'node:assert/strict';
import {
  InvalidAppend, MAX_APPEND_BYTES, MAX_APPEND_RECORDS, MAX_RECORD_BYTES, RecordTooLarge, WrongPosition, type NewRecord,
} from '../../engine/log/log.js';
import { newRecord, newRecords, placed, readAll, take } from '../support/log-records.js';
import type { Scene } from './scene.js';

export function appendContract(scene: Scene): void {
  largestAppends(scene);
  refusedInput(scene);
  expectedPositions(scene);
  repeatedIds(scene);
  concurrentAppends(scene);
}

function largestAppends(scene: Scene): void {
  describe('as much as one append may have is written', () => {
    const largest: Readonly<Record<string, () => NewRecord[]>> = {
      'as many records': () => newRecords(MAX_APPEND_RECORDS),
      'as many bytes, in one record': () => [newRecord(Buffer.alloc(MAX_RECORD_BYTES, 7))],
      'as many records with as many bytes': () => (
        Array.from({ length: MAX_APPEND_RECORDS }, (_, i) => newRecord(Buffer.alloc(MAX_APPEND_BYTES / MAX_APPEND_RECORDS, i)))),
    };
    for (const [what, recordsOf] of Object.entries(largest)) {
      it(what, async () => {
        const records = recordsOf();
        await scene.log.append('commands', newRecords(1));
        assert.equal(await scene.log.append('commands', records), 1);
        assert.equal(await scene.log.append('commands', newRecords(1)), records.length + 1);
        assert.deepEqual((await readAll(scene.log, 'commands')).slice(1, -1), placed(1, records));
      });
    }
  });
}

function refusedInput(scene: Scene): void {
  describe('refused input: nothing is written', () => {
    const good = newRecord();
    const tooLarge = newRecord(Buffer.alloc(MAX_RECORD_BYTES + 1));
    const refused: readonly [string, unknown, number | undefined, new (...args: never[]) => Error][] = [
      ['an oversized record', [good, tooLarge], undefined, RecordTooLarge],
      ['an oversized record, with expected', [good, tooLarge], 0, RecordTooLarge],
      ['no records', [], undefined, InvalidAppend],
      ['too many records', newRecords(MAX_APPEND_RECORDS + 1), undefined, InvalidAppend],
      ['too many bytes', [newRecord(tooLarge.data.subarray(1)), newRecord(Buffer.alloc(1))], undefined, InvalidAppend],
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
        await assert.rejects(scene.log.append('commands', records as NewRecord[], expected), error);
        assert.equal(await scene.log.length('commands'), 0);
        assert.equal(await scene.log.append('commands', [good]), 0);
      });
    }
  });
}

function expectedPositions(scene: Scene): void {
  describe('expected position', () => {
    it('appends when it is right', async () => {
      const records = newRecords(3);
      assert.equal(await scene.log.append('outcomes', records.slice(0, 2), 0), 0);
      assert.equal(await scene.log.append('outcomes', records.slice(2), 2), 2);
      assert.deepEqual(await readAll(scene.log, 'outcomes'), placed(0, records));
    });

    it('refuses when it is behind or ahead, and writes nothing', async () => {
      const records = newRecords(2);
      await scene.log.append('outcomes', records);
      for (const expected of [0, 1, 3]) {
        await assert.rejects(scene.log.append('outcomes', newRecords(2), expected), (error: unknown) => {
          assert.ok(error instanceof WrongPosition);
          assert.deepEqual([error.stream, error.expected, error.actual], ['outcomes', expected, 2]);
          return true;
        });
      }
      assert.deepEqual(await readAll(scene.log, 'outcomes'), placed(0, records));
    });

    it('counts a repeated append of the same records as done, also by another handle and with others behind it', async () => {
      const records = newRecords(5);
      await scene.log.append('outcomes', records.slice(0, 3), 0);
      await scene.log.append('outcomes', records.slice(3), 3);
      const other = await scene.open();
      assert.equal(await scene.log.append('outcomes', records.slice(0, 3), 0), 0);
      assert.equal(await other.append('outcomes', records.slice(3), 3), 3);
      assert.equal(await other.append('outcomes', records.slice(1, 4), 1), 1);
      assert.deepEqual(await readAll(scene.log, 'outcomes'), placed(0, records));
    });

    it('refuses a batch that is only partly there, or there in another order', async () => {
      const [a, b, c] = newRecords(3);
      await scene.log.append('outcomes', [a!, b!], 0);
      await assert.rejects(scene.log.append('outcomes', [b!, a!], 0), WrongPosition);
      await assert.rejects(scene.log.append('outcomes', [a!, c!], 0), WrongPosition);
      await assert.rejects(scene.log.append('outcomes', [a!, b!, c!], 0), WrongPosition);
      assert.deepEqual(await readAll(scene.log, 'outcomes'), placed(0, [a!, b!]));
    });

    it('lets one of two racing writers win, at every position', async () => {
      const writers = [scene.log, await scene.open()];
      const history: NewRecord[] = [];
      for (let turn = 0; turn < 20; turn++) {
        const batches = writers.map(() => newRecords(2));
        const results = await Promise.allSettled(writers.map((writer, i) => writer.append('outcomes', batches[i]!, 2 * turn)));
        const winner = results.findIndex(({ status }) => status === 'fulfilled');
        const loser = results[1 - winner];
        assert.ok(loser?.status === 'rejected' && loser.reason instanceof WrongPosition, `turn ${turn}: one wins, one is fenced out`);
        history.push(...batches[winner]!);
      }
      assert.deepEqual(await readAll(scene.log, 'outcomes'), placed(0, history));
    });
  });
}

function repeatedIds(scene: Scene): void {
  describe('the same ids again with other bytes', () => {
    const other = ({ id }: NewRecord): NewRecord => ({ id, data: Buffer.from(`other than ${id}`) });

    for (const expected of [undefined, 0]) {
      for (const again of ['the same handle', 'another handle', 'a handle that follows']) {
        it(`followers of all handles get what is stored (${again}, ${expected === undefined ? 'without' : 'with'} expected)`, async () => {
          const records = newRecords(2);
          const [abort, second] = [new AbortController(), await scene.open()];
          const following = again === 'a handle that follows' ? take(second.follow('outcomes', 0, abort.signal), 3, { exactly: false }) : [];
          await scene.log.append('outcomes', records, expected);
          const position = await (again === 'the same handle' ? scene.log : second).append('outcomes', records.map(other), expected);
          await scene.log.append('outcomes', newRecords(1));
          const stored = await readAll(scene.log, 'outcomes');
          if (expected !== undefined) assert.deepEqual([position, stored.slice(0, 2)], [0, placed(0, records)]);
          assert.deepEqual(stored.slice(position, position + 2).map(({ id }) => id), records.map(({ id }) => id));
          for (const handle of [scene.log, second, await scene.open()]) {
            assert.deepEqual(await take(handle.follow('outcomes', 0, abort.signal), stored.length), stored);
          }
          assert.deepEqual(stored.slice(0, (await following).length), await following);
        });
      }
    }
  });
}

function concurrentAppends(scene: Scene): void {
  it('takes concurrent appends of several handles: no gap, nothing lost, nothing doubled, each batch together', async () => {
    const writers = [scene.log, await scene.open(), await scene.open(), await scene.open()];
    const batches = writers.flatMap((writer, w) => (
      Array.from({ length: 60 }, (_, i) => ({ writer, records: newRecords(1 + (w + i) % 4) }))));
    const firsts = await Promise.all(batches.map(({ writer, records }) => writer.append('commands', records)));
    const expected = batches.flatMap(({ records }, i) => placed(firsts[i]!, records)).sort((a, b) => a.position - b.position);
    assert.deepEqual(expected.map(({ position }) => position), expected.map((_, i) => i));
    assert.deepEqual(await readAll(scene.log, 'commands'), expected);
  });
}
