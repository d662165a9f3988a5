/** The Postgres log under faults: lost answers, late attempts, cut connections, a stopped database; each record exactly once. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openPostgresLog, type PostgresLogOptions } from '../../engine/log/postgres/postgres-log.js';
import { MAX_APPEND_RECORDS } from '../../engine/log/append-check.js';
import { BrokenSequence, LogUnavailable, type Log, type LogRecord } from '../../engine/log/log.js';
import { startEmbeddedPostgres } from '../../service/embedded/embedded-postgres.js';
import { newRecord, newRecords, placed, take } from '../support/log-records.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

const WAITING_APPEND = `
  select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%log.append%' and datname = current_database()`;

describe('log: Postgres under faults', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let handles: Log[];
  let raw: pg.Client;
  let direct: Log;
  let abort: AbortController;

  beforeEach(async () => {
    database = await testDatabase();
    const { hostname, port } = new URL(database.url);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
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
    const url = new URL(database.url);
    url.port = String(proxy.port);
    return open({ url: url.href, ...options });
  }

  /** Gives the next request that carries an append this fate, and lets all others pass. */
  function nextAppend(fate: 'cut' | 'lose-reply' | 'withhold'): void {
    proxy.fate = (request) => {
      if (!request.includes('log_append')) return 'pass';
      proxy.fate = () => 'pass';
      return fate;
    };
  }

  describe('an append whose connection breaks', () => {
    for (const expected of [undefined, 1]) {
      const with_ = expected === undefined ? 'without expected' : 'with expected';

      it(`finds what it wrote when the answer was lost, others behind it (${with_})`, async () => {
        const [before, other] = newRecords(2);
        const batch = newRecords(3);
        const log = await openThroughProxy();
        await log.append('commands', [before!]);
        proxy.replied = async () => { await direct.append('commands', [other!]); };
        nextAppend('lose-reply');
        assert.equal(await log.append('commands', batch, expected), 1);
        assert.deepEqual(await direct.read('commands', 0, 10), placed(0, [before!, ...batch, other!]));
      });

      it(`writes once when the request was lost (${with_})`, async () => {
        const [before] = newRecords(1);
        const batch = newRecords(3);
        const log = await openThroughProxy();
        await log.append('commands', [before!]);
        nextAppend('cut');
        assert.equal(await log.append('commands', batch, expected), 1);
        assert.deepEqual(await direct.read('commands', 0, 10), placed(0, [before!, ...batch]));
      });

      it(`writes once when the first attempt arrives after its retry (${with_})`, async () => {
        const [before, after] = newRecords(2);
        const batch = newRecords(3);
        const log = await openThroughProxy({ attemptTimeoutMs: 200 });
        await log.append('commands', [before!]);
        nextAppend('withhold');
        assert.equal(await log.append('commands', batch, expected), 1);
        await log.append('commands', [after!]);
        await proxy.release();
        assert.deepEqual(await direct.read('commands', 0, 10), placed(0, [before!, ...batch, after!]));
      });
    }

    it('says that the outcome is unknown when it could not be learnt, and a later try with the same records finds them', async () => {
      const [before, between, other] = newRecords(3);
      const batch = newRecords(2);
      const log = await openThroughProxy({ unknownAfterMs: 300 });
      await log.append('commands', [before!]);
      proxy.replied = async () => { proxy.refuse(); };
      nextAppend('lose-reply');
      await assert.rejects(log.append('commands', batch), (error: unknown) => error instanceof LogUnavailable && error.outcomeUnknown);
      proxy.accept();
      await direct.append('commands', [other!]);
      assert.equal(await log.append('commands', [between!]), 4);
      assert.equal(await log.append('commands', batch), 1);
      assert.deepEqual(await direct.read('commands', 0, 10), placed(0, [before!, ...batch, other!, between!]));
    });

    for (const expected of [undefined, 0]) {
      const with_ = expected === undefined ? 'without expected' : 'with expected';

      it(`leaves the stored bytes to followers when a later try with the same ids has others (${with_})`, async () => {
        const batch = newRecords(2);
        const log = await openThroughProxy({ unknownAfterMs: 300, pollMs: 3_600_000 });
        const followed = take(log.follow('commands', 0, abort.signal), 3);
        proxy.replied = async () => { proxy.refuse(); };
        nextAppend('lose-reply');
        await assert.rejects(log.append('commands', batch, expected), (error: unknown) => error instanceof LogUnavailable && error.outcomeUnknown);
        proxy.accept();
        const [after] = newRecords(1);
        assert.equal(await log.append('commands', batch.map(({ id }) => ({ id, data: Buffer.from('other') })), expected), 0);
        assert.equal(await log.append('commands', [after!]), 2);
        assert.deepEqual(await followed, placed(0, [...batch, after!]));
        assert.deepEqual(await take(log.follow('commands', 0, abort.signal), 3), placed(0, [...batch, after!]));
      });
    }

    it('leaves the stored bytes to followers when another process has written the same ids', async () => {
      const log = await open({ url: database.url });
      const [stored] = newRecords(1);
      await direct.append('commands', [stored!]);
      assert.equal(await log.append('commands', [{ id: stored!.id, data: Buffer.from('other') }]), 0);
      assert.deepEqual(await take(log.follow('commands', 0, abort.signal), 1), placed(0, [stored!]));
    });

    describe('and others write more than one search looks through', () => {
      const many = newRecords(MAX_APPEND_RECORDS);
      const writeMany = async (): Promise<void> => {
        for (let i = 0; i < 2; i++) await direct.append('commands', many.map(({ data }) => newRecord(data)));
        await direct.append('commands', newRecords(3));
      };
      const length = 2 * MAX_APPEND_RECORDS + 3;

      it('finds what it wrote before them', async () => {
        const batch = newRecords(3);
        const log = await openThroughProxy();
        proxy.replied = writeMany;
        nextAppend('lose-reply');
        assert.equal(await log.append('commands', batch), 0);
        assert.equal(await direct.length('commands'), length + 3);
      });

      it('finds what it wrote behind them, after it had waited for them', async () => {
        const batch = newRecords(3);
        const log = await openThroughProxy();
        await raw.query('begin');
        await raw.query(`
          select log.append_once(0::smallint, array_agg(gen_random_uuid()), array_agg('x'::bytea), null, 0) from generate_series(0, $1)`, [MAX_APPEND_RECORDS]);
        nextAppend('lose-reply');
        const appended = log.append('commands', batch);
        await untilRow(WAITING_APPEND);
        await raw.query('commit');
        assert.equal(await appended, MAX_APPEND_RECORDS + 1);
        assert.equal(await direct.length('commands'), MAX_APPEND_RECORDS + 4);
      });

      it('writes once behind them when the request was lost', async () => {
        const batch = newRecords(3);
        const log = await openThroughProxy();
        const lost = new Promise<void>((resolve) => {
          proxy.fate = (request) => {
            if (!request.includes('log_append')) return 'pass';
            proxy.fate = () => 'pass';
            proxy.refuse();
            resolve();
            return 'cut';
          };
        });
        const appended = log.append('commands', batch);
        await lost;
        await writeMany();
        proxy.accept();
        assert.equal(await appended, length);
        assert.equal(await direct.length('commands'), length + 3);
        assert.deepEqual(await direct.read('commands', length, 10), placed(length, batch));
      });
    });

    it('does not wait for the lock to search, and does not search what was there before it was first sent', async () => {
      const silent = await open({ url: database.url });
      const batch = newRecords(2);
      const call = 'select * from log.append_once(0::smallint, $1::uuid[], $2::bytea[], null, 0)';
      const values = [batch.map(({ id }) => id), batch.map(({ data }) => data)];
      await direct.append('commands', newRecords(MAX_APPEND_RECORDS));
      await direct.append('commands', batch);
      const locking = new pg.Client({ connectionString: database.url });
      await locking.connect();
      try {
        await locking.query('begin');
        await locking.query('select from log.streams for update');
        const behind = { first_position: null, stream_length: String(MAX_APPEND_RECORDS + 2), written: null };
        assert.deepEqual((await raw.query(call, values)).rows, [behind]);
        const found = { first_position: String(MAX_APPEND_RECORDS), stream_length: String(MAX_APPEND_RECORDS + 2), written: false };
        assert.deepEqual((await raw.query(call.replace('null, 0', 'null, 1'), values)).rows, [found]);
      } finally {
        await locking.end();
      }
      assert.equal(await silent.append('commands', batch), MAX_APPEND_RECORDS + 2);
    });

    it('says that nothing was written when Postgres could not be reached at all', async () => {
      const log = await openThroughProxy({ unknownAfterMs: 300 });
      proxy.refuse();
      await assert.rejects(log.append('commands', newRecords(1)), (error: unknown) => error instanceof LogUnavailable && !error.outcomeUnknown);
      await assert.rejects(log.read('commands', 0, 1), (error: unknown) => error instanceof LogUnavailable && !error.outcomeUnknown);
      proxy.accept();
      assert.equal(await log.append('commands', newRecords(1)), 0);
    });

    it('does not take another writer\'s batch with the same first record for its own', async () => {
      const [shared, mine, theirs] = newRecords(3);
      const log = await openThroughProxy();
      await direct.append('commands', [shared!, theirs!]);
      nextAppend('cut');
      assert.equal(await log.append('commands', [shared!, mine!]), 2);
      assert.deepEqual(await direct.read('commands', 0, 10), placed(0, [shared!, theirs!, shared!, mine!]));
    });

    it('appends made one after the other stay in order through an outage', async () => {
      const records = newRecords(20);
      const log = await openThroughProxy();
      let appends = 0;
      proxy.fate = (request) => {
        if (!request.includes('log_append')) return 'pass';
        appends += 1;
        return appends % 3 === 1 ? 'lose-reply' : appends % 3 === 2 ? 'cut' : 'pass';
      };
      const positions = await Promise.all(records.map((record) => log.append('commands', [record])));
      assert.deepEqual(positions, records.map((_, i) => i));
      assert.deepEqual(await direct.read('commands', 0, 100), placed(0, records));
    });
  });

  describe('a follower', () => {
    const follow = (log: Log, from = 0) => log.follow('commands', from, abort.signal);

    it('never passes a record whose transaction commits late, though a later one waits behind it', async () => {
      const [late, next] = newRecords(2);
      const followed = take(follow(direct), 2);
      await raw.query('begin');
      const placedLate = await raw.query('select * from log.append_once(0::smallint, array[$1]::uuid[], array[$2]::bytea[], null, 0)', [late!.id, late!.data]);
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
      await raw.query('select * from log.append_once(0::smallint, array[$1]::uuid[], array[$2]::bytea[], null, 0)', [gone!.id, gone!.data]);
      const appended = direct.append('commands', [next!]);
      await raw.query('rollback');
      assert.equal(await appended, 0);
      assert.deepEqual(await followed, placed(0, [next!]));
    });

    it('finds by itself what nobody announced', async () => {
      const record = newRecord();
      const log = await open({ url: database.url, pollMs: 50 });
      const followed = take(follow(log), 1);
      await raw.query('select log.append_once(0::smallint, array[$1]::uuid[], array[$2]::bytea[], null, 0)', [record.id, record.data]);
      assert.deepEqual(await followed, placed(0, [record]));
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
    const watcher = new pg.Client({ connectionString: database.url });
    await watcher.connect();
    while ((await watcher.query(sql)).rowCount === 0);
    await watcher.end();
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
