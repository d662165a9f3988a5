/**
 * The thread that keeps the read models up to date, with its own database connections, until a message tells it to
 * stop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openLog } from '../../engine/log/open-log.js';
import type { Report } from '../../engine/report.js';
import { projections } from '../catalogue.js';
import { removeHistory } from '../history/removal.js';
import { runProjections } from '../runner.js';
import type { ProjectionMessage, ProjectionThreadData } from './messages.js';

const { url, logUrl, keepHistoryDays } = workerData as ProjectionThreadData;
if (parentPort === null) throw new Error('this file runs as a worker thread only');
const port = parentPort;
const say = (message: ProjectionMessage): void => { port.postMessage(message); };
const stop = new AbortController();
port.once('message', () => { stop.abort(); });

void run();

const DAY_MS = 86_400_000;

async function run(): Promise<void> {
  const log = await openLog(logUrl);
  const report: Report = (...line) => { say({ kind: 'report', report: line }); };
  let removal: Promise<void> | undefined;
  let removedRows = 0;
  // With the first progress the tables are there.
  const startRemoval = async (): Promise<void> => {
    if (keepHistoryDays === undefined) return;
    await removeHistory({
      url, log, keepMs: keepHistoryDays * DAY_MS, signal: stop.signal, report,
      onRound({ horizon: { position: from }, removed }) {
        removedRows += removed;
        say({ kind: 'history', from, removedRows });
      },
    });
  };
  await runProjections({
    url, log, projections, signal: stop.signal, report,
    onProgress({ position }) {
      say({ kind: 'progress', position });
      removal ??= startRemoval();
    },
  }).done;
  await removal;
  await log.close();
  port.close();
}
