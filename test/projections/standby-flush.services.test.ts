/** Where a standby follows, a batch's commit waits for the disk; elsewhere it does not. */
import { deepEqual } from 'node:assert/strict';
import pg from 'pg';
import { READ_MODELS } from '../../projections/schema.js';
import { testDatabase } from '../support/postgres.js';
import { onDatabase, runSql } from '../support/sql.js';
import { logOf, projectTo, randomOutcomes } from '../support/projected.js';

const LENGTH = 200;

/** Notes with which setting each transaction that writes orders is about to commit. */
const WATCH = `
create table commits (setting text);
create function note() returns trigger language plpgsql as
  $$ begin insert into public.commits values (current_setting('synchronous_commit')); return null; end $$;
create constraint trigger note after insert on ${READ_MODELS}.orders initially deferred for each row execute function note()`;

describe('projections: the commit of a batch', () => {
  /** Of the transactions of a worker that begins with an empty database. */
  async function settingsOfCommits(url: string): Promise<string[]> {
    await projectTo(0, { url, log: await logOf([]) });
    await runSql(url, WATCH);
    await projectTo(LENGTH, { url, log: await logOf(randomOutcomes(3, LENGTH)) });
    return onDatabase(url, async (client) => (
      (await client.query<{ setting: string }>('select distinct setting from commits')).rows.map(({ setting }) => setting)));
  }

  it('does not wait for the disk where no standby follows', async () => {
    const { url } = await testDatabase();
    deepEqual(await settingsOfCommits(url), ['off']);
  });

  it('waits for the disk where one does', async () => {
    const { url } = await testDatabase();
    // What a standby has at its primary: a connection for replication. It is the cluster's, and others' commits wait meanwhile, too.
    const standby = new pg.Client({ connectionString: url, replication: 'true' } as pg.ClientConfig);
    await standby.connect();
    try {
      deepEqual(await settingsOfCommits(url), ['local']);
    } finally {
      await standby.end();
    }
  });
});
