/** A process that cannot listen: it says why, and everything that it had started has ended when it says so. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { startProcess } from '../../service/process/process.js';
import { WITHOUT_FSYNC, testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';

describe('service: a process whose port is in use', () => {
  it('rejects with what to do, and leaves no connection to its database', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-failed-start-'));
    const database = await testDatabase();
    const taken = createServer().listen(0, '127.0.0.1');
    await event(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const config = parseConfig({ PORT: String(port), DATABASE_URL: database.url, DATA_DIR: directory, LOG_LEVEL: 'silent', ...WITHOUT_FSYNC });
    const urls = { log: database.url, readModels: database.url, outbox: database.url };
    await assert.rejects(startProcess(config, { urls, chains: [] }, createLogger(config)), {
      message: `127.0.0.1:${port} is in use: stop what listens there, or set PORT to another port`,
    });
    const others = 'select count(*)::integer as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
    // A connection's process ends a moment after its client has closed it.
    for (let count = 1; count > 0;) [{ count }] = await runSql(database.url, others) as [{ count: number }];
    taken.close();
    await database.drop();
    await rm(directory, { recursive: true });
  });
});
