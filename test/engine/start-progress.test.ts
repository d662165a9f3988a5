/** A replica tells how far it has read a long history. */
import { deepEqual } from 'node:assert/strict';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { recordId } from '../../engine/run/new-record.js';
import { startReplica } from '../../engine/run/replica.js';
import { appendAll } from '../support/log-records.js';
import { crowd } from '../support/random-commands.js';
import { history } from '../support/watched-histories.js';

describe('replica: a start through a long history', () => {
  for (const { progressEvery, told } of [
    { progressEvery: 1, told: [{ position: 300, commands: 300 }] },
    { progressEvery: 301, told: [] },
  ]) {
    it(`is told once per ${progressEvery} commands at most`, async () => {
      const log = createMemoryLog();
      await appendAll(log, 'commands', history(61, crowd, 300).map((data, i) => ({ id: recordId(`command ${i}`), data })));
      const stop = new AbortController();
      const reports: unknown[] = [];
      const replica = await startReplica({
        log, signal: stop.signal, progressEvery,
        report: (message, details) => { if (message === 'replica reads the history') reports.push(details); },
      });
      await replica.caughtUp.finally(() => { stop.abort(); });
      await replica.done;
      deepEqual(reports.slice(-1), told);
    });
  }
});
