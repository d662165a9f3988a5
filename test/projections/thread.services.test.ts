/** The projections' thread as the service sees it: what its failure does to a stop. */
import assert from 'node:assert/strict';
import { startProjectionThread } from '../../projections/thread/thread.js';
import { testDatabase } from '../support/postgres.js';

describe('service: the projections\' thread', () => {
  it('stops at once when it has failed before', async () => {
    const { url } = await testDatabase();
    const thread = startProjectionThread({ url: url.replace(/\/test_\w+$/, '/no_such_database'), logUrl: url }, () => undefined);
    await assert.rejects(thread.ended, /no_such_database/);
    await thread.stop();
  });

  it('ends without a failure when it is told to', async () => {
    const { url } = await testDatabase();
    const thread = startProjectionThread({ url, logUrl: url }, () => undefined);
    await thread.started;
    await thread.stop();
    await thread.ended;
  });
});
