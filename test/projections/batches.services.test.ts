/** The same rows however the outcomes are cut into batches, however often they are fed, and wherever a worker dies. */
import assert from 'node:assert/strict';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { eventSchemas } from '../../engine/records/events.js';
import { projections } from '../../projections/catalogue.js';
import { openSession, DatabaseUnavailable, type OpenSession } from '../../projections/database.js';
import { tableNames } from '../../projections/projection.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { logOf, projectTo, randomOutcomes, readTables, rowsOf, type Rows } from '../support/projected.js';
import { createRandom } from '../support/random-commands.js';

const LENGTH = 1_500;

const AT_ONCE = { firstMs: 0, longestMs: 0 };

describe('projections: batches', () => {
  let url: string;
  let outcomes: CommandOutcome[];
  let expected: Rows;

  before(async () => {
    ({ url } = await testDatabase());
    outcomes = randomOutcomes(1, LENGTH);
    await projectTo(LENGTH, { url, log: await logOf(outcomes), limits: { outcomes: 1_000, events: 100_000 } });
    expected = await readTables(url);
  });

  beforeEach(async () => { await runSql(url, 'drop schema if exists read_models cascade'); });

  it('meets every kind of event and fills every table', () => {
    const met = new Set(outcomes.flatMap(({ events }) => events.map(({ type }) => type)));
    assert.deepEqual([...met].sort(), Object.keys(eventSchemas).sort(), 'an event never comes: let test/support/projected.ts add it');
    assert.deepEqual(Object.keys(expected).filter((table) => rowsOf(expected, table).length === 0), []);
    assert.deepEqual(expected['checkpoint'], [{ position: String(LENGTH), at_ms: String(outcomes.at(-1)!.at) }]);
  });

  for (const size of [1, 7, 300]) {
    it(`batches of ${size} outcomes give the same rows`, async () => {
      await projectTo(LENGTH, { url, log: await logOf(outcomes), limits: { outcomes: size, events: 100_000 } });
      assert.deepEqual(await readTables(url), expected);
    });
  }

  it('projections that come one after the other are built up to the checkpoint, and give the same rows', async () => {
    const log = await logOf(outcomes);
    const named = (...names: string[]) => projections.filter(({ name }) => names.includes(name));
    const included = async () => (await runSql<{ name: string }>(url, 'select name from read_models.projection order by name')).map(({ name }) => name);
    await projectTo(400, { url, log: await logOf(outcomes.slice(0, 400)), projections: named('markets', 'orders') });
    const reports: string[] = [];
    const report = (_: string, text: string) => { reports.push(text); };
    await projectTo(700, { url, log: await logOf(outcomes.slice(0, 700)), projections: named('markets', 'orders', 'trades'), report });
    assert.deepEqual([await included(), reports], [['markets', 'orders', 'trades'], ['read model trades is new: building it']]);
    await assert.rejects(projectTo(900, { url, log, projections: named('markets', 'orders') }), {
      name: 'NewerReadModels', message: /^read model trades has version \d+, but this program makes no such one: run the newer program$/,
    });
    await projectTo(LENGTH, { url, log, limits: { outcomes: 150, events: 100_000 } });
    assert.deepEqual(await readTables(url), expected);
  });

  it('batches limited by events, down to one outcome of several events, give the same rows', async () => {
    const batches: number[] = [];
    await projectTo(LENGTH, {
      url, log: await logOf(outcomes), limits: { outcomes: 1_000, events: 3 },
      onProgress: (progress) => batches.push(progress.outcomes),
    });
    assert.deepEqual(await readTables(url), expected);
    assert.ok(batches.includes(1) && batches.includes(3), 'large outcomes go alone, small ones together');
  });

  it('outcomes that were folded already change nothing', async () => {
    const log = await logOf(outcomes);
    await projectTo(LENGTH, { url, log });
    await runSql(url, 'create table noticed (n integer); create function notice() returns trigger language plpgsql as '
    + '$$ begin insert into public.noticed values (1); return null; end $$');
    for (const table of [...projections.flatMap(tableNames), 'projection', 'checkpoint']) {
      await runSql(url, `create trigger noticed after insert or update or delete on read_models.${table} execute function notice()`);
    }
    await projectTo(LENGTH, { url, log, onProgress: (progress) => assert.equal(progress.outcomes, 0, 'there is nothing to fold') });
    await runSql(url, 'do $$ begin assert not exists (select from noticed); end $$; drop table noticed; drop function notice cascade');
    assert.deepEqual(await readTables(url), expected);
  });

  it('a worker that dies on any statement, COMMIT included, goes on where the last batch ended', async () => {
    const random = createRandom(5);
    let untilDeath = 40;
    let deaths = 0;
    const open: OpenSession = async (target, schema) => {
      const session = await openSession(target, schema);
      const maybeDie = async <T>(work: () => Promise<T>): Promise<T> => {
        if (--untilDeath > 0) return work();
        untilDeath = 20 + random() % 120;
        deaths++;
        if (deaths % 2 === 0) await work();
        await session.close();
        throw new DatabaseUnavailable('the connection broke');
      };
      return {
        query: (statement, values) => maybeDie(() => session.query(statement, values)),
        run: (sql) => maybeDie(() => session.run(sql)),
        close: () => session.close(),
      };
    };
    await projectTo(LENGTH, { url, open, log: await logOf(outcomes), limits: { outcomes: 20, events: 1_000 }, backoff: AT_ONCE });
    assert.ok(deaths > 10, `only ${deaths} deaths`);
    assert.deepEqual(await readTables(url), expected);
  });

  it('workers that race fold every outcome once', async () => {
    const log = await logOf(outcomes);
    let opened = 0;
    const limits = { outcomes: 13, events: 1_000 };
    const open: typeof openSession = (...session) => {
      opened += 1;
      return openSession(...session);
    };
    const race = { url, log, limits, backoff: AT_ONCE, open };
    await Promise.all([projectTo(LENGTH, race), projectTo(LENGTH, race), projectTo(LENGTH, race)]);
    assert.ok(opened > 3, 'no worker was ever overtaken');
    assert.deepEqual(await readTables(url), expected);
  });
});
