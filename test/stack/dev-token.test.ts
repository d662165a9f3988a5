/** The development stack's token for its own page: who gets it, and who does not. */
import assert from 'node:assert/strict';
import { giveToken, TOKEN_PATH, tokenRoutes } from '../../stack/dev-token.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';

const TOKEN = 'a-token';

describe('the development stack\'s token for the page', () => {
  let shell: RunningShell;
  before(async () => { shell = await startShell({ app: { routes: [...tokenRoutes(TOKEN)], ownPagesOnly: [giveToken] } }); });
  after(() => shell.stop());

  const ask = async (headers: Record<string, string>) => {
    const { status, headers: answered, body } = await once(shell.port, 'POST', TOKEN_PATH, { headers });
    const { token, code } = JSON.parse(body) as { readonly token?: string; readonly code?: string };
    return [status, token ?? code, answered['access-control-allow-origin']];
  };

  it('is given to a page of this address, which no page of another site can read', async () => {
    for (const host of [`127.0.0.1:${shell.port}`, `localhost:${shell.port}`]) {
      assert.deepEqual(await ask({ Host: host, Origin: `http://${host}` }), [200, TOKEN, undefined]);
    }
  });

  it('is refused to pages of other sites, of other ports, and of names that somebody points at this machine', async () => {
    const host = `127.0.0.1:${shell.port}`;
    const strangers = [
      { Host: host, Origin: 'https://elsewhere.example' }, { Host: host, Origin: 'http://127.0.0.1:1' }, { Host: host, Origin: 'null' },
      { Host: 'elsewhere.example', Origin: 'http://elsewhere.example' }, { Host: 'elsewhere.example' },
    ];
    for (const headers of strangers) assert.deepEqual((await ask(headers)).slice(0, 2), [403, 'other_site'], JSON.stringify(headers));
  });

  it('is at no path of the exchange itself', async () => {
    const plain = await startShell();
    const { status } = await once(plain.port, 'POST', TOKEN_PATH, { headers: { Host: `127.0.0.1:${plain.port}` } });
    await plain.stop();
    assert.equal(status, 404);
  });
});
