/** The log in Postgres keeps the log's contract. */
import { openLog } from '../../engine/log/open-log.js';
import { startProxyTo, type Fate, type FaultyLink } from '../support/proxies.js';
import { placed } from '../support/log-records.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { onDatabase } from '../support/sql.js';
import { logContract } from './contract.js';

/** `url` is the database's own; the log is to be opened with the returned one. */
async function startPostgresLink(url: string): Promise<FaultyLink & { readonly url: string }> {
  const proxy = await startProxyTo(url);
  let fates: Fate[] = [];
  const link: FaultyLink & { readonly url: string } = {
    url: proxy.url,
    next(...next) { fates = next; },
    get replied() { return proxy.replied; },
    set replied(replied) { proxy.replied = replied; },
    met: () => undefined,
    refuse: () => { proxy.refuse(); },
    accept: () => { proxy.accept(); },
    release: () => proxy.release(),
    close: () => proxy.close(),
  };
  proxy.fate = (request) => {
    const fate = request.includes('log_append') ? fates.shift() ?? 'pass' : 'pass';
    if (fate !== 'pass') link.met();
    return fate;
  };
  return link;
}

let database: TestDatabase | undefined;
after(async () => { await database?.drop(); });

logContract('Postgres', async () => {
  const { url } = database ??= await testDatabase();
  return {
    open: () => openLog(url),
    async openFaulty(options) {
      const link = await startPostgresLink(url);
      return { log: await openLog(link.url, options), link };
    },
    // A tenth of a new database's processor time.
    remove: () => onDatabase(url, async (client) => { await client.query('drop schema log cascade'); }),
    forget: (from, others = []) => onDatabase(url, async (client) => {
      await client.query('begin');
      await client.query('delete from log.records where stream = 0 and position >= $1', [from]);
      for (const { position, id, data } of placed(from, others)) await client.query('insert into log.records values (0, $1, $2, $3)', [position, id, data]);
      await client.query('update log.streams set length = $1 where stream = 0', [from + others.length]);
      await client.query('commit');
    }),
  };
}, { forgets: true });
