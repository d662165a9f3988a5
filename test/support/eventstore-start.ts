/** The start of a process whose log is in EventStoreDB, as far as it waits for that: what it says, and whether it goes on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { waitForDatabases } from '../../service/process/database-waits.js';
import { createWaits } from '../../service/process/waits.js';
import { until } from './until.js';

export interface Starting {
  /** Resolves once the process can go on. */
  readonly reached: Promise<void>;
  /** Why the process cannot start, or what it waits for. Gives up the start. */
  said(): Promise<string>;
}

export function startOn(url: string): Starting {
  const ending = new AbortController();
  const waits = createWaits({ logger: createLogger(parseConfig({}), { write: () => undefined }), signal: ending.signal });
  const reached = waitForDatabases({ urls: { log: url, readModels: '', outbox: '' }, roles: new Set(['engine']), waits });
  const ended = reached.then(() => 'it can start', (error: unknown) => (error as Error).message);
  return {
    reached,
    async said(): Promise<string> {
      const text = await until('what the start waits for, or its end', () => Promise.race([ended, sleep(20).then(() => waits.reasons()[0])]));
      ending.abort(new Error('the test has seen enough'));
      await ended;
      return text;
    },
  };
}
