/** The thread that writes a snapshot beside the engine, from a log in Postgres. */
import { deepEqual, ok, rejects } from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '../../engine/log/open-log.js';
import { encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { formatDigest } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { encodeSnapshot } from '../../engine/run/snapshot.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { snapshotThreads } from '../../engine/run/snapshot-thread.js';
import { appendAll } from '../support/log-records.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { crowd } from '../support/random-commands.js';
import { history, replay } from '../support/watched-histories.js';

const commands = history(51, crowd, 600);
const [BEFORE, POSITION] = [200, 500];
const NEVER = new AbortController().signal;

describe('engine: the thread that writes a snapshot', () => {
  let database: TestDatabase;
  let folder: string;
  const engine = replay(createEngine(), commands.slice(0, POSITION));
  const due = { position: POSITION, digest: formatDigest(engine.digest) };

  before(async () => {
    database = await testDatabase();
    const log = await openLog(database.url);
    const recorder = createEngine();
    await appendAll(log, 'commands', commands.map((data, i) => ({ id: recordId(`command ${i}`), data })));
    await appendAll(log, 'outcomes', commands.map((data, i) => {
      const { text, digest } = recorder.step(data);
      return { id: recordId(`outcome ${i}`), data: encodeOutcome(text, digest) };
    }));
    await log.close();
  });
  after(() => database.drop());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thread-'));
    await saveSnapshot(folder, BEFORE, encodeSnapshot(replay(createEngine(), commands.slice(0, BEFORE))));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const names = async () => (await readdir(folder)).sort();
  const earlier = `snapshot-${String(BEFORE).padStart(16, '0')}.bin`;
  const later = `snapshot-${String(POSITION).padStart(16, '0')}.bin`;

  it('writes what the engine would have written', async () => {
    await snapshotThreads(database.url)({ ...due, folder }, NEVER);
    deepEqual(await names(), [earlier, later]);
    ok((await readFile(join(folder, later))).equals(encodeSnapshot(engine)));
  });

  it('says why it could not, and leaves nothing', async () => {
    await rejects(snapshotThreads('postgresql://127.0.0.1:1/away')({ ...due, folder }, NEVER), /the log cannot be reached/);
    await rejects(snapshotThreads(database.url)({ ...due, folder, digest: `0x${'00'.repeat(32)}` }, NEVER), /has digest 0x0{64}/);
    deepEqual(await names(), [earlier]);
  });

  it('ends at once when it is stopped, and leaves no half of one', async () => {
    const stop = new AbortController();
    const writing = snapshotThreads(database.url)({ ...due, folder }, stop.signal);
    stop.abort(new Error('the engine stops'));
    await rejects(writing, /the engine stops/);
    deepEqual(await names(), [earlier]);
  });
});
