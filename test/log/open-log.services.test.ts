/** A log is opened by its URL; no error shows the password in one. */
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { LogUnavailable } from '../../engine/log/log.js';
import { openLog, UnknownLogUrl } from '../../engine/log/open-log.js';
import { startEventStoreServer } from '../support/eventstore-server.js';
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

  for (const scheme of ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover', 'KurrentDB']) {
    it(`of ${scheme}://`, async () => {
      const server = await startEventStoreServer();
      const log = await openLog(server.url.replace(/^esdb:/, `${scheme}:`));
      assert.equal(await log.append('commands', newRecords(2)), 0);
      await log.close();
      await server.close();
    });
  }

  for (const [what, url, message] of [
    ['no host', 'esdb://me:passw0rd@', /cannot be read/],
    ['a wrong port', 'esdb://me:passw0rd@host:99999', /a port that cannot be read/],
    ['a password with an @', 'esdb://me:passw0rd@1@host', /cannot be read/],
    ['a password that cannot be decoded', 'esdb://me:passw0rd%zz@host', /write special characters as %40/],
    ['reads from followers', 'esdb://me:passw0rd@host?nodePreference=follower', /nodePreference must be leader/],
    ['an option that breaks a promise', 'esdb://me:passw0rd@host?throwOnAppendFailure=false', /the options of the URL are tls,/],
    ['an option twice', 'esdb://me:passw0rd@host?tls=true&tls=false', /each once/],
    ['half a certificate', 'esdb://me:passw0rd@host?userKeyFile=x', /together or not at all/],
    ['a prefix of the server\'s', 'esdb://me:passw0rd@host?streamPrefix=$all', /streamPrefix is 1 to 100/],
    ['neither true nor false', 'esdb://me:passw0rd@host?tls=no', /tls is true or false/],
  ] as const) {
    it(`says what is wrong with the URL of an EventStoreDB: ${what}`, async () => {
      const error = await refusal(url, 'passw0rd');
      assert.ok(error instanceof UnknownLogUrl);
      assert.match(error.message, message);
      assert.match(error.message, /; give esdb:\/\/user:password@host:2113, /);
    });
  }

  for (const url of ['', 'mysql://me:passw0rd@host/db', 'me:passw0rd@host/db', 'memory:', 'passw0rd://host']) {
    it(`names the schemes when it is given ${JSON.stringify(url)}`, async () => {
      const error = await refusal(url, 'passw0rd');
      assert.ok(error instanceof UnknownLogUrl);
      assert.match(error.message, /starts with none of postgres:\/\/, postgresql:\/\/, esdb:\/\/, /);
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
