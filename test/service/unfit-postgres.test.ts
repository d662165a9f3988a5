/** Which Postgres a process works with, and what the start says about any other one. */
import assert from 'node:assert/strict';
import type { ServerFacts } from '../../engine/log/postgres/server.js';
import { unfitPostgres } from '../../service/process/unfit-postgres.js';

const server = (facts: Partial<ServerFacts>): ServerFacts => ({ version: '18.1', versionNumber: 180_001, isStandby: false, ...facts });

describe('service: a Postgres that a process cannot work with', () => {
  it('is one before version 16, whatever it is used for', () => {
    const what = 'has version 15.14, and this program needs Postgres 16 or later: upgrade the server, or name another one';
    for (const isStandby of [false, true]) {
      assert.deepEqual(unfitPostgres(server({ version: '15.14', versionNumber: 150_014, isStandby }), ['query']), { what, hopeless: true });
    }
    for (const versionNumber of [160_000, 170_006, 190_000]) assert.equal(unfitPostgres(server({ versionNumber }), ['engine', 'lane']), undefined);
  });

  it('is a standby where a role needs the primary, until it is promoted', () => {
    const told = (who: string) => `is a standby, which takes no writes and may be behind, and ${who} the primary there: name the primary, and a standby in `
      + 'QUERY_DATABASE_URL or for processes with the role query alone';
    assert.deepEqual(unfitPostgres(server({ isStandby: true }), ['api']), { what: told('the role api needs'), hopeless: false });
    assert.deepEqual(unfitPostgres(server({ isStandby: true }), ['query', 'feed', 'engine']), { what: told('the roles feed, engine need'), hopeless: false });
    for (const users of [['query'], []] as const) assert.equal(unfitPostgres(server({ isStandby: true }), users), undefined);
  });
});
