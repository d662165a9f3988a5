/** What a process of production needs from its settings: it starts nothing itself. */
import { deepEqual, rejects } from 'node:assert/strict';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { namedResources } from '../../service/resources.js';

describe('the resources of the settings', () => {
  const open = (environment: Record<string, string>) => namedResources(parseConfig(environment), {
    environment, signs: false, logger: createLogger({ logLevel: 'silent' }), steps: [],
  });

  it('are not there without a Postgres, or with the chain of the development stack', async () => {
    await rejects(open({}), { name: 'CannotStart', hopeless: true, message: /^DATABASE_URL is not set: .*npm start does/ });
    const dev = open({ DATABASE_URL: 'postgres://db/exchange', CHAINS: 'dev' });
    await rejects(dev, { name: 'CannotStart', hopeless: true, message: /^CHAINS=dev needs the development stack/ });
  });

  it('are the URLs of the settings, each where it is not that of the read models', async () => {
    const [readModels, log, outbox, reads] = ['a', 'b', 'c', 'd'].map((name) => `postgres://db/${name}`) as [string, string, string, string];
    deepEqual(await open({ DATABASE_URL: readModels, CHAINS: 'none' }), { urls: { readModels, log: readModels, outbox: readModels }, chains: [] });
    const { urls } = await open({ DATABASE_URL: readModels, LOG_URL: log, OUTBOX_URL: outbox, QUERY_DATABASE_URL: reads });
    deepEqual(urls, { readModels, log, outbox, reads });
  });
});
