/** The thread that writes one snapshot, with its own connections to the log, and ends. */
import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { openLog } from '../log/open-log.js';
import { writeNextSnapshot } from './next-snapshot.js';
import type { SnapshotThreadData } from './snapshot-thread.js';

/** Linux gives each thread a priority of its own: nobody waits for a snapshot, so orders come first. */
const LOW_PRIORITY = 10;
if (process.platform === 'linux') setPriority(LOW_PRIORITY);

const { logUrl, ...due } = workerData as SnapshotThreadData;
void run();

async function run(): Promise<void> {
  const log = await openLog(logUrl);
  try {
    await writeNextSnapshot(log, due);
  } finally {
    await log.close();
  }
}
