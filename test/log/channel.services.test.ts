/** A channel over a real Postgres: what reaches whom, what is sent once, and what happens without a connection. */
import assert from 'node:assert/strict';
import { createChannel, type NotifyChannel, type ChannelOptions } from '../../engine/log/postgres/channel.js';
import { startProxyTo, type UrlProxy } from '../support/proxies.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

describe('log: a channel between processes', () => {
  let database: TestDatabase;
  let proxy: UrlProxy;
  let heard: string[];
  let told: string[];
  let hearing: NotifyChannel;
  before(async () => {
    database = await testDatabase();
    proxy = await startProxyTo(database.url);
  });
  after(async () => {
    await proxy.close();
    await database.drop();
  });
  beforeEach(async () => {
    [heard, told] = [[], []];
    hearing = open({
      url: proxy.url, backoff: { firstMs: 1, longestMs: 1 }, heard: (text) => { heard.push(text); },
      connected: (isStandby) => { told.push(isStandby ? 'standby' : 'connected'); }, lost: () => { told.push('lost'); },
    });
    hearing.hear();
    await until('it hears', () => told.includes('connected'));
  });
  afterEach(() => hearing.close());

  function open(options: Partial<ChannelOptions> = {}): NotifyChannel {
    return createChannel({ url: database.url, name: 'channel under test', channel: 'under_test', connectTimeoutMs: 5_000, statementTimeoutMs: 5_000, ...options });
  }

  it('carries messages in order to who hears, also the empty one', async () => {
    const telling = open();
    for (const text of ['first', '', 'it\'s "third"']) await telling.tell(text);
    await until('the messages', () => heard.length === 3);
    assert.deepEqual(heard, ['first', '', 'it\'s "third"']);
    await telling.close();
  });

  it('sends what was told meanwhile at once, of each key the latest only', async () => {
    const telling = open({ betweenMs: 60_000 });
    const first = telling.tell('a 1', 'a');
    for (const [text, key] of [['a 2', 'a'], ['b 1', 'b'], ['a 3', 'a']] as const) void telling.tell(text, key);
    await until('the first message', () => heard.length === 1);
    await telling.close();
    await first;
    await hearing.tell('end');
    await until('the end', () => heard.includes('end'));
    assert.deepEqual(heard, ['a 1', 'a 3', 'b 1', 'end']);
  });

  it('hears again after its connection was cut, and says that messages may be lost', async () => {
    proxy.refuse();
    await until('the loss', () => told.includes('lost'));
    proxy.accept();
    await until('the next connection', () => told.length >= 3);
    assert.deepEqual(told, ['connected', 'lost', 'connected']);
    await hearing.tell('again');
    await until('a message', () => heard.length > 0);
    assert.deepEqual(heard, ['again']);
  });

  it('neither fails nor tells without a database, and says why', async () => {
    const errors: Error[] = [];
    const lonely = open({ url: 'postgresql://127.0.0.1:1/none', backoff: { firstMs: 1, longestMs: 1 }, failed: (error) => { errors.push(error); } });
    await lonely.tell('nobody');
    lonely.hear();
    await until('an error', () => errors.length >= 2);
    await lonely.close();
    await lonely.tell('too late');
    assert.match(errors[0]?.message ?? '', /ECONNREFUSED/);
  });
});
