/** What prices cost: their bytes in the log, a replay of them, and a restart from a snapshot that has them behind it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '../../engine/log/open-log.js';
import { priceHistory } from '../support/watched-histories.js';
import type { BenchLine } from './line.js';
import { logBytesOf } from './log-bytes.js';
import { fill, restartS } from './restart.js';

/** Two prices each. */
const SECONDS = 100_000;
/** What is left to replay after the newest snapshot. */
const AFTER_SNAPSHOT = 10_000;

export async function pricesBench(url: string): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  const log = await openLog(url);
  try {
    const history = [...priceHistory(SECONDS)];
    const perPrice = await logBytesOf(url, () => (
      fill(log, { commands: history, snapshotAt: history.length - AFTER_SNAPSHOT, directory }))) / (2 * SECONDS);
    const records = await log.length('commands');
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
