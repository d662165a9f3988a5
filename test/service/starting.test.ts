/** A process that has just begun to start: it is not ready, also before it knows that something is missing. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { openProcess } from '../../service/process/process.js';

describe('service: a process that starts', () => {
  it('is not ready while a database has neither answered nor refused, and refuses what needs its roles', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-starting-'));
    const sockets: Socket[] = [];
    const silent = createServer((socket) => { sockets.push(socket); }).listen(0, '127.0.0.1');
    await event(silent, 'listening');
    const url = `postgresql://127.0.0.1:${(silent.address() as AddressInfo).port}/exchange`;
    const config = parseConfig({ PORT: '0', DATABASE_URL: url, DATA_DIR: directory, LOG_LEVEL: 'silent', ROLES: 'engine' });
    const asked = event(silent, 'connection');
    const exchange = await openProcess({
      config, resources: { urls: { log: url, readModels: url, outbox: url }, chains: [] }, logger: createLogger(config),
      graceMs: 0,
    });
    exchange.started.catch(() => undefined);
    await asked;
    const response = await fetch(`${exchange.url}/health/ready`);
    assert.deepEqual({ status: response.status, body: await response.json() }, {
      status: 503, body: { ready: false, roles: ['engine'], reasons: ['the process is starting'] },
    });
    const refused = await fetch(`${exchange.url}/api/v1/config`);
    const { code, error } = await refused.json() as { readonly code: string; readonly error: string };
    assert.deepEqual([refused.status, code], [503, 'unavailable']);
    assert.match(error, /the process is starting: \/health\/ready says what it waits for/);
    for (const socket of sockets) socket.destroy();
    for (const { run } of exchange.stopSteps) await run();
    silent.close();
    await rm(directory, { recursive: true });
  });
});
