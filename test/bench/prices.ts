/** What prices cost: their bytes in the log, a replay of them, and a restart from a snapshot that has them behind it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeOutcome, recordId } from '../../engine/records/codec.js';
import type { Log, NewRecord } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { createEngine } from '../../engine/run/engine.js';
import { encodeSnapshot } from '../../engine/run/snapshot.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { appendAll } from '../support/log-records.js';
import { priceHistory } from '../support/price-history.js';
import type { BenchLine } from './line.js';
import { logBytesOf } from './log-bytes.js';
import { restartS } from './restart.js';

/** Two prices each. */
const SECONDS = 100_000;
/** What is left to replay after the newest snapshot. */
const AFTER_SNAPSHOT = 10_000;
const PAGE = 2_000;

export async function pricesBench(url: string): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  const log = await openLog(url);
  try {
    let records = 0;
    const perPrice = await logBytesOf(url, async () => { records = await fill(log, directory); }) / (2 * SECONDS);
    const fromSnapshotS = await restartS(log, directory);
    const replayS = await restartS(log, undefined);
    return [
      { name: `log bytes per price: its command and its outcome, with their share of ${records - 2 * SECONDS} other records`, figure: perPrice, unit: 'bytes', target: {} },
      { name: `full replay of ${records} records, most of them prices`, figure: records / replayS, unit: 'records/s', target: {} },
      {
        name: `restart with ${records} records, most of them prices, snapshot ${AFTER_SNAPSHOT} records old`, figure: fromSnapshotS, unit: 's',
        peer: { name: 'the full replay', figure: replayS }, target: { atMost: 3 },
      },
    ];
  } finally {
    await log.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Writes the history and a snapshot of it; returns the number of commands. */
async function fill(log: Log, directory: string): Promise<number> {
  const engine = createEngine();
  const commands = [...priceHistory(SECONDS)];
  for (let from = 0; from < commands.length; from += PAGE) {
    const page = commands.slice(from, from + PAGE);
    const outcomes = page.map((data): NewRecord => {
      const { position, text, digest } = engine.step(data);
      return { id: recordId(`outcome:${position}`), data: encodeOutcome(text, digest) };
    });
    await appendAll(log, 'commands', page.map((data, i) => ({ id: recordId(`bench:${from + i}`), data })));
    await appendAll(log, 'outcomes', outcomes);
    const isBeforeSnapshot = from + PAGE < commands.length - AFTER_SNAPSHOT;
    if (!isBeforeSnapshot && from < commands.length - AFTER_SNAPSHOT) await saveSnapshot(directory, engine.state.position, encodeSnapshot(engine));
  }
  return commands.length;
}
