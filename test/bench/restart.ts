/** Restart with a million records in the log, or so many as `--records` says: from a snapshot, and by full replay. */
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
import { marketCommands, mixed } from './engine.js';
import type { BenchLine } from './line.js';
import { logBytesOf } from './log-bytes.js';

/** What is left to replay after the newest snapshot, as on average between two of them. */
const AFTER_SNAPSHOT = 100_000;
const PAGE = 2_000;

export async function restartBench(url: string, records = 1_000_000): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  const log = await openLog(url);
  try {
    const opening = marketCommands();
    const bytes = await logBytesOf(url, () => (
      fill(log, { commands: inTurn(opening, mixed(records - opening.length)), snapshotAt: records - AFTER_SNAPSHOT, directory })));
    const fromSnapshotS = await restartS(log, directory);
    const replayS = await restartS(log, undefined);
    const readS = await bareReadS(log, records);
    return [
      { name: `log bytes per command of a mix of orders and cancels, with its outcome`, figure: bytes / records, unit: 'bytes', target: {} },
      { name: `restart with ${records} records, snapshot ${AFTER_SNAPSHOT} records old`, figure: fromSnapshotS, unit: 's', target: { atMost: 3 } },
      {
        name: `full replay of ${records} records`, figure: records / replayS, unit: 'records/s',
        peer: { name: 'reading the commands alone', figure: records / readS }, target: { atLeast: 120_000 },
      },
    ];
  } finally {
    await log.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Writes a history as the service would have, and a snapshot of it with so many of its records in it, to a page. */
export async function fill(log: Log, { commands, snapshotAt, directory }: {
  commands: Iterable<Buffer>; snapshotAt: number; directory: string;
}): Promise<void> {
  const engine = createEngine();
  let isTaken = false;
  for (const page of pagesOf(commands)) {
    const from = engine.state.position;
    const outcomes = page.map((data): NewRecord => {
      const { position, text, digest } = engine.step(data);
      return { id: recordId(`outcome:${position}`), data: encodeOutcome(text, digest) };
    });
    await appendAll(log, 'commands', page.map((data, i) => ({ id: recordId(`bench:${from + i}`), data })));
    await appendAll(log, 'outcomes', outcomes);
    if (isTaken || engine.state.position < snapshotAt) continue;
    isTaken = true;
    await saveSnapshot(directory, engine.state.position, encodeSnapshot(engine));
  }
}

function* inTurn<T>(...all: readonly Iterable<T>[]): Generator<T> {
  for (const each of all) yield* each;
}

function* pagesOf<T>(all: Iterable<T>): Generator<T[]> {
  let page: T[] = [];
  for (const each of all) {
    if (page.push(each) < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
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

async function bareReadS(log: Log, records: number): Promise<number> {
  const start = performance.now();
  for (let from = 0; from < records;) from += (await log.read('commands', from, 5_000)).length;
  return (performance.now() - start) / 1_000;
}
