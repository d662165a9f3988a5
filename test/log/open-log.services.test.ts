/** A log is opened by its URL; no error shows the password in one. */
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { LogUnavailable } from '../../engine/log/log.js';
import { openLog, UnknownLogUrl } from '../../engine/log/open-log.js';
import { newRecords } from '../support/log-records.js';
import { testDatabase } from '../support/postgres.js';

/** The error without the password in any of its parts. */
async function refusal(url: string, password: string): Promise<Error> {
  const error = await openLog(url, { attemptTimeoutMs: 5_000 }).then(() => assert.fail('it was opened'), (reason: unknown) => reason);
  assert.ok(error instanceof Error);
  assert.equal(inspect(error, { depth: 20, showHidden: true }).includes(password), false, 'the password is shown');
  return error;
}

describe('open a log', () => {
  for (const scheme of ['postgres', 'postgresql', 'PostgreSQL']) {
    it(`of ${scheme}://`, async () => {
      const { url, drop } = await testDatabase();
      const log = await openLog(url.replace(/^postgresql:/, `${scheme}:`));
      assert.equal(await log.append('commands', newRecords(2)), 0);
      await log.close();
      await drop();
    });
  }

  for (const scheme of ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover']) {
    it(`says that ${scheme}:// is to come, and what to do`, async () => {
      const error = await refusal(`${scheme}://admin:passw0rd@host:2113?tls=false`, 'passw0rd');
      assert.ok(error instanceof UnknownLogUrl);
      assert.match(error.message, /EventStoreDB .* no adapter .* keep the log in Postgres; give postgresql:\/\//);
    });
  }

  for (const url of ['', 'mysql://me:passw0rd@host/db', 'me:passw0rd@host/db', 'memory:', 'passw0rd://host']) {
    it(`names the schemes when it is given ${JSON.stringify(url)}`, async () => {
      const error = await refusal(url, 'passw0rd');
      assert.ok(error instanceof UnknownLogUrl);
      assert.match(error.message, /starts with neither postgres:\/\/ nor postgresql:\/\/ \(esdb:\/\//);
    });
  }

  it('says that a URL cannot be read', async () => {
    assert.match((await refusal('postgresql://me:passw0rd@host:99999999/db', 'passw0rd')).message, /cannot be read as a URL; give postgresql:/);
  });

  it('says that Postgres cannot be reached, or refuses the password', async () => {
    assert.ok(await refusal('postgresql://me:passw0rd@127.0.0.1:1/db', 'passw0rd') instanceof LogUnavailable);
    const { url, drop } = await testDatabase();
    assert.match((await refusal(url.replace(/:[0-9a-f]+@/, ':passw0rd@'), 'passw0rd')).message, /password authentication failed/);
    await drop();
  });
});
