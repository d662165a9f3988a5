/** The thread that keeps the read models: its own connections, told to stop by a message. */
import { parentPort, workerData } from 'node:worker_threads';
import { openLog } from '../../engine/log/open-log.js';
import { projections } from '../../projections/catalogue.js';
import { runProjections } from '../../projections/runner.js';
import type { ProjectionMessage, ProjectionThreadData } from './projection-messages.js';

const { url } = workerData as ProjectionThreadData;
const port = parentPort!;
const say = (message: ProjectionMessage): void => { port.postMessage(message); };
const stop = new AbortController();
port.once('message', () => { stop.abort(); });

const log = await openLog(url);
await runProjections({
  url, log, projections, signal: stop.signal,
  onProgress: ({ positions }) => { say({ kind: 'progress', positions }); },
  onTrouble: (error) => { say({ kind: 'trouble', message: error.message }); },
}).done;
await log.close();
port.close();
