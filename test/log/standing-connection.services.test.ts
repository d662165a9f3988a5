/** A connection that is made again after every loss, over a real Postgres: how it pauses, by the pauses that it asks for. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { createStandingConnection, type StandingConnection } from '../../engine/log/postgres/channel.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { startProxyTo, type UrlProxy } from '../support/proxies.js';

describe('log: a standing connection to Postgres', () => {
  let database: TestDatabase;
  let proxy: UrlProxy;
  let standing: StandingConnection;
  /** On the signal that ends it, at each pause. */
  let listeners: number[];
  beforeEach(async () => {
    listeners = [];
    database = await testDatabase();
    proxy = await startProxyTo(database.url);
  });
  afterEach(async () => {
    await standing.close();
    await proxy.close();
    await database.drop();
  });

  /** Stays connected until `pauses` has so many; resolves with them. `atConnection` is called with each connection's number, from 1. */
  function pausesOf(count: number, atConnection: (number: number) => void, now = (): number => 0): Promise<readonly number[]> {
    return new Promise((resolve) => {
      const pauses: number[] = [];
      let connections = 0;
      standing = createStandingConnection({
        url: proxy.url, name: 'standing', connectTimeoutMs: 5_000, statementTimeoutMs: 5_000, backoff: { firstMs: 20, longestMs: 100 }, now,
        connected: () => { atConnection(++connections); },
        async pause(ms, signal) {
          pauses.push(ms);
          listeners.push(getEventListeners(signal!, 'abort').length);
          if (pauses.length < count) return;
          resolve(pauses);
          await new Promise<void>((end) => { signal!.addEventListener('abort', () => { end(); }); });
        },
      });
      standing.stay();
      standing.stay();
    });
  }
  /** The server ends what connections there are, and takes new ones. */
  const breakOff = (): void => {
    proxy.refuse();
    proxy.accept();
  };

  it('pauses longer after each loss of a server that takes connections and ends them', async () => {
    assert.deepEqual(await pausesOf(5, breakOff), [20, 40, 80, 100, 100]);
  });

  it('begins with the first pause after a connection that lasted', async () => {
    let nowMs = 0;
    const pauses = await pausesOf(6, (connection) => {
      if (connection === 3) nowMs += 9_999;
      if (connection === 4) nowMs += 10_000;
      breakOff();
    }, () => nowMs);
    assert.deepEqual(pauses, [20, 40, 80, 20, 40, 80]);
  });

  it('pauses longer after each failure to connect, and leaves nothing of a failed try behind', async () => {
    proxy.refuse();
    assert.deepEqual(await pausesOf(4, () => assert.fail('it cannot be connected')), [20, 40, 80, 100]);
    assert.equal(new Set(listeners).size, 1, `listeners at each pause: ${listeners.join()}`);
  });

  it('ends though nobody answers, and has connected once however often it was told to stay', async () => {
    const connections: number[] = [];
    void pausesOf(1, (number) => { connections.push(number); });
    const client = await standing.get();
    await standing.close();
    await assert.rejects(client.query('select 1'));
    assert.ok(connections.length <= 1);
  });

  it('leaves nothing open when it is closed while it connects', async () => {
    standing = createStandingConnection({
      url: proxy.url, name: 'standing', connectTimeoutMs: 5_000, statementTimeoutMs: 5_000, backoff: { firstMs: 20, longestMs: 100 },
    });
    standing.stay();
    await standing.close();
    // A connection's process ends a moment after its client has closed it.
    const open = 'select count(*)::integer as count from pg_stat_activity where application_name = \'standing\' and datname = current_database()';
    for (let count = 1; count > 0;) [{ count }] = await runSql(database.url, open) as [{ count: number }];
  });
});
