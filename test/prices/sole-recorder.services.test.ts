/** Of several processes one records prices; another one takes over when that one ends; one that cannot reach the database stays what it was. */
import { equal } from 'node:assert/strict';
import type { StandBy } from '../../engine/reactor.js';
import { pause } from '../../engine/waiting.js';
import { openRecorderSession, soleRecorder, type SoleRecorder } from '../../command/prices/sole-recorder.js';
import { postgresStores } from '../harness/stores.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { startProxyTo, type UrlProxy } from '../support/proxies.js';
import { describeRecorderSession } from './recorder-session-contract.js';

describe('prices: who records, in Postgres', () => {
  describeRecorderSession(async () => {
    const { url, drop } = await testDatabase();
    return {
      open: postgresStores(url).openRecorderSession, close: drop,
      endSessions: () => runSql(url, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'),
    };
  });
});

describe('prices: which process records', () => {
  let database: TestDatabase;
  let proxy: UrlProxy;
  const opened: { readonly recorder: SoleRecorder; readonly stopping: AbortController }[] = [];

  before(async () => {
    database = await testDatabase();
    proxy = await startProxyTo(database.url);
  });
  after(async () => {
    for (const { stopping } of opened) stopping.abort();
    await Promise.all(opened.map(({ recorder }) => recorder.done));
    await proxy.close();
    await database.drop();
  });

  function begin(url: string) {
    const stopping = new AbortController();
    const open = (session: StandBy) => openRecorderSession({ url, standByMs: 20, ...session });
    const begun = { stopping, recorder: soleRecorder({ open, signal: stopping.signal, lookMs: 20, report: () => undefined }) };
    opened.push(begun);
    return begun;
  }
  /** Resolves once the process records, or does not; mocha's time limit ends a vain wait. */
  async function holds({ recorder }: { recorder: SoleRecorder }, wanted = true): Promise<void> {
    while (recorder.holds() !== wanted) await pause(5);
  }

  it('is one: the next one when that one ends, and still itself when it only cannot reach the database', async () => {
    const first = begin(database.url);
    await holds(first);
    const second = begin(proxy.url);
    first.stopping.abort();
    await first.recorder.done;
    await holds(second);
    const third = begin(database.url);
    equal(third.recorder.holds(), false);
    proxy.refuse();
    // Its session is gone, and with it the lock.
    await holds(third);
    equal(second.recorder.holds(), true);
    proxy.accept();
    await holds(second, false);
    equal(third.recorder.holds(), true);
  });
});
