/**
 * The thread that keeps the read models up to date, with its own database connections, until a message tells it to
 * stop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openLog } from '../../engine/log/open-log.js';
import { projections } from '../catalogue.js';
import { runProjections } from '../runner.js';
import type { ProjectionMessage, ProjectionThreadData } from './messages.js';

const { url, logUrl } = workerData as ProjectionThreadData;
if (parentPort === null) throw new Error('this file runs as a worker thread only');
const port = parentPort;
const say = (message: ProjectionMessage): void => { port.postMessage(message); };
const stop = new AbortController();
port.once('message', () => { stop.abort(); });

void run();

async function run(): Promise<void> {
  const log = await openLog(logUrl);
  await runProjections({
    url, log, projections, signal: stop.signal,
    onProgress: ({ position }) => { say({ kind: 'progress', position }); },
    report: (...report) => { say({ kind: 'report', report }); },
  }).done;
  await log.close();
  port.close();
}
