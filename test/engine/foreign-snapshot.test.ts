/** A replica starts from a snapshot of its own history only: one of another history, or of more than is recorded, is passed over. */
import { deepEqual } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { createEngine } from '../../engine/run/engine.js';
import { startReplica } from '../../engine/run/replica.js';
import { encodeSnapshot } from '../../engine/run/snapshot.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { appendAll } from '../support/log-records.js';
import { crowd } from '../support/random-commands.js';
import { history, replay } from '../support/watched-histories.js';

const [LENGTH, RECORDED] = [400, 300];
const own = history(31, crowd, LENGTH);
const foreign = history(32, crowd, LENGTH);

/** A log with all commands of the own history, and its outcomes up to `RECORDED`. */
async function ownLog() {
  const log = createMemoryLog();
  const engine = createEngine();
  await appendAll(log, 'commands', own.map((data, i) => ({ id: recordId(`command ${i}`), data })));
  await appendAll(log, 'outcomes', own.slice(0, RECORDED).map((data, i) => {
    const { text, digest } = engine.step(data);
    return { id: recordId(`outcome ${i}`), data: encodeOutcome(text, digest) };
  }));
  return log;
}

describe('replica: the snapshots that it accepts', () => {
  let directory: string;
  beforeEach(async () => { directory = await mkdtemp(join(tmpdir(), 'foreign-')); });
  afterEach(() => rm(directory, { recursive: true }));

  for (const { name, commands, position, isUsed } of [
    { name: 'uses one of its history', commands: own, position: 200, isUsed: true },
    { name: 'uses one of the whole recorded history', commands: own, position: RECORDED, isUsed: true },
    { name: 'passes over one of another history', commands: foreign, position: 200, isUsed: false },
    // Whoever records the rest may compute something else.
    { name: 'passes over one of more than is recorded', commands: own, position: RECORDED + 1, isUsed: false },
  ]) {
    it(name, async () => {
      await saveSnapshot(directory, position, encodeSnapshot(replay(createEngine(), commands.slice(0, position))));
      const stop = new AbortController();
      const starts: unknown[] = [];
      const replica = await startReplica({
        log: await ownLog(), signal: stop.signal, snapshotDirectory: directory,
        report: (_, { position: from, snapshot }) => { starts.push([from, snapshot]); },
      });
      await replica.caughtUp.finally(() => { stop.abort(); });
      await replica.done;
      deepEqual(starts, [[isUsed ? position : 0, isUsed]]);
      deepEqual([replica.view.position, replica.view.digest], [LENGTH, replay(createEngine(), own).digest]);
    });
  }
});
