/** A long history of prices: a start from a snapshot reads only what came after it, and what the engine keeps of prices does not grow. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeOutcome, recordId } from '../../engine/run/new-record.js';
import type { Log, Stream } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { createEngine } from '../../engine/run/engine.js';
import { startReplica } from '../../engine/run/replica.js';
import { encodeSnapshot } from '../../engine/run/snapshot.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { appendAll } from '../support/log-records.js';
import { priceHistory } from '../support/watched-histories.js';

/** A log that notes from where it is read. */
function watched(log: Log, reads: { readonly stream: Stream; readonly from: number }[]): Log {
  return {
    append: log.append.bind(log), length: log.length.bind(log), close: log.close.bind(log),
    read(stream, from, limit) {
      reads.push({ stream, from });
      return log.read(stream, from, limit);
    },
    follow(stream, from, signal) {
      reads.push({ stream, from });
      return log.follow(stream, from, signal);
    },
  };
}

describe('engine: a long history of prices', () => {
  it('is not read at a start from a snapshot, but for what came after it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prices-'));
    const log = createMemoryLog();
    const engine = createEngine();
    const commands = [...priceHistory(3_000)];
    const at = commands.length - 100;
    const outcomes = [];
    for (const [i, data] of commands.entries()) {
      if (i === at) await saveSnapshot(directory, at, encodeSnapshot(engine));
      const { text, digest } = engine.step(data);
      outcomes.push({ id: recordId(`outcome:${i}`), data: encodeOutcome(text, digest) });
    }
    await appendAll(log, 'commands', commands.map((data, i) => ({ id: recordId(`price:${i}`), data })));
    await appendAll(log, 'outcomes', outcomes);
    const reads: { stream: Stream; from: number }[] = [];
    const stop = new AbortController();
    const replica = await startReplica({ log: watched(log, reads), signal: stop.signal, snapshotDirectory: directory });
    await replica.caughtUp;
    equal(replica.view.position, commands.length);
    deepEqual(replica.view.digest, engine.digest);
    // Whether the snapshot is one of this history follows from the outcome before it.
    ok(reads.length > 0 && reads.every(({ stream, from }) => from >= (stream === 'commands' ? at : at - 1)), JSON.stringify(reads));
    stop.abort();
    await replica.done;
    await rm(directory, { recursive: true });
  });

  it('leaves nothing of a price in the engine but the newest one\'s time, and the best one of each boundary', () => {
    const [short, long] = [createEngine(), createEngine()];
    for (const data of priceHistory(901)) short.step(data);
    for (const data of priceHistory(1_800)) long.step(data);
    const difference = encodeSnapshot(long).length - encodeSnapshot(short).length;
    ok(Math.abs(difference) < 100, `${difference} bytes for 1,798 prices`);
  });
});
