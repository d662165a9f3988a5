/** Group commit: what is batched together, refused, withdrawn; never one acknowledged and lost, never one refused and written. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createGroupCommit, QueueFull, type GroupCommitOptions } from '../../engine/log/group-commit.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { InvalidAppend, LogUnavailable, MAX_APPEND_RECORDS, MAX_RECORD_BYTES, RecordTooLarge, type Log, type NewRecord } from '../../engine/log/log.js';
import { newRecord, newRecords, placed } from '../support/log-records.js';
import { turnsUntil } from '../support/until.js';

/** How a held append ends: written and answered, written but not known, or not written. */
type Ending = 'written' | 'unknown, written' | 'unknown, lost' | 'refused';

/** A log whose appends wait until the test ends each of them. */
function controllableLog() {
  const memory = createMemoryLog();
  const held: { records: readonly NewRecord[]; end: (ending: Ending) => Promise<void> }[] = [];
  const sizes: number[] = [];
  const log: Log = {
    ...memory,
    append: (stream, records) => new Promise((resolve, reject) => {
      sizes.push(records.length);
      held.push({
        records,
        async end(ending) {
          const written = ending === 'written' || ending === 'unknown, written';
          const first = written ? await memory.append(stream, records) : -1;
          if (ending === 'written') resolve(first);
          else reject(new LogUnavailable(ending !== 'refused'));
        },
      });
    }),
  };
  return {
    log, memory, sizes,
    /** Ends the append that is on its way, or the next one to come. */
    async end(ending: Ending = 'written') {
      await turnsUntil('the append that is to end', () => held.length > 0);
      await held.shift()!.end(ending);
    },
    async untilSent() {
      await turnsUntil('an append on its way', () => held.length > 0);
    },
  };
}

function setUp(options: Partial<GroupCommitOptions> = {}) {
  const control = controllableLog();
  return { ...control, commit: createGroupCommit({ log: control.log, stream: 'commands', maxQueued: 100, ...options }) };
}

const isUnavailable = (outcomeUnknown: boolean) => (error: unknown) => (
  error instanceof LogUnavailable && error.outcomeUnknown === outcomeUnknown);

describe('group commit', () => {
  it('sends what came in one turn together, and what comes meanwhile as the next batch', async () => {
    const { commit, memory, sizes, end, untilSent } = setUp();
    const records = newRecords(9);
    const first = records.slice(0, 3).map((record) => commit.append(record));
    await untilSent();
    const second = records.slice(3).map((record) => commit.append(record));
    assert.equal(commit.queued(), 6);
    await end();
    assert.deepEqual(await Promise.all(first), [0, 1, 2]);
    await end();
    assert.deepEqual(await Promise.all(second), [3, 4, 5, 6, 7, 8]);
    assert.deepEqual(sizes, [3, 6]);
    assert.equal(commit.queued(), 0);
    assert.deepEqual(await memory.read('commands', 0, 100), placed(0, records));
  });

  it('keeps records that belong together in one append, at positions that follow each other', async () => {
    const { commit, memory, sizes, end, untilSent } = setUp({ maxBatch: 4 });
    const records = newRecords(8);
    const [alone, together, last] = [commit.append(records[0]!), commit.appendAll(records.slice(1, 5)), commit.appendAll(records.slice(5))];
    await untilSent();
    assert.equal(commit.queued(), 7);
    for (let batches = 0; batches < 3; batches++) await end();
    assert.deepEqual([await alone, await together, await last], [0, 1, 5]);
    assert.deepEqual(sizes, [1, 4, 3]);
    assert.deepEqual(await memory.read('commands', 0, 100), placed(0, records));
  });

  it('tells each its own position where several that belong together share an append', async () => {
    const { commit, sizes, end, untilSent } = setUp({});
    const records = newRecords(8);
    const groups = [records.slice(0, 1), records.slice(1, 5), records.slice(5, 7), records.slice(7)];
    const positions = groups.map((group) => commit.appendAll(group));
    await untilSent();
    await end();
    assert.deepEqual(sizes, [8]);
    assert.deepEqual(await Promise.all(positions), [0, 1, 5, 7]);
  });

  it('refuses records that belong together when not all of them fit into the queue, and withdraws them together', async () => {
    const { commit, sizes, end, untilSent } = setUp({ maxQueued: 4 });
    const sent = commit.append(newRecords(1)[0]!);
    await untilSent();
    const leaving = new AbortController();
    const withdrawn = commit.appendAll(newRecords(3), leaving.signal);
    await assert.rejects(commit.appendAll(newRecords(2)), QueueFull);
    leaving.abort(new Error('gone'));
    await assert.rejects(withdrawn, /gone/);
    assert.equal(commit.queued(), 0);
    await end();
    assert.deepEqual([await sent, sizes], [0, [1]]);
  });

  it('keeps batches within their number and bytes; a larger record goes alone', async () => {
    const { commit, sizes, end } = setUp({ maxBatch: 3, maxBatchBytes: 100 });
    const bytes = [40, 40, 40, 500, 1, 1, 1, 1];
    const appends = bytes.map((length) => commit.append(newRecord(Buffer.alloc(length))));
    for (let batches = 0; batches < 5; batches++) await end();
    assert.deepEqual(await Promise.all(appends), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(sizes, [2, 1, 1, 3, 1]);
  });

  it('fills an append up to the log\'s limit, or to a lower limit if one is given', async () => {
    const { commit, sizes, end } = setUp({ maxQueued: 2_000 });
    const large = [400_000, 600_000, MAX_RECORD_BYTES, 1].map((length) => commit.append(newRecord(Buffer.alloc(length))));
    const small = newRecords(MAX_APPEND_RECORDS).map((record) => commit.append(record));
    for (let batches = 0; batches < 4; batches++) await end();
    assert.deepEqual(await Promise.all([...large, ...small]), Array.from({ length: MAX_APPEND_RECORDS + 4 }, (_, i) => i));
    assert.deepEqual(sizes, [2, 1, MAX_APPEND_RECORDS, 1]);
  });

  it('refuses at once when the queue is full, and takes again when it is not', async () => {
    const { commit, memory, end, untilSent } = setUp({ maxQueued: 2 });
    const records = newRecords(5);
    const sent = commit.append(records[0]!);
    await untilSent();
    const queued = [commit.append(records[1]!), commit.append(records[2]!)];
    await assert.rejects(commit.append(records[3]!), QueueFull);
    await end();
    await end();
    assert.deepEqual(await Promise.all([sent, ...queued]), [0, 1, 2]);
    const last = commit.append(records[4]!);
    await end();
    assert.equal(await last, 3);
    assert.deepEqual(await memory.read('commands', 0, 100), placed(0, [records[0]!, records[1]!, records[2]!, records[4]!]));
  });

  it('refuses malformed and oversized records before they join a batch', async () => {
    const { commit, memory, end } = setUp();
    const good = newRecord();
    const appended = commit.append(good);
    await assert.rejects(commit.append(newRecord(Buffer.alloc(MAX_RECORD_BYTES + 1))), RecordTooLarge);
    await assert.rejects(commit.append({ id: 'order-1', data: good.data }), InvalidAppend);
    await end();
    assert.equal(await appended, 0);
    assert.deepEqual(await memory.read('commands', 0, 100), placed(0, [good]));
  });

  it('rejects every request of a batch with outcome_unknown, and takes further requests', async () => {
    const { commit, end, untilSent } = setUp();
    const lost = newRecords(2).map((record) => commit.append(record));
    await untilSent();
    const next = commit.append(newRecord());
    await end('unknown, written');
    for (const append of lost) await assert.rejects(append, isUnavailable(true));
    await end();
    assert.equal(await next, 2);
  });

  it('refuses requests that waited too long behind a log that hangs, and never writes them', async () => {
    const { commit, memory, end, untilSent } = setUp({ refuseAfterMs: 30 });
    const [hanging, late] = newRecords(2);
    const sent = commit.append(hanging!);
    await untilSent();
    await assert.rejects(commit.append(late!), isUnavailable(false));
    assert.equal(commit.queued(), 0);
    await end();
    assert.equal(await sent, 0);
    const after = newRecord();
    const appended = commit.append(after);
    await end();
    assert.equal(await appended, 1);
    assert.deepEqual(await memory.read('commands', 0, 100), placed(0, [hanging!, after]));
  });

  it('withdraws a queued record whose caller has gone, and not one that is sent', async () => {
    const { commit, memory, end, untilSent } = setUp();
    const [sentRecord, goneRecord, stays] = newRecords(3);
    const gone = new AbortController();
    const sent = commit.append(sentRecord!, gone.signal);
    await untilSent();
    const withdrawn = commit.append(goneRecord!, gone.signal);
    const kept = commit.append(stays!);
    gone.abort(new Error('the client has gone'));
    await assert.rejects(withdrawn, /the client has gone/);
    await assert.rejects(commit.append(goneRecord!, gone.signal), /the client has gone/);
    await end();
    await end();
    assert.deepEqual([await sent, await kept], [0, 1]);
    assert.deepEqual(await memory.read('commands', 0, 100), placed(0, [sentRecord!, stays!]));
  });

  it('drains: finishes what it has, takes no more', async () => {
    const { commit, end, untilSent } = setUp();
    const sent = commit.append(newRecord());
    await untilSent();
    const queued = commit.append(newRecord());
    const drained = commit.drain();
    await assert.rejects(commit.append(newRecord()), isUnavailable(false));
    await end();
    await end();
    await drained;
    assert.deepEqual([await sent, await queued], [0, 1]);
    await createGroupCommit({ log: createMemoryLog(), stream: 'commands', maxQueued: 1 }).drain();
  });

  it('never loses an acknowledged record and never writes a refused one, whatever becomes of the batches', async () => {
    const ending = fc.constantFrom<Ending>('written', 'written', 'unknown, written', 'unknown, lost', 'refused');
    const turn = fc.record({ arrivals: fc.integer({ min: 0, max: 6 }), withdraw: fc.boolean(), ending });
    await fc.assert(fc.asyncProperty(
      fc.array(turn, { minLength: 1, maxLength: 12 }),
      async (turns) => {
        const { commit, memory, end } = setUp({ maxQueued: 8, maxBatch: 4 });
        const outcomes = new Map<string, number | 'refused' | 'unknown'>();
        const settled: Promise<void>[] = [];
        for (const { arrivals, withdraw, ending: how } of turns) {
          const gone = new AbortController();
          for (const record of newRecords(arrivals)) {
            settled.push(commit.append(record, gone.signal).then(
              (position) => { outcomes.set(record.id, position); },
              (error: unknown) => { outcomes.set(record.id, error instanceof LogUnavailable && error.outcomeUnknown ? 'unknown' : 'refused'); }));
          }
          if (commit.queued() > 0) await end(how);
          if (withdraw) gone.abort();
        }
        const drained = commit.drain().then(() => 'drained');
        while (await Promise.race([drained, new Promise((resolve) => setImmediate(resolve, 'busy'))]) === 'busy') {
          await Promise.race([drained, end()]);
        }
        await Promise.all(settled);
        const written = new Map((await memory.read('commands', 0, 1_000)).map(({ id, position }) => [id, position]));
        for (const [id, outcome] of outcomes) {
          if (outcome === 'refused') assert.equal(written.has(id), false, 'refused, yet written');
          else if (outcome !== 'unknown') assert.equal(written.get(id), outcome, 'acknowledged, yet not there');
        }
        assert.equal(outcomes.size, turns.reduce((sum, { arrivals }) => sum + arrivals, 0));
      }), { numRuns: 200 });
  });
});
