/** Processes with some of the roles each, on one database: every one does the work of its roles, answers what they serve, and nothing else. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { openReadModels } from '../../query/database.js';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { startProcess, type ExchangeProcess } from '../../service/process/process.js';
import { WITHOUT_FSYNC, testDatabase, type TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

const HASH = `0x${'ab'.repeat(32)}`;
/** A metric that a role shows, where it shows one. */
const METRICS = {
  api: 'exchange_queued_orders', projections: 'exchange_projection_lag_records', replica: 'exchange_engine_position',
} as const;

interface Answer { readonly status: number; readonly headers: Headers; readonly body: Record<string, unknown> }

const ELSEWHERE = 'another process of the service serves this endpoint';

describe('service: a process with some of the roles', () => {
  const running = new Map<string, ExchangeProcess>();
  let directory: string;
  let database: TestDatabase;
  let log: Log;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-roles-'));
    database = await testDatabase();
    log = await openLog(database.url);
  });
  after(async () => {
    for (const { stopSteps } of [...running.values()].reverse()) for (const { run } of stopSteps) await run();
    await log.close();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  async function start(roles: string): Promise<void> {
    const config = parseConfig({ ROLES: roles, PORT: '0', DATABASE_URL: database.url, DATA_DIR: join(directory, roles), LOG_LEVEL: 'silent', ...WITHOUT_FSYNC });
    const urls = { log: database.url, readModels: database.url, outbox: database.url };
    running.set(roles, await startProcess(config, { urls, chains: [] }, createLogger(config)));
  }

  async function ask(roles: string, method: string, path: string): Promise<Answer> {
    const { status, headers, text } = await fetchText(`${running.get(roles)?.url}${path}`, method);
    return { status, headers, body: text.startsWith('{') ? JSON.parse(text) as Record<string, unknown> : {} };
  }

  /** What the process says of itself: its roles, the parts that it tells of, and the metrics that it shows. */
  async function told(roles: string) {
    const { body: { roles: named, ready, reasons, ...parts } } = await ask(roles, 'GET', '/health/ready');
    const { text } = await fetchText(`${running.get(roles)?.url}/metrics`, 'GET');
    const metrics = Object.entries(METRICS).flatMap(([name, metric]) => text.includes(`# TYPE ${metric} `) ? [name] : []);
    assert.ok(Array.isArray(reasons) && typeof ready === 'boolean');
    // Every process tells these.
    const { clock, databases, disk, ...own } = parts;
    assert.ok(clock !== undefined && Array.isArray(databases) && disk !== undefined && text.includes('# TYPE exchange_clock_trusted '));
    return { roles: named, parts: Object.keys(own), metrics };
  }

  const lengths = () => Promise.all([log.length('commands'), log.length('outcomes')]);

  async function hasReadModels(): Promise<boolean> {
    const models = await openReadModels({ url: database.url, onError: () => undefined });
    return models.position().then(() => true, () => false).finally(() => models.close());
  }

  let markets: number;

  it('indexer: opens markets, and records no outcomes', async () => {
    await start('indexer');
    const [commands, outcomes] = await lengths();
    assert.deepEqual([commands > 0, outcomes, await hasReadModels()], [true, 0, false]);
    assert.deepEqual(await told('indexer'), { roles: ['indexer'], parts: ['engine', 'chains'], metrics: ['replica'] });
    markets = commands;
  });

  it('engine: records their outcomes, and makes no read models', async () => {
    await start('engine');
    await until('every command has its outcome', async () => (await lengths())[1] === markets);
    assert.equal(await hasReadModels(), false);
    assert.deepEqual(await told('engine'), { roles: ['engine'], parts: ['engine'], metrics: ['replica'] });
  });

  it('projections: makes the read models, without an engine', async () => {
    await start('projections');
    assert.equal(await hasReadModels(), true);
    assert.deepEqual(await told('projections'), { roles: ['projections'], parts: ['projections'], metrics: ['projections'] });
  });

  it('query: answers reads, without an engine', async () => {
    await start('query');
    await until('all markets are listed', async () => (await ask('query', 'GET', '/api/v1/markets')).body['count'] === markets);
    assert.deepEqual(await told('query'), { roles: ['query'], parts: ['readModels'], metrics: [] });
  });

  it('api: takes orders', async () => {
    await start('api');
    assert.equal((await ask('api', 'POST', '/api/v1/orders')).body['code'], 'unsupported_media_type');
    assert.deepEqual(await told('api'), { roles: ['api'], parts: ['engine'], metrics: ['api', 'replica'] });
  });

  it('several roles: each of them', async () => {
    await start('settlement lane');
    const { roles, metrics } = await told('settlement lane');
    assert.deepEqual({ roles, metrics }, { roles: ['lane', 'settlement'], metrics: [] });
  });

  const elsewhere: [roles: string, method: string, path: string, detail?: string][] = [
    ['query', 'POST', '/api/v1/orders', ELSEWHERE], ['query', 'DELETE', `/api/v1/orders/${HASH}`, ELSEWHERE],
    ['query', 'GET', `/api/v1/orders/${HASH}`, ELSEWHERE],
    ['api', 'GET', '/api/v1/orders', ELSEWHERE], ['api', 'GET', '/api/v1/markets', ELSEWHERE], ['api', 'GET', '/docs'],
    ['engine', 'POST', '/api/v1/orders', ELSEWHERE], ['engine', 'GET', '/api/v1/markets', ELSEWHERE], ['engine', 'GET', '/api/v1/nothing'],
  ];
  for (const [roles, method, path, detail] of elsewhere) {
    it(`${roles}: does not answer ${method} ${path}`, async () => {
      const { status, body } = await ask(roles, method, path);
      assert.deepEqual([status, body['code'], body['detail']], [404, 'not_found', detail]);
    });
  }

  for (const roles of ['api', 'query']) {
    it(`${roles}: tells all methods of a path, whichever process serves them`, async () => {
      const preflight = await ask(roles, 'OPTIONS', '/api/v1/orders');
      assert.deepEqual([preflight.status, methodsIn(preflight)], [204, ['GET', 'HEAD', 'OPTIONS', 'POST']]);
      const refused = await ask(roles, 'PUT', `/api/v1/orders/${HASH}`);
      assert.deepEqual([refused.status, methodsIn(refused)], [405, ['DELETE', 'GET', 'HEAD', 'OPTIONS']]);
    });
  }
});

function methodsIn({ headers }: Answer): string[] | undefined {
  return headers.get('allow')?.split(', ').sort();
}

async function fetchText(url: string, method: string): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(url, { method });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
