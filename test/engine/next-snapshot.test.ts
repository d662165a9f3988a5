/** A snapshot made of the one before and the log is, byte for byte, the one that the engine would have written. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { RecordsLost } from '../../engine/log/log.js';
import { encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { formatDigest } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { HistoryDiffers } from '../../engine/run/history-differs.js';
import { writeNextSnapshot } from '../../engine/run/next-snapshot.js';
import { encodeSnapshot } from '../../engine/run/snapshot.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { appendAll } from '../support/log-records.js';
import { extent } from '../support/extent.js';
import { crowd } from '../support/random-commands.js';
import { histories, history, replay } from '../support/watched-histories.js';

const LENGTH = 1_500;

/** A log with the commands, and the outcomes of as many of them as are recorded. */
async function logOf(commands: readonly Buffer[], recorded = commands.length) {
  const log = createMemoryLog();
  const engine = createEngine();
  await appendAll(log, 'commands', commands.map((data, i) => ({ id: recordId(`command ${i}`), data })));
  await appendAll(log, 'outcomes', commands.slice(0, recorded).map((data, i) => {
    const { text, digest } = engine.step(data);
    return { id: recordId(`outcome ${i}`), data: encodeOutcome(text, digest) };
  }));
  return log;
}

const nameOf = (position: number): string => `snapshot-${String(position).padStart(16, '0')}.bin`;

describe('engine: the next snapshot, made beside the engine', () => {
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'next-')); });
  afterEach(() => rm(folder, { recursive: true }));

  const written = (position: number) => readFile(join(folder, nameOf(position)));

  for (const [name, profile, create] of histories) {
    it(`is the one that the engine would have written, anywhere in the history of ${name}`, async () => {
      const commands = history(41, profile, LENGTH, create);
      const log = await logOf(commands);
      await fc.assert(fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: LENGTH }), { minLength: 2, maxLength: 5 }), async (places) => {
        await rm(folder, { recursive: true, force: true });
        const engine = createEngine();
        for (const position of places.sort((a, b) => a - b)) {
          replay(engine, commands.slice(engine.state.position, position));
          await writeNextSnapshot(log, { folder, position, digest: formatDigest(engine.digest) });
          ok((await written(position)).equals(encodeSnapshot(engine)), `of ${places.join()}, ${position} differs`);
        }
      }), { numRuns: extent({ push: 4, long: 200 }), seed: 41 });
    });
  }

  describe('with what is wrong', () => {
    const commands = history(42, crowd, 400);
    const at = (position: number) => {
      const engine = replay(createEngine(), commands.slice(0, position));
      return { bytes: encodeSnapshot(engine), due: { folder, position, digest: formatDigest(engine.digest) } };
    };

    for (const { name, spoil } of [
      { name: 'torn', spoil: (bytes: Buffer) => bytes.subarray(0, bytes.length / 2) },
      { name: 'empty', spoil: () => Buffer.alloc(0) },
      { name: 'of another history', spoil: () => encodeSnapshot(replay(createEngine(), history(43, crowd, 300))) },
    ]) {
      it(`begins before a snapshot that is ${name}`, async () => {
        const { bytes, due } = at(350);
        await saveSnapshot(folder, 200, at(200).bytes);
        await writeFile(join(folder, nameOf(300)), spoil(at(300).bytes));
        await writeNextSnapshot(await logOf(commands), due);
        ok((await written(350)).equals(bytes));
      });
    }

    it('begins before a snapshot of more than is recorded', async () => {
      const { bytes, due } = at(350);
      for (const position of [200, 300]) await saveSnapshot(folder, position, at(position).bytes);
      await writeNextSnapshot(await logOf(commands, 250), due);
      ok((await written(350)).equals(bytes));
    });

    it('writes none of another digest, nor of commands that the log has lost', async () => {
      await rejects(writeNextSnapshot(await logOf(commands), { ...at(300).due, digest: at(299).due.digest }), HistoryDiffers);
      await rejects(writeNextSnapshot(await logOf(commands.slice(0, 200)), at(300).due), RecordsLost);
      deepEqual(await readdir(folder), []);
    });

    it('two at once disturb each other in nothing', async () => {
      const log = await logOf(commands);
      const { bytes, due } = at(300);
      await Promise.all([writeNextSnapshot(log, due), writeNextSnapshot(log, at(299).due)]);
      equal((await readdir(folder)).filter((name) => !name.endsWith('.bin')).length, 0);
      ok((await written(300)).equals(bytes));
    });
  });
});
