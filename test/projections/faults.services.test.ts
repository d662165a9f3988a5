/** What stops a projection worker, what it outlives, and what several of them do to the same database. */
import assert from 'node:assert/strict';
import { on } from 'node:events';
import pg from 'pg';
import { recordId } from '../../engine/run/new-record.js';
import { type CommandOutcome } from '../../engine/records/codec.js';
import { BrokenSequence, LogUnavailable, type Log } from '../../engine/log/log.js';
import { projections } from '../../projections/catalogue.js';
import { openSession } from '../../projections/database.js';
import { createReadModels } from '../../projections/schema.js';
import { openReadModels } from '../../query/database.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { appendOutcomes, logOf, projectTo, randomOutcomes, readTables, rowsOf, startWorker } from '../support/projected.js';

describe('projections: faults', () => {
  let url: string;
  let outcomes: CommandOutcome[];

  before(async () => {
    ({ url } = await testDatabase());
    outcomes = randomOutcomes(23, 400);
  });

  beforeEach(async () => { await runSql(url, 'drop schema if exists read_models cascade'); });

  const position = async () => rowsOf(await readTables(url), 'checkpoint').map((checkpoint) => checkpoint['position']).join();

  for (const [what, text] of [
    ['an unknown event', '{"at":1,"events":[{"type":"MarketMoved","v":1}],"digest":"0x00"}'],
    ['an event of a version to come', '{"at":1,"events":[{"type":"CommandRejected","v":2,"code":"unknown_order","subject":"x"}],"digest":"0x00"}'],
    ['an event with a missing field', '{"at":1,"events":[{"type":"CommandRejected","v":1,"code":"unknown_order"}],"digest":"0x00"}'],
    ['bytes that are no JSON', '{"at":1,'],
  ] as const) {
    it(`${what} stops it with the position; the outcomes before are folded, none behind`, async () => {
      const log = await logOf(outcomes.slice(0, 30));
      await log.append('outcomes', [{ id: recordId(text), data: Buffer.from(text) }]);
      await appendOutcomes(log, outcomes.slice(31));
      await assert.rejects(projectTo(400, { url, log }), { name: 'UnreadableOutcome', position: 30 });
      assert.equal(await position(), '30');
    });
  }

  it('a gap in the log stops it', async () => {
    const log = await logOf(outcomes);
    const gappy: Log = { ...log, async* follow(stream, from, signal) {
      for await (const records of log.follow(stream, from, signal)) yield records.filter(({ position }) => position !== 57);
    } };
    await assert.rejects(projectTo(400, { url, log: gappy }), new BrokenSequence('outcomes', 57, 58));
  });

  it('an event about an order that was never accepted stops it, and nothing of the batch is written', async () => {
    const fill = outcomes.find(({ events }) => events.some(({ type }) => type === 'FillMatched'))!;
    const log = await logOf([{ at: 1, events: [] }, { at: 2, events: fill.events.filter(({ type }) => type !== 'OrderAccepted') }]);
    await assert.rejects(projectTo(2, { url, log }), /projection orders failed at outcomes 0 to 1: order \d+ changes/);
    assert.equal(await position(), '0');
  });

  for (const [what, twice, message] of [
    ['a fill that fails twice', 'FillFailed', /projection trades failed at outcomes 400 to 400: fill \d+ settles or fails, but was never/],
    ['a fill that settles twice', 'FillSettled', /projection trades failed at outcomes 400 to 400: fill \d+ settles or fails, but was never/],
    ['an order that trades more than it has', 'FillMatched', /projection orders failed at outcomes 400 to 400: order \d+ trades more than/],
    ['an order that leaves its level twice', 'OrderCancelled', /projection orders failed at outcomes 400 to 400: level .* falls below 0/],
  ] as const) {
    it(`${what} stops it`, async () => {
      const events = outcomes.flatMap((outcome) => outcome.events).filter(({ type }) => type === twice).map((event) => (
        event.type === 'OrderCancelled'
          ? { ...event, rested: '18446744073709551615' }
          : event.type === 'FillMatched' ? { ...event, fill: 1_000_000 } : event));
      assert.ok(events.length > 0);
      const log = await logOf([...outcomes, { at: outcomes.at(-1)?.at ?? 0, events: events.slice(0, 1) }]);
      await projectTo(400, { url, log: await logOf(outcomes) });
      await assert.rejects(projectTo(401, { url, log }), message);
      assert.equal(await position(), '400');
    });
  }

  it('a log that is shorter than what was folded stops it', async () => {
    await projectTo(400, { url, log: await logOf(outcomes) });
    await assert.rejects(projectTo(400, { url, log: await logOf(outcomes.slice(0, 399)) }), { name: 'ForeignReadModels' });
  });

  it('a log that has lost what was folded, and has become as long again, stops it', async () => {
    await projectTo(400, { url, log: await logOf(outcomes) });
    const others = await logOf([...outcomes.slice(0, 200), ...randomOutcomes(24, 400).slice(200)]);
    await assert.rejects(projectTo(500, { url, log: others }), (error: Error) => {
      assert.match(error.message, /^the read models include order 0x[0-9a-f]{64} at position \d+, where the log has something else: they were made/);
      return error.name === 'ForeignReadModels';
    });
  });

  it('outlives a log that cannot be reached and one that stops being followed', async () => {
    const log = await logOf(outcomes);
    const reports: string[] = [];
    let turn = 0;
    const shaky: Log = { ...log, async* follow(stream, from, signal) {
      turn++;
      if (turn === 1) throw new LogUnavailable(false);
      for await (const records of log.follow(stream, from, signal)) {
        yield turn === 2 ? records.slice(0, 100) : records;
        if (turn === 2) throw new LogUnavailable(false);
      }
    } };
    await projectTo(400, { url, log: shaky, report: (level, text) => reports.push(`${level}: ${text}`) });
    const [waits, goesOn] = [`warn: the projection worker waits: ${new LogUnavailable(false).message}`, 'info: the projection worker goes on'];
    assert.deepEqual(reports, [waits, goesOn, waits, goesOn]);
    assert.equal(await position(), '400');
  });

  it('outlives the end of its sessions, idle and in a transaction', async () => {
    const log = await logOf([]);
    await projectTo(400, { url, log: await logOf(outcomes) });
    const expected = await readTables(url);
    await runSql(url, 'drop schema read_models cascade');
    const stop = new AbortController();
    const reached = new Map<number, () => void>();
    const run = startWorker({
      url, log, signal: stop.signal, limits: { outcomes: 10, events: 1_000 },
      onProgress: ({ position }) => reached.get(position)?.(),
    });
    for (const position of [100, 200, 300, 400]) {
      const there = new Promise<void>((resolve) => reached.set(position, resolve));
      const added = appendOutcomes(log, outcomes.slice(position - 100, position));
      await runSql(url, 'select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'projections\' and datname = current_database()');
      await Promise.all([added, there]);
    }
    assert.equal(await run.lag(), 0);
    stop.abort();
    await run.done;
    assert.deepEqual(await readTables(url), expected);
  });

  it('waits for a database that cannot be reached until it can', async () => {
    const reports: string[] = [];
    let tries = 0;
    const open: typeof openSession = (target, schema) => openSession(tries++ < 3 ? 'postgresql://127.0.0.1:1/none' : target, schema);
    await projectTo(400, { url, open, log: await logOf(outcomes), report: (level, text) => reports.push(`${level}: ${text}`) });
    assert.match(reports.join('\n'), /^warn: the projection worker waits: .*\ninfo: the projection worker goes on$/);
  });

  it('a projection that is added later is built from 0, and the others wait for it', async () => {
    const log = await logOf(outcomes);
    await projectTo(400, { url, log });
    const expected = await readTables(url);
    await runSql(url, 'drop schema read_models cascade');
    const older = projections.filter(({ name }) => name !== 'trades');
    await projectTo(250, { url, log: await logOf(outcomes.slice(0, 250)), projections: older });
    await projectTo(400, { url, log, limits: { outcomes: 60, events: 1_000 } });
    assert.deepEqual(await readTables(url), expected);
  });

  it('notifies readers of each committed batch, once they can see it', async () => {
    const listener = new pg.Client({ connectionString: url });
    await listener.connect();
    try {
      await listener.query('listen read_models');
      const told = on(listener, 'notification');
      await projectTo(400, { url, log: await logOf(outcomes) });
      for await (const [{ payload }] of told as AsyncIterable<[pg.Notification]>) {
        const { rows: [seen] } = await listener.query<{ position: string }>('select position - 1 as position from read_models.checkpoint');
        assert.ok(Number(payload) <= Number(seen?.position), `told of ${payload}, sees ${seen?.position}`);
        if (payload === '399') break;
      }
    } finally {
      await listener.end();
    }
  });

  it('processes that start at once create the schema together', async () => {
    const starts = Array.from({ length: 6 }, async () => {
      const session = await openSession(url, 'read_models');
      await createReadModels({ session, schema: 'read_models', projections });
      await session.close();
    });
    await Promise.all(starts);
    assert.equal(await position(), '0');
  });

  it('the reader role reads every table and writes none', async () => {
    await projectTo(400, { url, log: await logOf(outcomes) });
    const reader = new URL(url);
    reader.searchParams.set('options', '-c role=query_reader -c search_path=read_models');
    await runSql(reader.href, 'table projection; table checkpoint; table markets; table orders; table levels; table books; table trades; table market_volumes; '
    + 'table minute_volumes; table positions');
    await assert.rejects(runSql(reader.href, 'delete from trades'), { code: '42501' });
    await assert.rejects(runSql(reader.href, 'create table read_models.mine (n integer)'), { code: '42501' });
  });

  /** A user of its own who may make the read models; the cluster's `query_reader` is somebody else's. */
  async function modestUser(name: string, more = ''): Promise<{ readonly url: string; readonly leave: () => Promise<unknown> }> {
    await runSql(url, `
      create role ${name} login password 'modest';
      do $$ begin execute format('grant create on database %I to ${name}', current_database()); end $$;
      ${more}`);
    const modest = new URL(url);
    [modest.username, modest.password] = [name, 'modest'];
    return { url: modest.href, leave: () => runSql(url, `drop schema read_models cascade; drop owned by ${name}; drop role ${name}`) };
  }

  it('goes on without the reader role where it may not take it, says so, and lets that role read', async () => {
    const modest = await modestUser('modest_writer');
    const reports: string[] = [];
    await projectTo(400, { url: modest.url, log: await logOf(outcomes), report: (level, text) => reports.push(`${level}: ${text}`) });
    assert.deepEqual(reports, [
      'warn: this user may not take the role query_reader, so its reads have all of its rights: permission denied to grant role "query_reader"',
    ]);
    assert.equal(await position(), '400');
    const db = await openReadModels({ url: modest.url });
    assert.equal(await db.position(), 399);
    await db.close();
    await runSql(url, 'set role query_reader; table read_models.trades');
    await modest.leave();
  });

  it('takes the reader role where it may only grant it, as the user may who has created it', async () => {
    const modest = await modestUser('modest_maker', 'grant query_reader to modest_maker with admin true, inherit false, set false');
    const reports: string[] = [];
    await projectTo(400, { url: modest.url, log: await logOf(outcomes), report: (level, text) => reports.push(`${level}: ${text}`) });
    assert.deepEqual(reports, []);
    const db = await openReadModels({ url: modest.url });
    assert.deepEqual(await db.rows({ name: 'me', text: 'select current_user as me' }, []), [{ me: 'query_reader' }]);
    await db.close();
    await modest.leave();
  });
});
