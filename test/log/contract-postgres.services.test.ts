/** The log in Postgres keeps the log's contract. */
import { openLog } from '../../engine/log/open-log.js';
import { startPostgresLink } from '../support/postgres-link.js';
import { placed } from '../support/log-records.js';
import { onDatabase } from '../support/postgres-cluster.js';
import { testDatabase } from '../support/postgres.js';
import { logContract } from './contract.js';

logContract('Postgres', async () => {
  const { url, drop } = await testDatabase();
  return {
    open: () => openLog(url),
    async openFaulty(options) {
      const link = await startPostgresLink(url);
      return { log: await openLog(link.url, options), link };
    },
    remove: drop,
    forget: (from, others = []) => onDatabase(url, async (client) => {
      await client.query('begin');
      await client.query('delete from log.records where stream = 0 and position >= $1', [from]);
      for (const { position, id, data } of placed(from, others)) await client.query('insert into log.records values (0, $1, $2, $3)', [position, id, data]);
      await client.query('update log.streams set length = $1 where stream = 0', [from + others.length]);
      await client.query('commit');
    }),
  };
}, { forgets: true });
