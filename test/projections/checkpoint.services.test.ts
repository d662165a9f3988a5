/** The checkpoint: who has seen it as it is moves it, and what an earlier program left, a position per read model, becomes one. */
import assert from 'node:assert/strict';
import { advance, readCheckpoint } from '../../projections/checkpoint.js';
import { openSession, type Session } from '../../projections/database.js';
import { createReadModels, READ_MODELS } from '../../projections/schema.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { logOf, projectTo, randomOutcomes, readTables } from '../support/projected.js';

const LENGTH = 300;

describe('projections: checkpoint', () => {
  let url: string;
  beforeEach(async () => { ({ url } = await testDatabase()); });

  describe('of a session', () => {
    let session: Session;
    beforeEach(async () => {
      session = await openSession(url, READ_MODELS);
      await createReadModels({ session, schema: READ_MODELS, projections: [] });
    });
    afterEach(() => session.close());

    it('moves from where it is, and is known by its new writer', async () => {
      const from = await readCheckpoint(session.query);
      const after = await advance({ from, to: 7, at: 70 }, session.query);
      assert.deepEqual(after, await readCheckpoint(session.query));
      assert.deepEqual([from.position, after?.position, after?.writer === from.writer], [0, 7, false]);
      assert.deepEqual(await runSql(url, 'table read_models.checkpoint'), [{ position: '7', at_ms: '70' }]);
    });

    it('does not move when somebody else has moved it, or written it at the same position', async () => {
      const from = await readCheckpoint(session.query);
      const after = (await advance({ from, to: 7, at: 70 }, session.query))!;
      assert.equal(await advance({ from, to: 9, at: 90 }, session.query), undefined);
      await runSql(url, 'update read_models.checkpoint set position = position');
      assert.equal(await advance({ from: after, to: 9, at: 90 }, session.query), undefined);
      assert.equal((await readCheckpoint(session.query)).position, 7);
    });
  });

  for (const [what, leave] of [
    ['a row for all that are equally far', `
      alter table projection add position bigint, add at_ms bigint not null default 0;
      insert into projection values ('*', 0, 200, 5);
      update projection set position = 120 where name = 'prices'`],
    ['a row for each', `
      alter table projection add position bigint not null default 200;
      update projection set position = 120 where name = 'prices'`],
  ] as const) {
    it(`is made from ${what}: those are built anew that are not as far as the others`, async () => {
      const outcomes = randomOutcomes(51, LENGTH);
      const log = await logOf(outcomes);
      await projectTo(LENGTH, { url, log });
      const expected = await readTables(url);
      await runSql(url, 'drop schema read_models cascade');
      await projectTo(200, { url, log: await logOf(outcomes.slice(0, 200)) });
      await runSql(url, `set search_path = read_models; drop table checkpoint; ${leave}`);
      const reports: string[] = [];
      await projectTo(LENGTH, { url, log, report: (_, text) => reports.push(text) });
      assert.deepEqual(reports, ['read model prices is new: building it']);
      assert.deepEqual(await readTables(url), expected);
    });
  }
});
