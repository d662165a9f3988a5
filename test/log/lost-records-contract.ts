/** The log's contract: a handle notices that its store lacks records that it had, writes nothing to it and gives nothing of it. */
import assert from 'node:assert/strict';
import { RecordsLost, type Log, type NewRecord } from '../../engine/log/log.js';
import { newRecords, placed, readAll, take } from '../support/log-records.js';
import { within } from '../support/until.js';
import type { Scene } from './scene.js';

/** Makes the store lose the records of `commands` from a position on, and has others in their place from then on, if any are given. */
export type Forget = (from: number, others?: readonly NewRecord[]) => Promise<void>;

export function lostRecordsContract(scene: Scene, forget: Forget): void {
  describe('a store that has lost records', () => {
    const kept = newRecords(4);
    /** What the handle knows of, and the store does not have any more. */
    const lost = newRecords(3);

    beforeEach(async () => {
      await scene.log.append('commands', kept);
      await scene.log.append('commands', lost);
    });

    /** Others' records in the place of the lost ones, and some more. */
    async function growAgain(more: number): Promise<NewRecord[]> {
      const others = newRecords(lost.length + more);
      await forget(kept.length, others);
      return [...kept, ...others];
    }
    const stored = async () => readAll(await scene.open(), 'commands');
    const rejects = async (work: Promise<unknown>, what: RegExp) => {
      await assert.rejects(within('an answer', work), (error: unknown) => {
        assert.ok(error instanceof RecordsLost, String(error));
        assert.match(error.message, what);
        assert.match(error.message, /stop every process of the exchange and bring back the newest copy/);
        return true;
      });
    };
    const isShorter = /its store has 4 commands and had 7, so positions 4 to 6 are gone/;
    const isOther = /its store has another record at position 6 of the commands than it had/;

    const calls: readonly [string, (log: Log) => Promise<unknown>][] = [
      ['an append', (log) => log.append('commands', newRecords(1))],
      ['an append at the position that the handle knows as the end', (log) => log.append('commands', newRecords(1), 7)],
      ['an append at the position that is the end', (log) => log.append('commands', newRecords(1), 4)],
      ['the length', (log) => log.length('commands')],
      ['a read of what is lost', (log) => log.read('commands', 5, 10)],
    ];
    for (const [what, call] of calls) {
      it(`is noticed by ${what}, and then refuses everything`, async () => {
        await forget(kept.length);
        await rejects(call(scene.log), isShorter);
        for (const [, again] of calls) await rejects(again(scene.log), isShorter);
        await rejects(scene.log.length('outcomes'), isShorter);
        assert.deepEqual(await stored(), placed(0, kept));
      });
    }

    it('is noticed by a follower that waits, and by one that begins', async () => {
      const never = new AbortController();
      const waiting = take(scene.log.follow('commands', 0, never.signal), 8);
      await forget(kept.length);
      await rejects(waiting, isShorter);
      await rejects(take(scene.log.follow('commands', 0, never.signal), 1), isShorter);
    });

    for (const [how, more] of [['as long as it was', 0], ['longer than it was', 5]] as const) {
      it(`and has become ${how} again with others' records: an append writes nothing`, async () => {
        const all = await growAgain(more);
        await rejects(scene.log.append('commands', newRecords(1)), isOther);
        assert.deepEqual(await stored(), placed(0, all));
      });

      it(`and has become ${how} again with others' records: a follower gives none of them`, async () => {
        const never = new AbortController();
        const seen: NewRecord[] = [];
        const following = (async () => {
          for await (const batch of scene.log.follow('commands', 0, never.signal)) seen.push(...batch);
        })();
        await take(scene.log.follow('commands', 0, never.signal), 7);
        await growAgain(more);
        await rejects(following, isOther);
        assert.deepEqual(seen, placed(0, [...kept, ...lost]));
      });
    }

    it('is served by handles that did not know of the lost ones', async () => {
      await forget(kept.length);
      const other = await scene.open();
      const more = newRecords(2);
      assert.equal(await other.append('commands', more), 4);
      assert.deepEqual(await readAll(other, 'commands'), placed(0, [...kept, ...more]));
    });
  });
}
