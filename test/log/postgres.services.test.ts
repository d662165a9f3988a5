/** The log in Postgres, beside the log's contract: positions and ranges, locks, cut connections, a stopped database, earlier versions. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openPostgresLog, type PostgresLogOptions } from '../../engine/log/postgres/postgres-log.js';
import { BrokenSequence, LogUnavailable, type Log, type LogRecord, type NewRecord } from '../../engine/log/log.js';
import { startEmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { EARLIER_APPEND, EARLIER_SCHEMA } from '../support/earlier-log-schema.js';
import { appendAll, newRecord, newRecords, placed, take } from '../support/log-records.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { startProxyTo, type UrlProxy } from '../support/proxies.js';
import { until } from '../support/until.js';

const WAITING_APPEND = `
  select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%log.append%' and datname = current_database()`;

describe('log: Postgres under faults', () => {
  let database: TestDatabase;
  let proxy: UrlProxy;
  let handles: Log[];
  let raw: pg.Client;
  let direct: Log;
  let abort: AbortController;

  beforeEach(async () => {
    database = await testDatabase();
    proxy = await startProxyTo(database.url);
    handles = [];
    abort = new AbortController();
    direct = await open({ url: database.url });
    raw = new pg.Client({ connectionString: database.url });
    await raw.connect();
  });

  afterEach(async () => {
    abort.abort();
    proxy.accept();
    await raw.end();
    await Promise.all(handles.map((handle) => handle.close()));
    await proxy.close();
    await database.drop();
  });

  async function open(options: PostgresLogOptions): Promise<Log> {
    const handle = await openPostgresLog(options);
    handles.push(handle);
    return handle;
  }

  function openThroughProxy(options: Partial<PostgresLogOptions> = {}): Promise<Log> {
    return open({ url: proxy.url, ...options });
  }

  describe('an append', () => {
    const call = 'select first_position, stream_length, written from log.append_after(0::smallint, $1::uuid[], $2::bytea[], $3, $4, null, null)';
    const valuesOf = (batch: readonly NewRecord[], wanted: number, exactly: boolean) => (
      [batch.map(({ id }) => id), batch.map(({ data }) => data), wanted, exactly]);
    const answer = async (batch: readonly NewRecord[], wanted: number, exactly = false) => (
      (await raw.query<Record<string, unknown>>(call, valuesOf(batch, wanted, exactly))).rows[0]);

    it('goes where the stream ends up to 4,000 records behind its position, and is found in all of that range', async () => {
      const [near, far] = [newRecords(2), newRecords(2)];
      await appendAll(direct, 'commands', newRecords(4_000));
      assert.deepEqual(await answer(near, 0, true), { first_position: null, stream_length: '4000', written: null });
      assert.deepEqual(await answer(near, 0), { first_position: '4000', stream_length: '4002', written: true });
      assert.deepEqual(await answer(near, 0), { first_position: '4000', stream_length: '4002', written: false });
      assert.deepEqual(await answer(near, 0, true), { first_position: null, stream_length: '4002', written: null });
      assert.deepEqual(await answer(far, 1), { first_position: null, stream_length: '4002', written: null });
      assert.deepEqual(await answer(far, 5_000), { first_position: null, stream_length: '4002', written: null });
      assert.deepEqual(await answer(far, 2), { first_position: '4002', stream_length: '4004', written: true });
      assert.deepEqual(await answer(far, 1), { first_position: null, stream_length: '4004', written: null });
    });

    it('of a process that was silent for long takes one attempt more', async () => {
      const silent = await open({ url: database.url });
      await appendAll(direct, 'commands', newRecords(9_000));
      const batch = newRecords(2);
      assert.equal(await silent.append('commands', batch), 9_000);
      assert.deepEqual(await direct.read('commands', 9_000, 10), placed(9_000, batch));
    });

    it('is written once behind what it had to wait for, though the answer was lost', async () => {
      const batch = newRecords(3);
      const log = await openThroughProxy();
      await raw.query('begin');
      await raw.query(`
        select log.append_after(0::smallint, array_agg(gen_random_uuid()), array_agg('x'::bytea), 0, true, null, null) from generate_series(1, 5000)`);
      proxy.fate = (request) => {
        if (!request.includes('log_append')) return 'pass';
        proxy.fate = () => 'pass';
        return 'lose-reply';
      };
      const appended = log.append('commands', batch);
      await untilRow(WAITING_APPEND);
      await raw.query('commit');
      assert.equal(await appended, 5_000);
      assert.equal(await direct.length('commands'), 5_003);
    });

    it('rejects at once, with nothing written, when Postgres refuses the statement for good', async () => {
      await raw.query('alter table log.records add constraint refuse check (position < 1) not valid');
      await direct.append('commands', newRecords(1));
      await assert.rejects(direct.append('commands', newRecords(1)), (error: unknown) => (
        error instanceof LogUnavailable && !error.outcomeUnknown && /refuse/.test(String(error.cause))));
      assert.equal(await direct.length('commands'), 1);
    });
  });

  it('an append to a full disk is refused at once, and nothing was written', async () => {
    const log = await open({ url: database.url });
    await raw.query(`
      create function log.disk_full() returns trigger language plpgsql as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`);
    await raw.query('create trigger full_disk before insert on log.records execute function log.disk_full()');
    await assert.rejects(log.append('commands', newRecords(1)), (error: Error) => (
      error instanceof LogUnavailable && !error.outcomeUnknown && (error.cause as pg.DatabaseError).code === '53100'));
    await raw.query('drop trigger full_disk on log.records');
    assert.equal(await log.append('commands', newRecords(1)), 0);
  });

  it('a read rejects when Postgres cannot be reached', async () => {
    const log = await openThroughProxy({ attemptTimeoutMs: 500 });
    proxy.refuse();
    await assert.rejects(log.read('commands', 0, 1), (error: unknown) => error instanceof LogUnavailable && !error.outcomeUnknown);
    await assert.rejects(log.length('commands'), (error: unknown) => error instanceof LogUnavailable && !error.outcomeUnknown);
  });

  it('goes on with the data of an earlier version, beside processes that still run it', async () => {
    const earlier = await testDatabase();
    const client = new pg.Client({ connectionString: earlier.url });
    await client.connect();
    const appendEarlier = async (records: readonly NewRecord[], since: number) => (
      await client.query(EARLIER_APPEND, [0, records.map(({ id }) => id), records.map(({ data }) => data), null, since]));
    try {
      const [first, second, third, fourth] = [newRecords(2), newRecords(2), newRecords(2), newRecords(2)];
      await client.query(EARLIER_SCHEMA);
      await appendEarlier(first, 0);
      const log = await openPostgresLog({ url: earlier.url });
      assert.equal(await log.append('commands', second), 2);
      await appendEarlier(third, 2);
      await appendEarlier(third, 2);
      assert.equal(await log.append('commands', fourth), 6);
      assert.deepEqual(await log.read('commands', 0, 10), placed(0, [...first, ...second, ...third, ...fourth]));
      await log.close();
    } finally {
      await client.end();
      await earlier.drop();
    }
  });

  describe('a follower', () => {
    const follow = (log: Log, from = 0) => log.follow('commands', from, abort.signal);

    it('never passes a record whose transaction commits late, though a later one waits behind it', async () => {
      const [late, next] = newRecords(2);
      const followed = take(follow(direct), 2);
      await raw.query('begin');
      const placedLate = await raw.query('select first_position, stream_length, written from log.append_after(0::smallint, array[$1]::uuid[], array[$2]::bytea[], 0, false, null, null)', [late!.id, late!.data]);
      assert.deepEqual(placedLate.rows, [{ first_position: '0', stream_length: '1', written: true }]);
      const writer = await open({ url: database.url });
      const appended = writer.append('commands', [next!]);
      await untilRow(WAITING_APPEND);
      assert.deepEqual(await direct.read('commands', 0, 10), []);
      await raw.query('commit');
      assert.equal(await appended, 1);
      assert.deepEqual(await followed, placed(0, [late!, next!]));
    });

    it('sees no gap when such a transaction is rolled back', async () => {
      const [gone, next] = newRecords(2);
      const followed = take(follow(direct), 1);
      await raw.query('begin');
      await raw.query('select first_position, stream_length, written from log.append_after(0::smallint, array[$1]::uuid[], array[$2]::bytea[], 0, false, null, null)', [gone!.id, gone!.data]);
      const appended = direct.append('commands', [next!]);
      await raw.query('rollback');
      assert.equal(await appended, 0);
      assert.deepEqual(await followed, placed(0, [next!]));
    });

    it('finds records without a notification', async () => {
      const record = newRecord();
      const log = await open({ url: database.url, pollMs: 50 });
      const followed = take(follow(log), 1);
      await raw.query('select log.append_after(0::smallint, array[$1]::uuid[], array[$2]::bytea[], 0, false, null, null)', [record.id, record.data]);
      assert.deepEqual(await followed, placed(0, [record]));
    });

    it('gets what other handles append by their announcements, not by polling', async () => {
      const log = await open({ url: database.url, pollMs: 3_600_000 });
      const records = newRecords(6);
      const batches = follow(log)[Symbol.asyncIterator]();
      const next = async (): Promise<readonly LogRecord[]> => (await batches.next()).value as LogRecord[];
      const first = next();
      await untilRow('select 1 from pg_stat_activity where query ilike \'listen%\' and datname = current_database()');
      // The first one may come by the look that follows a new connection; all the others need an announcement.
      await direct.append('commands', records.slice(0, 1));
      assert.deepEqual(await first, placed(0, records.slice(0, 1)));
      for (let i = 1; i < records.length; i++) {
        await direct.append('commands', [records[i]!]);
        assert.deepEqual(await next(), placed(i, [records[i]!]));
      }
    });

    it('goes on when its connections are terminated, without waiting for a poll', async () => {
      const records = newRecords(6);
      const log = await open({ url: database.url, pollMs: 3_600_000 });
      const seen: LogRecord[] = [];
      const batches = follow(log)[Symbol.asyncIterator]();
      for (let i = 0; i < records.length; i++) {
        await direct.append('commands', [records[i]!]);
        while (seen.length <= i) seen.push(...(await batches.next()).value as LogRecord[]);
        await raw.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name like \'log %\' and datname = current_database()');
      }
      assert.deepEqual(seen, placed(0, records));
    });

    it('stops at a gap: it skips nothing', async () => {
      await direct.append('commands', newRecords(5));
      await raw.query('delete from log.records where position = 2');
      const log = await open({ url: database.url });
      await assert.rejects(take(follow(log), 5), BrokenSequence);
      await assert.rejects(log.read('commands', 2, 2), BrokenSequence);
    });
  });

  it('makes its schema once when several processes start at the same time', async () => {
    const empty = await testDatabase();
    try {
      const logs = await Promise.all([1, 2, 3, 4, 5].map(() => open({ url: empty.url })));
      const positions = await Promise.all(logs.map((log) => log.append('commands', newRecords(1))));
      assert.deepEqual(positions.sort(), [0, 1, 2, 3, 4]);
      await Promise.all(logs.map((log) => log.close()));
    } finally {
      await empty.drop();
    }
  });

  it('opens with a clear error when it cannot', async () => {
    await assert.rejects(openPostgresLog({ url: database.url.replace(/:[0-9a-f]+@/, ':wrong@') }), /password authentication failed/);
    await assert.rejects(openPostgresLog({ url: 'postgresql://postgres@127.0.0.1:1/none' }), LogUnavailable);
  });

  /** On a connection of its own: inside a transaction Postgres shows one and the same moment's activity. */
  async function untilRow(sql: string): Promise<void> {
    await until(`a row of ${sql}`, async () => (await runSql(database.url, sql)).length > 0);
  }
});

describe('log: Postgres stopped and started', () => {
  it('appends and follows on, each record once', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-outage-'));
    let server = await startEmbeddedPostgres({ directory, log: () => undefined });
    try {
      const port = Number(new URL(server.url).port);
      const log = await openPostgresLog({ url: server.url });
      const abort = new AbortController();
      const records = newRecords(30);
      const followed = take(log.follow('commands', 0, abort.signal), records.length);
      const appended = Promise.all(records.map((record) => log.append('commands', [record])));
      await log.append('outcomes', newRecords(1));
      await server.stop();
      const during = log.append('outcomes', newRecords(1));
      server = await startEmbeddedPostgres({ directory, port, log: () => undefined });
      assert.deepEqual(await appended, records.map((_, i) => i));
      assert.equal(await during, 1);
      assert.deepEqual(await followed, placed(0, records));
      assert.deepEqual(await log.read('commands', 0, 100), placed(0, records));
      abort.abort();
      await log.close();
    } finally {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
