/** The outbox in Postgres keeps the contract of every outbox. */
import pg from 'pg';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox } from '../../command/lane/outbox.js';
import { testDatabase } from '../support/postgres.js';
import { describeOutbox } from './outbox-contract.js';

describe('lane: the outbox in Postgres', () => {
  describeOutbox(async () => {
    const { url, drop } = await testDatabase();
    async function rows(text: string, values: readonly unknown[] = []): Promise<unknown[]> {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        return (await client.query({ text, values: [...values], rowMode: 'array' })).rows;
      } finally {
        await client.end();
      }
    }
    return {
      outbox: createOutbox({ url, standByMs: 5 }), user: (whose) => openLaneUser({ url, standByMs: 5, ...whose }), close: drop,
      forgotten: (chainId) => rows('select status, data, note from lane.requests where chain_id = $1 and forgotten order by number', [chainId]),
      async endSessions() {
        await rows('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()');
      },
    };
  });
});
