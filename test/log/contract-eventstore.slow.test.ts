/** The log in EventStoreDB keeps the log's contract, on the test server or on the real one that EVENTSTORE_URL names. */
import { openLog } from '../../engine/log/open-log.js';
import { startEventStoreLink } from '../support/eventstore-link.js';
import { REAL_EVENTSTORE_URL, testEventStore } from '../support/eventstore-log.js';
import { logContract } from './contract.js';

logContract(REAL_EVENTSTORE_URL === '' ? 'EventStoreDB' : 'EventStoreDB (EVENTSTORE_URL)', async () => {
  const { url, close } = await testEventStore();
  return {
    open: () => openLog(url),
    async openFaulty(options) {
      const link = await startEventStoreLink(url);
      return { log: await openLog(link.url, options), link };
    },
    remove: close,
  };
});
