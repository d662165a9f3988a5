/**
 * Query processes on a real hot standby, of an exchange whose user owns its database, may create roles and is no superuser: reads of one's own
 * writes, reads that are cancelled, a standby that is away, roles that cannot work on one, and its promotion.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet, id } from 'ethers';
import type pg from 'pg';
import { LogUnavailable } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { openReadModels } from '../../query/database.js';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { startProcess, type ExchangeProcess } from '../../service/process/process.js';
import type { Urls } from '../../service/process/shared-parts.js';
import { documentedClient, type DocumentedClient } from '../support/documented-client.js';
import { signedBody, signingOf, type ListedMarket, type SigningConfig } from '../harness/exchange.js';
import { newRecord, take } from '../support/log-records.js';
import { WITHOUT_FSYNC } from '../support/postgres.js';
import { onDatabase } from '../support/sql.js';
import { startReplicatedPostgres, type ReplicatedPostgres } from '../support/replicated-postgres.js';
import { until } from '../support/until.js';

type Line = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string };

const trader = new Wallet(id('standby: trader'));
const ON_STANDBY = /^the read models are on a standby: /;

describe('an exchange with a standby', function () {
  this.timeout(120_000);
  const running: ExchangeProcess[] = [];
  let directory: string;
  let postgres: ReplicatedPostgres;
  let admin: (sql: string) => Promise<pg.QueryResult>;
  let exchange: DocumentedClient;
  /** Has both of its URLs on the standby. */
  let query: DocumentedClient;
  const told: Line[] = [];
  let orders = 0;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-on-standby-'));
    // A read that is in the way of what the standby replays is cancelled at once.
    postgres = await startReplicatedPostgres({ max_standby_streaming_delay: '0' });
    admin = (sql) => onDatabase(postgres.standbyAdmin, (client) => client.query(sql));
  });
  after(async () => {
    for (const { stopSteps } of running.reverse()) for (const { run } of stopSteps) await run();
    await postgres.stop();
    await rm(directory, { recursive: true });
  });

  /** A process with these roles, all by default. `heard` gets its log lines. */
  async function start(urls: Pick<Urls, 'log' | 'readModels' | 'reads'>, roles = '', heard: Line[] = []): Promise<DocumentedClient> {
    const config = parseConfig({ ROLES: roles, PORT: '0', DATABASE_URL: urls.readModels, DATA_DIR: join(directory, roles), LOG_LEVEL: 'info', ...WITHOUT_FSYNC });
    const logger = createLogger(config, { write: (line: string) => { heard.push(JSON.parse(line) as Line); } });
    const started = await startProcess(config, { urls: { ...urls, outbox: postgres.primary }, chains: [] }, logger);
    running.push(started);
    return documentedClient(started.url);
  }

  /** Places one more order, through the primary. Returns its position. */
  async function place(): Promise<number> {
    const config = await exchange.get('/api/v1/config') as unknown as SigningConfig;
    const { markets: [market] } = await exchange.get('/api/v1/markets', 1) as { markets: ListedMarket[] };
    const body = await signedBody(signingOf(config), trader, { marketId: market!.id, nonce: ++orders });
    const { status, position, text } = await exchange.request('POST', '/api/v1/orders', { body });
    assert.equal(status, 200, text);
    return position;
  }

  async function readsOwnWrite(): Promise<void> {
    const position = await place();
    assert.equal((await query.get(`/api/v1/orders?trader=${trader.address}`, position))['count'], orders);
  }

  it('starts with a user who may create roles, and reads as query_reader', async () => {
    const heard: Line[] = [];
    exchange = await start({ log: postgres.primary, readModels: postgres.primary }, '', heard);
    const [unsafe, ...others] = heard.filter(({ level }) => level !== 'info');
    assert.match(unsafe!.msg, /has fsync off/);
    assert.deepEqual(others, []);
    const db = await openReadModels({ url: postgres.primary });
    assert.deepEqual(await db.rows({ name: 'me', text: 'select current_user as me' }, []), [{ me: 'query_reader' }]);
    await db.close();
  });

  it('has a query process on the standby, which becomes ready, and tells once what it is on', async () => {
    query = await start({ log: postgres.standby, readModels: postgres.standby }, 'query', told);
    await until('it is ready', async () => (await query.request('GET', '/health/ready')).status === 200);
    await until('it tells that', () => told.some(({ msg }) => ON_STANDBY.test(msg)));
  });

  it('answers reads of one\'s own writes there, and the history', async () => {
    for (let i = 0; i < 3; i++) await readsOwnWrite();
    const { events } = await query.get('/api/v1/events?from=0&limit=5') as { events: unknown[] };
    assert.equal(events.length, 5);
  });

  it('repeats a read that the standby has cancelled for what it replays', async () => {
    await onDatabase(postgres.primary, (client) => client.query('create table read_models.rain (n integer)'));
    const errors: string[] = [];
    const db = await openReadModels({ url: postgres.standby, statementTimeoutMs: 60_000, onError: ({ message }) => { errors.push(message); } });
    const rows = (text: string) => db.rows<{ n: number }>({ name: text.slice(0, 20), text }, []);
    await until('the table is there', () => rows('select n from rain').catch(() => undefined));
    const reading = rows('select (select count(*)::integer from rain) as n, case when not exists (select from rain) then pg_sleep(60) end');
    const isReading = `select from pg_stat_activity where wait_event = 'PgSleep'`;
    await until('the read is under way', async () => (await admin(isReading)).rowCount === 1);
    await onDatabase(postgres.primary, (client) => client.query('begin; lock table read_models.rain; insert into read_models.rain values (7); commit'));
    assert.equal((await reading)[0]?.n, 1);
    assert.equal((await admin('select from pg_stat_database_conflicts where datname = current_database() and confl_lock > 0')).rowCount, 1);
    assert.deepEqual(errors.filter((error) => error !== 'relation "rain" does not exist'), []);
    await db.close();
  });

  it('follows the log there, and cannot append', async () => {
    const log = await openLog(postgres.standby, { unknownAfterMs: 100 });
    const ending = new AbortController();
    const end = await log.length('commands');
    const followed = take(log.follow('commands', end, ending.signal), 1);
    const position = await place();
    assert.deepEqual((await followed).map((record) => record.position), [end]);
    assert.ok(position >= end);
    await assert.rejects(log.append('commands', [newRecord()]), LogUnavailable);
    ending.abort();
    await log.close();
  });

  it('refuses to start roles there that need the primary, and serves their reads from there', async () => {
    const needs = (setting: string, who: string) => new RegExp(`^the Postgres of ${setting} \\(127\\.0\\.0\\.1:\\d+/exchange\\) is a standby, which .*, and the ${who} the primary there: `);
    await assert.rejects(start({ log: postgres.standby, readModels: postgres.primary }, 'query api engine'),
      { name: 'CannotStart', hopeless: false, message: needs('LOG_URL', 'roles engine, api need') });
    await assert.rejects(start({ log: postgres.primary, readModels: postgres.standby }, 'projections'), { message: needs('DATABASE_URL', 'role projections needs') });
    const api = await start({ log: postgres.primary, readModels: postgres.primary, reads: postgres.standby }, 'api');
    const position = await place();
    assert.equal((await api.request('GET', `/api/v1/orders/0x${'00'.repeat(32)}`, { headers: { 'X-Min-Log-Position': String(position) } })).status, 404);
  });

  it('refuses reads with 503 while the standby is away, tells that once, and goes on by itself', async () => {
    await postgres.stopStandby();
    for (let i = 0; i < 20; i++) await query.refused('unavailable', 'GET', '/api/v1/markets');
    assert.equal((await query.request('GET', '/health/ready')).status, 503);
    await place();
    await postgres.startStandby();
    await until('reads are answered', async () => (await query.request('GET', '/api/v1/markets')).status === 200);
    await readsOwnWrite();
  });

  it('listens once the standby has been promoted', async () => {
    const log = await openLog(postgres.standby);
    const ending = new AbortController();
    const follower = take(log.follow('commands', 0, ending.signal), Infinity, { exactly: false });
    await admin('select pg_promote()');
    for (const [channel, sessions] of [['read_models', 2], ['prediction_exchange_log', 1]] as const) {
      await until(`${sessions} sessions listen to ${channel}`, async () => (
        (await admin(`select from pg_stat_activity where query = 'listen ${channel}'`)).rowCount === sessions));
    }
    await query.get('/api/v1/markets', 1);
    ending.abort();
    await follower;
    await log.close();
  });

  it('has told nothing twice', () => {
    const texts = told.map((line) => JSON.stringify({ ...line, at: '' }));
    assert.deepEqual(texts.filter((text, i) => texts.indexOf(text) !== i), []);
    assert.equal(told.filter(({ msg }) => ON_STANDBY.test(msg)).length, 1);
    assert.equal(told.filter(({ msg }) => msg === 'the read models are on a standby no more').length, 1);
  });
});
