/** Following the read models' position where no Postgres answers: how it connects again, by the pauses that it asks for. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import pg from 'pg';
import { followPositions } from '../../query/following.js';
import { within } from '../support/until.js';

describe('query: following the read models\' position', () => {
  it('pauses before each new connection to a server that refuses or ends it', async () => {
    const server = createServer((socket) => { socket.destroy(); }).listen(0, '127.0.0.1');
    await within('the server listens', once(server, 'listening'));
    const { port } = server.address() as AddressInfo;
    const told: string[] = [];
    await new Promise<void>((resolve) => {
      const follower = followPositions({
        connect() {
          told.push('connects');
          return new pg.Client({ host: '127.0.0.1', port });
        },
        position: () => Promise.resolve(0), onError: () => undefined,
        async pause(ms) {
          told.push(`pauses ${ms} ms`);
          if (told.length >= 6) void follower.close().then(resolve);
          await Promise.resolve();
        },
      });
    });
    server.close();
    assert.deepEqual(told, Array.from({ length: 3 }, () => ['connects', 'pauses 250 ms']).flat());
  });
});
