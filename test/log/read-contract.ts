/** The log's contract: what read and length give, where pages may end early, and what a closed handle does. */
import assert from 'node:assert/strict';
import { LogUnavailable, MAX_RECORD_BYTES, type LogRecord } from '../../engine/log/log.js';
import { appendAll, newRecord, newRecords, placed, readAll } from '../support/log-records.js';
import type { Scene } from './scene.js';

export function readContract(scene: Scene): void {
  reads(scene);
  closedHandles(scene);
}

function reads(scene: Scene): void {
  describe('read and length', () => {
    it('an empty stream has no records, at no position', async () => {
      assert.equal(await scene.log.length('commands'), 0);
      assert.deepEqual(await scene.log.read('commands', 0, 10), []);
      assert.deepEqual(await scene.log.read('commands', 5, 10), []);
    });

    it('give the bytes as they were, at contiguous positions from 0', async () => {
      const [a, b, c] = [newRecord(Buffer.alloc(0)), newRecord(Buffer.from([0, 255, 10])), newRecord(Buffer.from('{"é":"\u{1f600}"}'))];
      assert.equal(await scene.log.append('commands', [a, b]), 0);
      assert.equal(await scene.log.append('commands', [c]), 2);
      assert.equal(await scene.log.length('commands'), 3);
      assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [a, b, c]));
      assert.deepEqual(await scene.log.read('commands', 1, 1), placed(1, [b]));
      assert.deepEqual(await scene.log.read('commands', 3, 10), []);
      assert.deepEqual(await scene.log.read('commands', 0, 0), []);
    });

    it('keep the streams apart', async () => {
      const [command, outcome] = [newRecord(), newRecord()];
      assert.equal(await scene.log.append('commands', [command]), 0);
      assert.equal(await scene.log.append('outcomes', [outcome]), 0);
      assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [command]));
      assert.deepEqual(await readAll(scene.log, 'outcomes'), placed(0, [outcome]));
    });

    it('are of one log for all handles, and keep what closed ones wrote', async () => {
      const records = newRecords(3);
      const other = await scene.open();
      await other.append('commands', records);
      assert.equal(await scene.log.length('commands'), 3);
      await other.close();
      assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, records));
      assert.equal(await (await scene.open()).length('commands'), 3);
    });

    it('a page ends where it likes, but is empty at the end of the stream only', async () => {
      const records = newRecords(6_000);
      await appendAll(scene.log, 'commands', records);
      const seen: LogRecord[] = [];
      while (seen.length < records.length) {
        const limit = 1 + seen.length % 5_500;
        const page = await scene.log.read('commands', seen.length, limit);
        assert.ok(page.length > 0 && page.length <= limit, `${page.length} records at ${seen.length}, ${limit} wanted`);
        seen.push(...page);
      }
      assert.deepEqual(seen, placed(0, records));
      assert.deepEqual(await scene.log.read('commands', records.length, 10), []);
    });

    it('the largest records come, in as many pages as that takes', async () => {
      const records = Array.from({ length: 8 }, (_, i) => newRecord(Buffer.alloc(MAX_RECORD_BYTES, i)));
      for (const record of records) await scene.log.append('commands', [record]);
      const read = await readAll(scene.log, 'commands');
      assert.equal(read.length, records.length);
      for (const [i, { position, id, data }] of read.entries()) {
        assert.deepEqual([position, id, data.length], [i, records[i]!.id, MAX_RECORD_BYTES]);
        assert.ok(Buffer.compare(data, records[i]!.data) === 0, `record ${i}`);
      }
    });

    it('refuse a position that is none', async () => {
      await assert.rejects(scene.log.read('commands', -1, 1), RangeError);
      await assert.rejects(scene.log.read('commands', 1.5, 1), RangeError);
    });
  });
}

function closedHandles(scene: Scene): void {
  describe('a closed handle', () => {
    it('has written what it took, and takes no more', async () => {
      const records = newRecords(20);
      const handle = await scene.open();
      const appended = Promise.all(records.map((record) => handle.append('commands', [record])));
      await handle.close();
      assert.deepEqual(await appended, records.map((_, i) => i));
      const closed = (error: unknown) => error instanceof LogUnavailable && !error.outcomeUnknown;
      await assert.rejects(handle.append('commands', newRecords(1)), closed);
      await assert.rejects(handle.read('commands', 0, 1), closed);
      await assert.rejects(handle.length('commands'), closed);
      for await (const batch of handle.follow('commands', 0, new AbortController().signal)) assert.fail(`got ${batch.length} records`);
      await handle.close();
      assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, records));
    });
  });
}
