/** Databases for tests, in the Postgres that `npm test` has started. */
import { randomBytes } from 'node:crypto';
import { onDatabase, TEMPLATE, urlOf } from './postgres-cluster.js';

export interface TestDatabase {
  readonly url: string;
  /** Ends its connections and removes it. Optional: the whole cluster goes at the end of the run. */
  drop(): Promise<void>;
}

/** What a process needs that writes to this Postgres. */
export const WITHOUT_FSYNC = { ALLOW_UNSAFE_POSTGRES: 'true' };

/** A new, empty database. Call it in a `before` hook, once per test file. */
export async function testDatabase(): Promise<TestDatabase> {
  return await database('template1');
}

/** A new database with every schema that the roles would create there when they start, and no rows. */
export async function exchangeDatabase(): Promise<TestDatabase> {
  return await database(TEMPLATE);
}

async function database(template: string): Promise<TestDatabase> {
  const cluster = process.env['TEST_POSTGRES'];
  if (cluster === undefined) throw new Error('TEST_POSTGRES names no Postgres: run the tests by npm test, which starts one');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await onDatabase(cluster, (client) => client.query(`create database ${name} template ${template}`));
  return {
    url: urlOf(cluster, name),
    drop: () => onDatabase(cluster, async (client) => { await client.query(`drop database if exists ${name} with (force)`); }),
  };
}
