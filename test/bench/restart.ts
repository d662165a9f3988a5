/** Restart with a million records in the log: from a snapshot, and by full replay. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Log, NewRecord } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { startReplica } from '../../engine/run/replica.js';
import { encodeSnapshot } from '../../engine/run/snapshot.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { appendAll } from '../support/log-records.js';
import { marketCommands, mix } from './engine.js';
import type { BenchLine } from './line.js';
import { logBytesOf } from './log-bytes.js';

const RECORDS = 1_000_000;
/** What is left to replay after the newest snapshot, as on average between two of them. */
const AFTER_SNAPSHOT = 100_000;
const PAGE = 2_000;

export async function restartBench(url: string): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  const log = await openLog(url);
  try {
    const opening = marketCommands();
    const bytes = await logBytesOf(url, () => (
      fill(log, { commands: [...opening, ...mix(RECORDS - opening.length)], directory, afterSnapshot: AFTER_SNAPSHOT })));
    const fromSnapshotS = await restartS(log, directory);
    const replayS = await restartS(log, undefined);
    const readS = await bareReadS(log);
    return [
      { name: `log bytes per command of a mix of orders and cancels, with its outcome`, figure: bytes / RECORDS, unit: 'bytes', target: {} },
      { name: `restart with ${RECORDS} records, snapshot ${AFTER_SNAPSHOT} records old`, figure: fromSnapshotS, unit: 's', target: { atMost: 3 } },
      {
        name: `full replay of ${RECORDS} records`, figure: RECORDS / replayS, unit: 'records/s',
        peer: { name: 'reading the commands alone', figure: RECORDS / readS }, target: { atLeast: 120_000 },
      },
    ];
  } finally {
    await log.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Writes a history as the service would have, and a snapshot of it with so many records behind it. */
export async function fill(log: Log, { commands, directory, afterSnapshot }: {
  commands: readonly Buffer[]; directory: string; afterSnapshot: number;
}): Promise<void> {
  const engine = createEngine();
  const last = commands.length - afterSnapshot;
  for (let from = 0; from < commands.length; from += PAGE) {
    const page = commands.slice(from, from + PAGE);
    const outcomes = page.map((data): NewRecord => {
      const { position, text, digest } = engine.step(data);
      return { id: recordId(`outcome:${position}`), data: encodeOutcome(text, digest) };
    });
    await appendAll(log, 'commands', page.map((data, i) => ({ id: recordId(`bench:${from + i}`), data })));
    await appendAll(log, 'outcomes', outcomes);
    if (from < last && from + PAGE >= last) await saveSnapshot(directory, engine.state.position, encodeSnapshot(engine));
  }
}

/** Seconds until an engine has caught up with the whole history. */
export async function restartS(log: Log, snapshotDirectory: string | undefined): Promise<number> {
  const start = performance.now();
  const stop = new AbortController();
  const replica = await startReplica({
    log, record: { writerId: 'bench' }, signal: stop.signal, snapshotEvery: Number.MAX_SAFE_INTEGER,
    ...snapshotDirectory === undefined ? {} : { snapshotDirectory },
  });
  await replica.caughtUp;
  const seconds = (performance.now() - start) / 1_000;
  stop.abort();
  await replica.done;
  return seconds;
}

async function bareReadS(log: Log): Promise<number> {
  const start = performance.now();
  for (let from = 0; from < RECORDS;) from += (await log.read('commands', from, 5_000)).length;
  return (performance.now() - start) / 1_000;
}
