/** The outbox in Postgres keeps the contract of every outbox. */
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox } from '../../command/lane/outbox.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { describeOutbox } from './outbox-contract.js';

describe('lane: the outbox in Postgres', () => {
  describeOutbox(async () => {
    const { url, drop } = await testDatabase();
    return {
      outbox: createOutbox({ url, standByMs: 5 }), user: (whose) => openLaneUser({ url, standByMs: 5, ...whose }), close: drop,
      forgotten: async (chainId) => {
        const rows = await runSql(url, 'select status, data, note from lane.requests where chain_id = $1 and forgotten order by number', [chainId]);
        return rows.map(({ status, data, note }) => [status, data, note]);
      },
      async endSessions() {
        await runSql(url, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()');
      },
    };
  });
});
