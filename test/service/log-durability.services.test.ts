/** A Postgres that confirms commits before they are safe is refused for the log, unless a setting allows it. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import { CannotStart } from '../../engine/cannot-start.js';
import { parseConfig } from '../../service/config.js';
import { isBadConfiguration } from '../../service/exit-codes.js';
import { createLogger } from '../../service/logger.js';
import { unsafeCommits } from '../../engine/log/postgres/durability.js';
import { checkDurability } from '../../service/process/log-durability.js';
import { exchangeStack } from '../harness/exchange.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { onDatabase } from '../support/sql.js';

describe('service: a Postgres that may lose what it has confirmed', () => {
  for (const [fsync, commit, standbys, faults] of [
    ['on', 'on', 'none', []], ['on', 'on', 'some', []], ['on', 'remote_apply', 'some', []], ['on', 'remote_write', 'some', []],
    ['on', 'local', 'none', []], ['on', 'remote_write', 'none', []],
    ['on', 'local', 'some', ['synchronous_commit local']],
    ['on', 'off', 'none', ['synchronous_commit off']], ['on', 'off', 'some', ['synchronous_commit off']],
    ['off', 'on', 'none', ['fsync off']], ['off', 'off', 'none', ['fsync off', 'synchronous_commit off']],
  ] as const) {
    it(`fsync ${fsync}, synchronous_commit ${commit}, with ${standbys} synchronous standbys: ${faults.length === 0 ? 'taken' : faults.join(' and ')}`, () => {
      const found = unsafeCommits({ fsync, synchronous_commit: commit, synchronous_standby_names: standbys === 'some' ? 'ANY 1 (a, b)' : '' });
      deepEqual(found.map((fault) => /^has (\w+ \w+), so .*: set (?:fsync|it) on/.exec(fault)?.[1]), faults);
    });
  }

  describe('in a session', () => {
    let database: TestDatabase;
    before(async () => { database = await testDatabase(); });
    after(() => database.drop());
    const lines: string[] = [];
    const check = (isAllowed: boolean) => checkDurability({
      url: database.url, setting: 'LOG_URL', isAllowed, logger: createLogger(parseConfig({}), { write: (line: string) => { lines.push(line); } }),
    });

    it('counts what is set for the database, too', async () => {
      const own = /\(LOG_URL, 127\.0\.0\.1:\d+\/test_\w+\) has fsync off, [^;]*; or set ALLOW_UNSAFE_POSTGRES=true where orders may be lost$/;
      await rejects(check(false), own);
      const name = new URL(database.url).pathname.slice(1);
      await onDatabase(database.url, (client) => client.query(`alter database ${name} set synchronous_commit = off`));
      await rejects(check(false), /has fsync off, .*; and it has synchronous_commit off, /);
      equal(lines.length, 0);
      await check(true);
      equal(lines.length, 1);
      match(lines[0]!, /"level":"warn".*synchronous_commit off.*ALLOW_UNSAFE_POSTGRES allows it/);
    });
  });

  it('ends the start of a process, with the code for wrong settings', async () => {
    await rejects(exchangeStack({ ALLOW_UNSAFE_POSTGRES: 'false' }), (error: unknown) => {
      equal(error instanceof CannotStart && isBadConfiguration(error), true);
      match(String(error), /the Postgres of the log \(DATABASE_URL, .*\) has fsync off/);
      return true;
    });
  });
});
