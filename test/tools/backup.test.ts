/** A backup has exactly the history, is refused when it is damaged or does not follow from its commands, and a restore can be interrupted. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnusableLog, type Log, type NewRecord } from '../../engine/log/log.js';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { encodeOutcome } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import { HistoryDiffers } from '../../engine/run/history-differs.js';
import { LogNotEmpty, checkBackup, restoreBackup, writeBackup } from '../../tools/backup/backup.js';
import { BadBackup } from '../../tools/backup/backup-file.js';
import { appendAll, readAll } from '../support/log-records.js';
import { crowd } from '../support/random-commands.js';
import { history } from '../support/watched-histories.js';

/** More than one append takes, of both. */
const COMMANDS = 1_300;
const OUTCOMES = 1_290;

describe('service: a backup', () => {
  let directory: string;
  let log: Log;
  let digests: readonly string[];
  let file: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'exchange-backup-'));
    file = join(directory, 'log.backup');
    log = createMemoryLog(createMemoryStore());
    const engine = createEngine();
    const commands = history(7, crowd, COMMANDS);
    const steps = commands.map((data) => engine.step(data));
    digests = steps.map(({ digest }) => digest);
    await appendAll(log, 'commands', commands.map((data) => ({ id: randomUUID(), data })));
    await appendAll(log, 'outcomes', steps.slice(0, OUTCOMES).map(({ text, digest }) => ({ id: randomUUID(), data: encodeOutcome(text, digest) })));
    assert.deepEqual(await writeBackup(log, file), { commands: COMMANDS, outcomes: OUTCOMES });
  });
  after(() => rm(directory, { recursive: true }));

  const lengthsOf = async (of: Log) => ({ commands: await of.length('commands'), outcomes: await of.length('outcomes') });
  const both = async (of: Log) => [await readAll(of, 'commands'), await readAll(of, 'outcomes')];

  it('has the history, record by record, also commands without an outcome yet', async () => {
    const other = createMemoryLog(createMemoryStore());
    const found = { commands: 0, outcomes: 0 };
    assert.deepEqual(await restoreBackup(other, file), { commands: COMMANDS, outcomes: OUTCOMES, digest: digests.at(-1), found });
    assert.deepEqual(await both(other), await both(log));
  });

  it('has what the log had when it was asked, not what came meanwhile', async () => {
    const growing = createMemoryLog(createMemoryStore());
    await restoreBackup(growing, file);
    const [first] = await readAll(growing, 'commands');
    const reads = growing.read.bind(growing);
    const appends: Log = { ...growing, read: async (...asked) => {
      await growing.append('commands', [{ id: randomUUID(), data: first!.data }]);
      return reads(...asked);
    } };
    const path = join(directory, 'growing.backup.gz');
    assert.deepEqual(await writeBackup(appends, path), { commands: COMMANDS, outcomes: OUTCOMES });
    assert.equal((await checkBackup(path)).commands, COMMANDS);
  });

  it('of a log that hides or has lost records is not written: it would take the place of a whole one', async () => {
    const store = createMemoryStore();
    await restoreBackup(createMemoryLog(store), file);
    const path = join(directory, 'kept.backup');
    await writeFile(path, 'an older, whole backup');
    const check = () => Promise.reject(new UnusableLog('commands', 'the stream was deleted'));
    const hiding: Log = { ...createMemoryLog(store), check };
    await assert.rejects(writeBackup(hiding, path), /^UnusableLog: the stream was deleted/);
    store.records.commands.splice(OUTCOMES - 10);
    const lost = /has 1280 commands and 1290 outcomes, so of the commands positions 1280 to 1289 are gone/;
    await assert.rejects(writeBackup(createMemoryLog(store), path), lost);
    assert.equal(await readFile(path, 'utf8'), 'an older, whole backup');
  });

  it('that is cut off, altered or continued is refused, and nothing of it is restored', async () => {
    const text = await readFile(file, 'utf8');
    const lines = text.split('\n');
    const damages: readonly (readonly [string, string, RegExp])[] = [
      ['cut', text.slice(0, text.length / 2), /a line is not JSON/], ['without its end', lines.slice(0, -2).join('\n'), /its end is missing/],
      ['without a line', lines.toSpliced(40, 1).join('\n'), /position 39 is missing/], ['altered', text.replace('"position":9,', '"position": 9,'), /its checksum/],
      ['without a command', lines.toSpliced(40, 1, '{"position":39}').join('\n'), /position 39 has no record/],
      ['of something else', lines.toSpliced(40, 1, 'null').join('\n'), /not a JSON object/], ['continued', `${text}{}\n`, /something follows/], ['another file', '{}\n', /does not begin as a backup/], ['empty', '', /its end is missing/],
    ];
    for (const [what, damaged, said] of damages) {
      const path = join(directory, 'damaged.backup');
      await writeFile(path, damaged);
      const other = createMemoryLog(createMemoryStore());
      await assert.rejects(restoreBackup(other, path), (error) => error instanceof BadBackup && said.test(error.message), what);
      assert.equal(await other.length('commands'), 0, what);
    }
    await writeFile(join(directory, 'damaged.backup.gz'), text);
    await assert.rejects(checkBackup(join(directory, 'damaged.backup.gz')), BadBackup);
  });

  it('whose outcomes do not follow from its commands is refused with the position', async () => {
    const forged = (await readFile(file, 'utf8')).split('\n').slice(0, -2).map((line, i) => i === 102 ? line.replace(digests[101]!, digests[100]!) : line);
    const sha256 = createHash('sha256').update(`${forged.join('\n')}\n`).digest('hex');
    const path = join(directory, 'forged.backup');
    await writeFile(path, `${forged.join('\n')}\n${JSON.stringify({ sha256 })}\n`);
    await assert.rejects(restoreBackup(createMemoryLog(createMemoryStore()), path), (error) => (
      error instanceof HistoryDiffers && error.message.startsWith('at position 101 ')));
  });

  for (const [appends, found] of [[1, { commands: 1_000, outcomes: 0 }], [3, { commands: COMMANDS, outcomes: 1_000 }]] as const) {
    it(`whose restore was interrupted after ${appends} appends is completed by another one, which sends the rest alone`, async () => {
      const other = createMemoryLog(createMemoryStore());
      let tried = 0;
      const dying: Log = { ...other, append: (...asked) => ++tried > appends ? Promise.reject(new Error('killed')) : other.append(...asked) };
      await assert.rejects(restoreBackup(dying, file), /killed/);
      assert.deepEqual(await lengthsOf(other), found);
      let sent = 0;
      const counting: Log = { ...other, append: (stream, records, at) => {
        sent += records.length;
        return other.append(stream, records, at);
      } };
      assert.deepEqual((await restoreBackup(counting, file)).found, found);
      assert.equal(sent, COMMANDS - found.commands + OUTCOMES - found.outcomes);
      assert.deepEqual(await both(other), await both(log));
      assert.deepEqual((await restoreBackup(other, file)).found, { commands: COMMANDS, outcomes: OUTCOMES }, 'a third one finds everything there');
    });
  }

  it('is not restored while somebody else writes to the log', async () => {
    const other = createMemoryLog(createMemoryStore());
    const [first] = await readAll(log, 'commands');
    let appends = 0;
    const shared: Log = { ...other, append: async (stream, records, at) => {
      if (++appends === 2) await other.append(stream, [{ id: randomUUID(), data: first!.data }]);
      return await other.append(stream, records, at);
    } };
    await assert.rejects(restoreBackup(shared, file), /^Error: another process writes to the log meanwhile: stop every process of the exchange/);
  });

  it('is not restored into a log that has anything else: the error tells how many records are there, where they differ, and what to do', async () => {
    const refused = async (other: Log, position: number): Promise<void> => {
      const there = await lengthsOf(other);
      await assert.rejects(restoreBackup(other, file), (error) => error instanceof LogNotEmpty && error.message.startsWith(
        `the log is not empty: it has ${there.commands} commands and ${there.outcomes} outcomes, which differ from ${file} from position ${position} on. `
        + 'Nothing was restored. A backup goes into an empty log: name another database in DATABASE_URL or LOG_URL'));
      assert.deepEqual(await lengthsOf(other), there, 'nothing is written');
    };
    const [first, second] = await readAll(log, 'commands');
    const [outcome] = await readAll(log, 'outcomes');
    const logOf = async (commands: readonly NewRecord[], outcomes: readonly NewRecord[] = []): Promise<Log> => {
      const made = createMemoryLog(createMemoryStore());
      await appendAll(made, 'commands', commands);
      await appendAll(made, 'outcomes', outcomes);
      return made;
    };
    await refused(await logOf([{ id: randomUUID(), data: first!.data }]), 0);
    await refused(await logOf([first!, { id: second!.id, data: first!.data }]), 1);
    await refused(await logOf([first!, second!], [{ id: outcome!.id, data: first!.data }]), 0);
    await refused(await logOf([], [outcome!]), 0);
    // An exchange has gone on with what was restored.
    const longer = await logOf([]);
    await restoreBackup(longer, file);
    await longer.append('commands', [{ id: randomUUID(), data: first!.data }]);
    await refused(longer, COMMANDS);
    const answered = await logOf([]);
    await restoreBackup(answered, file);
    await answered.append('outcomes', [{ id: randomUUID(), data: outcome!.data }]);
    await refused(answered, OUTCOMES);
  });
});
