/** A start whose user may read neither log nor read models: it waits for the grant of a process that has just made them, and then says what to do. */
import assert from 'node:assert/strict';
import { openLog } from '../../engine/log/open-log.js';
import { createLogger } from '../../service/logger.js';
import { parseConfig } from '../../service/config.js';
import { openLogWhenThere, openReadModelsWhenThere } from '../../service/process/open-when-there.js';
import type { Waits } from '../../service/process/waits.js';
import { exchangeDatabase, testDatabase, type TestDatabase } from '../support/postgres.js';
import { onDatabase } from '../support/sql.js';

const USER = 'reads_nothing';

/** Tries again at once, when `failed` has heard the reason. */
function eager(failed: (why: string) => unknown): Waits {
  return {
    signal: new AbortController().signal, reasons: () => [], during: (_doing, work) => work,
    async until(_what, work, canPass) {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          if (!canPass(error)) throw error;
          await failed((error as Error).message);
        }
      }
    },
  };
}

describe('service: opening what other processes make', () => {
  const logger = createLogger(parseConfig({ LOG_LEVEL: 'silent' }));
  let database: TestDatabase;
  let url: string;

  before(async () => {
    database = await exchangeDatabase();
    await onDatabase(database.url, (client) => client.query(`create role ${USER} login password '${USER}'`));
    url = asUser(database);
  });
  after(async () => {
    await database.drop();
    await onDatabase(process.env['TEST_POSTGRES']!, (client) => client.query(`drop role ${USER}`));
  });

  const lost = (error: Error): never => { throw error; };
  type Opened = ReturnType<typeof opening>;
  const opening = (failed: (why: string) => unknown) => ({ url, place: 'db/x', waits: eager(failed), failed: lost });

  for (const [what, schema, open, sentence] of [
    ['the log', 'log', openLogWhenThere, /^this user may not read the log at db\/x \(permission denied for schema log\): grant it the role query_reader, and /],
    ['the read models', 'read_models', (given: Opened) => openReadModelsWhenThere({ ...given, setting: 'QUERY_DATABASE_URL', logger }),
      /^the user of QUERY_DATABASE_URL may not read the read models at db\/x \(permission denied for schema read_models\): grant it the role /],
  ] as const) {
    it(`${what}: ends after six denials`, async () => {
      const failed: string[] = [];
      await assert.rejects(open(opening((why) => failed.push(why))), { name: 'CannotStart', hopeless: false, message: sentence });
      assert.deepEqual(failed, Array(5).fill(`permission denied for schema ${schema}`));
    });

    it(`${what}: goes on when the grant comes`, async () => {
      const opened = await open(opening(async () => {
        await onDatabase(database.url, (client) => client.query(`grant query_reader to ${USER}`));
        // Lets that role read the log, as every process does that may make it.
        await (await openLog(database.url)).close();
      }));
      await opened.close();
      await onDatabase(database.url, (client) => client.query(`revoke query_reader from ${USER}`));
    });
  }

  for (const [what, open, sentence] of [
    ['a log', openLogWhenThere, 'no process has made it yet'],
    ['read models', (given: Opened) => openReadModelsWhenThere({ ...given, setting: 'DATABASE_URL', logger }),
      'no process with the projections role has made them yet'],
  ] as const) {
    it(`waits for ${what} that no process has made yet, and says so`, async () => {
      const empty = await testDatabase();
      const why = await new Promise<string>((resolve, reject) => {
        open({ url: asUser(empty), place: 'db/x', failed: lost, waits: eager((reason) => {
          resolve(reason);
          throw new Error('has heard enough');
        }) }).catch(reject);
      });
      assert.equal(why, sentence);
      await empty.drop();
    });
  }
});

function asUser(database: TestDatabase): string {
  const url = new URL(database.url);
  [url.username, url.password] = [USER, USER];
  return url.href;
}
