/** The log's contract: followers of any handle get every record once, in order, as it is stored. */
import assert from 'node:assert/strict';
import type { Log } from '../../engine/log/log.js';
import { newRecords, placed, readAll, take } from '../support/log-records.js';
import type { Scene } from './scene.js';

export function followContract(scene: Scene): void {
  describe('follow', () => {
    let abort: AbortController;
    beforeEach(() => { abort = new AbortController(); });
    afterEach(() => { abort.abort(); });
    const follow = (handle: Log, from: number) => handle.follow('commands', from, abort.signal);

    it('gives what is there from 0, from the middle, and then what comes, by this handle and by others', async () => {
      const records = newRecords(30);
      await scene.log.append('commands', records.slice(0, 10));
      const other = await scene.open();
      const all = take(follow(scene.log, 0), 30);
      const some = take(follow(other, 7), 23);
      const later = take(follow(other, 10), 20);
      for (let i = 10; i < 30; i += 5) await (i % 10 === 0 ? scene.log : other).append('commands', records.slice(i, i + 5));
      assert.deepEqual(await all, placed(0, records));
      assert.deepEqual(await some, placed(7, records.slice(7)));
      assert.deepEqual(await later, placed(10, records.slice(10)));
    });

    it('gives nothing before its position when it starts beyond the end', async () => {
      const records = newRecords(6);
      const fromFour = take(follow(scene.log, 4), 2);
      await scene.log.append('commands', records.slice(0, 3));
      await scene.log.append('commands', records.slice(3));
      assert.deepEqual(await fromFour, placed(4, records.slice(4)));
    });

    it('goes on where an earlier follower stopped', async () => {
      const records = newRecords(10);
      await scene.log.append('commands', records);
      const first = await take(follow(scene.log, 0), 4, { exactly: false });
      const rest = first.length < 10 ? await take(follow(scene.log, first.length), 10 - first.length) : [];
      assert.deepEqual([...first, ...rest], placed(0, records));
    });

    it('ends quietly when aborted: while it waits, before it begins, between batches', async () => {
      const batches: number[] = [];
      let received: () => void = () => undefined;
      const delivered = new Promise<void>((resolve) => { received = resolve; });
      const waiting = (async () => {
        for await (const batch of follow(scene.log, 0)) {
          batches.push(batch.length);
          received();
        }
      })();
      await scene.log.append('commands', newRecords(1));
      await delivered;
      abort.abort();
      await waiting;
      for await (const batch of follow(scene.log, 0)) batches.push(batch.length);
      assert.deepEqual(batches, [1]);
    });

    it('ends when its log is closed', async () => {
      const other = await scene.open();
      const ended = (async () => { for await (const batch of follow(other, 0)) assert.fail(`got ${batch.length} records`); })();
      await other.close();
      await ended;
    });

    it('gives every record once and in order while four handles write and the follower is slow', async () => {
      const writers = [scene.log, await scene.open(), await scene.open(), await scene.open()];
      const followed = Promise.all(writers.map((handle) => take(follow(handle, 0), 800, { pause: true })));
      await Promise.all(writers.map(async (writer) => {
        for (let i = 0; i < 100; i++) await writer.append('commands', newRecords(2));
      }));
      const all = await readAll(scene.log, 'commands');
      assert.equal(all.length, 800);
      for (const seen of await followed) assert.deepEqual(seen, all);
    });
  });
}
