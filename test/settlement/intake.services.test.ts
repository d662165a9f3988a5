/** The intake on a real Postgres: it keeps the contract, and what it shows and gives up; starts, crashes, and a database that goes away. */
import { deepEqual, equal, match, ok, rejects, throws } from 'node:assert/strict';
import { ForeignIntake, type IntakeOptions } from '../../command/settlement/intake.js';
import { openStore } from '../../command/settlement/postgres-store.js';
import { OutboxUnavailable } from '../../command/lane/requests.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeOutcome } from '../../engine/run/new-record.js';
import { createHistory, digestAt, marketIn, spokenFeed } from '../support/feed-history.js';
import { appendAll, newRecord } from '../support/log-records.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { startProxyTo, type UrlProxy } from '../support/proxies.js';
import { describeIntake } from './intake-contract.js';
import { createIntakes, logOf, shown, shows, type RunningIntake } from './running-intake.js';
import { until } from '../support/until.js';

const [red, blue] = [marketIn(2), marketIn(5)];

/** One database serves several tests, each of which begins without what the one before has left. */
const emptied = (url: string) => runSql(url, 'drop schema if exists settlement, lane cascade');

describe('settlement: the store of the intake in Postgres', () => {
  let database: TestDatabase;
  before(async () => { database = await testDatabase(); });
  after(() => database.drop());

  describeIntake(() => {
    const { url } = database;
    const numbers = async (sql: string): Promise<Record<string, number>[]> => await runSql(url, sql) as Record<string, number>[];
    return Promise.resolve({
      openStore: (options) => openStore({ url, standByMs: 5, ...options }),
      close: async () => { await emptied(url); },
      fills: async () => (await runSql(url, 'select fill::int, state = \'over\' as ended from settlement.fills order by fill')) as { fill: number; ended: boolean }[],
      barriers: () => runSql(url, 'select chain_id, partition from settlement.barriers'),
      partitions: async () => (await numbers('select next_seq::int as next, position::int from settlement.partitions order by partition'))
        .map(({ next = 0, position = 0 }) => ({ nextSeq: next, position })),
      async endSessions() {
        await runSql(url, 'select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'settlement intake\' and datname = current_database()');
      },
    });
  });
});

describe('settlement: the queue in Postgres', () => {
  let database: TestDatabase;
  before(async () => { database = await testDatabase(); });
  after(() => database.drop());

  it('reads its first fills only, also when nobody has counted the table\'s rows', async () => {
    const { url } = database;
    const stop = new AbortController();
    const store = await openStore({ url, signal: stop.signal, standingBy: () => undefined });
    const fetched = async () => Number((await runSql(url, 'select idx_tup_fetch + seq_tup_read as fetched from pg_stat_user_tables where relname = \'fills\''))[0]?.['fetched']);
    await runSql(url, `
alter table settlement.fills set (autovacuum_enabled = off);
insert into settlement.fills (chain_id, fill, price, size, buy_number, sell_number, state, since_ms)
select 1, n, 500000, 1000000, 2 * n, 2 * n + 1, 'waiting', 0 from generate_series(0, 49999) as n;
update settlement.intake set watermark = 50000`);
    const before = await fetched();
    const due = await store.due(1, { nowMs: 1_000, maxPauseMs: 600_000, withNew: true, limit: 200 });
    deepEqual(due.map(({ fill }) => fill), Array.from({ length: 200 }, (_, fill) => fill));
    // Postgres publishes what a session has read when the session ends, at the latest.
    await store.close();
    await until('the reads are published', async () => await fetched() > before);
    ok(await fetched() - before < 1_000, `${await fetched() - before} rows were read for 200`);
  });
});

describe('settlement: the intake', () => {
  let database: TestDatabase;
  let url: string;
  let reports: string[];
  let stops: (() => Promise<unknown>)[];

  before(async () => {
    database = await testDatabase();
    ({ url } = database);
  });
  after(() => database.drop());
  beforeEach(() => {
    [reports, stops] = [[], []];
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    await emptied(url);
  });

  function start(feed: IntakeOptions['feed'], { to = url, ...options }: Partial<IntakeOptions> & { readonly to?: string } = {}): Promise<RunningIntake> {
    const intakes = createIntakes((session) => openStore({ url: to, standByMs: 5, ...session }));
    stops.push(() => intakes.stop());
    return intakes.start(feed, { report: (level, text) => { reports.push(`${level}: ${text}`); }, ...options });
  }

  const rows = (sql: string) => runSql(url, sql);

  it('rests between small batches only: neither the first nor what follows a batch without messages waits', async () => {
    const [feed, history] = [spokenFeed(), createHistory()];
    const running = await start(feed, { restMs: 3_600_000 });
    feed.say([], 0);
    feed.say([history.opened(red), history.matched(red)]);
    await shows(running, { watermark: 1, fills: [0], nextBlock: 0 });
    // What comes while it rests is taken in by the next session at the latest.
    feed.say([history.matched(red)]);
    deepEqual(await shown(running), { watermark: 1, fills: [0], nextBlock: 0 });
    await running.stop();
    await shows(await start(feed), { watermark: 2, fills: [0, 1], nextBlock: 0 });
  });

  it('shows nothing before it has come to the end of the history as it was', async () => {
    const [feed, history] = [spokenFeed(), createHistory()];
    const running = await start(feed, { log: await logOf(3) });
    feed.say([history.opened(red), history.matched(red)], 2);
    await until('it is taken in', () => running.intake.status().position === 2);
    equal(running.intake.watermark(), 0);
    let holds = false;
    const held = running.intake.held(AbortSignal.timeout(60_000)).then(() => { holds = true; });
    feed.say([history.settled(0, red)], 3);
    await held;
    ok(holds);
    await shows(running, { watermark: 1, fills: [], nextBlock: 0 });
  });

  it('ends when the log is not the one that it has taken from', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await start(feed);
    feed.say([history.opened(red), history.matched(red)]);
    await shows(running, { watermark: 1, fills: [0], nextBlock: 0 });
    await running.stop();
    await rejects(start(feed, { log: await logOf(1) }), (error) => (
      error instanceof ForeignIntake && error.message.includes('2 outcomes have been taken in, but the log has 1')));
    const other = createMemoryLog();
    await appendAll(other, 'outcomes', [0, 1, 2].map((i) => newRecord(encodeOutcome('{"at":1,"events":[]}', digestAt(i + 7)))));
    await rejects(start(feed, { log: other }), /outcome 1 has another digest .* drop schema settlement/);
    await start(feed, { log: await logOf(2) });
  });

  it('ends with an error of the feed that trying again cannot help', async () => {
    const broken = new Error('unreadable');
    // eslint-disable-next-line require-yield
    const { intake } = await start({ async* follow() { throw broken; } });
    await rejects(intake.done, broken);
  });

  it('turns the tables of a version without states into a queue in which all wait, and leaves the present ones alone', async () => {
    await rows(`
create schema settlement;
create table settlement.fills (
  fill bigint primary key, chain_id bigint not null, market_id text not null, outcome smallint not null, price integer not null, size numeric not null,
  cost numeric not null, buy_number bigint not null, sell_number bigint not null, buyer text not null, seller text not null,
  ended boolean not null default false
);
create index fills_waiting on settlement.fills (chain_id, fill) where not ended;
create table settlement.intake (sole boolean primary key default true, watermark bigint not null, position bigint, digest text);
create table settlement.partitions (partition smallint primary key, next_seq bigint not null, position bigint not null, done integer not null);
insert into settlement.fills values
  (3, 1, 'm', 0, 500000, 18446744073709551615, 1, 6, 7, 'b', 's', false), (5, 1, 'm', 0, 500000, 10, 1, 10, 11, 'b', 's', true);
insert into settlement.intake (watermark, position, digest) values (5, 8, '0x00');
insert into settlement.partitions select n, n, 9, 0 from generate_series(0, 7) as n`);
    for (const start of ['the first', 'the second']) {
      const store = await openStore({ url, signal: AbortSignal.timeout(60_000), standingBy: () => undefined });
      const [fill] = await store.due(1, { nowMs: Date.now(), maxPauseMs: 1_000, withNew: true, limit: 10 });
      deepEqual(fill, {
        fill: 3, chainId: 1, price: 500_000, size: 18_446_744_073_709_551_615n, buyNumber: 6, sellNumber: 7, state: 'waiting', sinceMs: fill!.sinceMs,
        dueMs: 0, batchLimit: undefined, tries: 0,
      }, start);
      ok(Math.abs(fill!.sinceMs - Date.now()) < 60_000);
      const { progress } = await store.load();
      deepEqual([progress.watermark, [...progress.ahead.values()], progress.partitions[7]], [
        5, [{ chainId: 1, fill: 5, ended: true }], { nextSeq: 7, position: 9, done: 0 }]);
      await store.close();
    }
    deepEqual(await rows('select tablename from pg_tables where schemaname = \'settlement\' order by 1'),
      ['barriers', 'fills', 'intake', 'markets', 'partitions'].map((tablename) => ({ tablename })));
  });

  describe('faults', () => {
    let proxy: UrlProxy;
    beforeEach(async () => { proxy = await startProxyTo(url); });
    afterEach(() => proxy.close());

    for (const fate of ['cut', 'lose-reply'] as const) {
      it(`a connection that ends at the write of a batch (${fate}) loses nothing and doubles nothing`, async () => {
        const feed = spokenFeed();
        const history = createHistory();
        const running = await start(feed, { to: proxy.url });
        feed.say([history.opened(red), history.opened(blue), history.matched(red), history.matched(red)]);
        await shows(running, { watermark: 2, fills: [0, 1], nextBlock: 0 });
        const slow = history.matched(blue);
        feed.say([history.matched(red)]);
        await until('it is written', async () => (await rows('select from settlement.fills')).length === 3);
        let met = false;
        proxy.fate = (request) => {
          if (met || !request.includes('update settlement.intake')) return 'pass';
          met = true;
          return fate;
        };
        // Something for each table.
        const other = marketIn(1);
        const changes = [history.opened(other), history.matched(other), history.settled(0, red), history.settled(3, red)];
        const barrier = history.advanced(1, 2);
        feed.say([...changes, ...barrier.filter(({ partition }) => partition !== 5)]);
        await until('the connection has ended there', () => met);
        feed.say([slow, barrier[5]!]);
        await shows(running, { watermark: 5, fills: [1, 2, 4], nextBlock: 3 });
        deepEqual(await rows('select fill::int, state = \'over\' as ended from settlement.fills order by fill'), [1, 2, 4].map((fill) => ({ fill, ended: false })));
        deepEqual(await rows('select partition, next_seq::int from settlement.partitions where next_seq <> 1 order by 1'),
          [[1, 3], [2, 7], [5, 3]].map(([partition, next]) => ({ partition, next_seq: next })));
      });
    }

    it('a database that goes away and comes back: what was shown stays, nothing is asked meanwhile, and it goes on', async () => {
      const feed = spokenFeed();
      const history = createHistory();
      const running = await start(feed, { to: proxy.url });
      feed.say([history.opened(red), history.matched(red)]);
      await shows(running, { watermark: 1, fills: [0], nextBlock: 0 });
      const store = await running.intake.held(AbortSignal.timeout(60_000));
      store.check();
      proxy.refuse();
      await until('the problem is told', () => running.intake.status().problem !== undefined);
      throws(() => { store.check(); }, OutboxUnavailable);
      equal(running.intake.watermark(), 1);
      feed.say([history.matched(red), history.settled(0, red)]);
      proxy.accept();
      await shows(running, { watermark: 2, fills: [1], nextBlock: 0 });
      equal(running.intake.status().problem, undefined);
      (await running.intake.held(AbortSignal.timeout(60_000))).check();
      match(reports.join('\n'), /^warn: the intake of fills waits: the outbox is not available: .*\n[^]*info: the intake of fills goes on$/);
    });

    it('who stands by after a problem has none, and no position that another one has left behind; what is wrong then is told', async () => {
      const [feed, history] = [spokenFeed(), createHistory()];
      const running = await start(feed, { to: proxy.url });
      feed.say([history.opened(red), history.matched(red)], 2);
      await shows(running, { watermark: 1, fills: [0], nextBlock: 0 });
      proxy.refuse();
      await until('the problem is told', () => running.intake.status().problem !== undefined);
      const other = await start(feed);
      await until('the other one takes in', () => other.intake.status().position === 2);
      proxy.accept();
      await until('it stands by', () => running.intake.status().standby);
      deepEqual(running.intake.status(), { standby: true, position: undefined, problem: undefined });
      proxy.refuse();
      await until('it does not stand by any more', () => !running.intake.status().standby);
      match(running.intake.status().problem ?? '', /^the outbox is not available: /);
      match(reports.join('\n'), /^(?:warn: .*\n)+info: another process takes in fills, and this one stands by\nwarn: /);
    });
  });
});
