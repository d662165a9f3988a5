/** The log in Postgres keeps the log's contract. */
import { openLog } from '../../engine/log/open-log.js';
import { startPostgresLink } from '../support/postgres-link.js';
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
  };
});
