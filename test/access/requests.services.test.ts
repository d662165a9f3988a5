/** Requests with bearer tokens of a real Postgres, where a scope is needed: without one, of another scope, expired, revoked, almost right. */
import assert from 'node:assert/strict';
import { Type } from '../../engine/records/schema-types.js';
import { issueToken } from '../../service/access/issue-token.js';
import { requireScope, type Scope } from '../../service/api/scopes.js';
import { openTokenStore, type TokenStore } from '../../service/access/token-store.js';
import { tokenOf } from '../../service/access/token.js';
import { bearer } from '../../service/api/authority.js';
import { bind, defineEndpoint } from '../../service/api/endpoint.js';
import { relayerErrors } from '../../service/api/relayer-errors.js';
import { createLogger } from '../../service/logger.js';
import { bearerTokensFor, type BearerTokens } from '../../service/process/bearer-tokens.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';

const SCOPE: Scope = 'relay:ctf-split';
const relay = defineEndpoint({
  id: 'relay', role: 'api', method: 'GET', path: '/relay', tag: 'Service', summary: 'A test', description: 'A test.', parameters: {},
  authority: bearer(SCOPE), errorShape: relayerErrors, answer: { description: 'Who asks.', schema: Type.Unknown(), examples: { none: null } },
  errors: [], limit: 'none', consistent: false,
});
const route = bind(relay, (_, { token }) => {
  requireScope(token, SCOPE);
  return { body: JSON.stringify(token.name) };
});

describe('access: requests', () => {
  let url: string;
  let store: TokenStore;
  let bearerTokens: BearerTokens;
  let shell: RunningShell;
  const lines: string[] = [];

  before(async () => {
    ({ url } = await testDatabase());
    store = openTokenStore({ url });
    bearerTokens = bearerTokensFor([route], { url, logger: createLogger({ logLevel: 'info' }, { write: (line) => { lines.push(line); } }) });
    shell = await startShell({ app: { routes: [route], ...bearerTokens.lookUp } });
  });
  after(async () => {
    await shell.stop();
    await bearerTokens.close();
    await store.close();
  });

  const issued = async (name: string, ...scopes: Scope[]) => (await issueToken(store, { name, scopes, expiresInS: 3_600 })).text;
  const ask = async (token: string | undefined) => {
    const { status, headers, body } = await once(shell.port, 'GET', '/relay', { headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } });
    const [, attributes = ''] = (headers['www-authenticate'] ?? '').split('realm="prediction-exchange"');
    return [status, JSON.parse(body) as unknown, attributes.replace(/^, /, '')];
  };
  const refused = (status: number, error: string, challenge: string) => [status, { success: false, error }, challenge];
  const invalid = (why: string) => refused(401, 'Invalid bearer token', `error="invalid_token", error_description="${why}"`);

  it('are taken with the scope, and with the one that includes it', async () => {
    assert.deepEqual(await ask(await issued('narrow', SCOPE)), [200, 'narrow', '']);
    assert.deepEqual(await ask(await issued('wide', 'relay')), [200, 'wide', '']);
    assert.deepEqual(await ask(await issued('two', 'relay:ctf-merge', SCOPE)), [200, 'two', '']);
  });

  it('are refused without a token, and with one that lacks the scope', async () => {
    assert.deepEqual(await ask(undefined), refused(401, 'Missing bearer token', ''));
    assert.deepEqual(await ask(await issued('merge', 'relay:ctf-merge')), refused(403, `Token lacks the scope ${SCOPE}`,
      `error="insufficient_scope", error_description="the token lacks the scope ${SCOPE}", scope="${SCOPE}"`));
  });

  it('are refused with a token that is expired, revoked, of another exchange or almost right', async () => {
    const [expired, revoked, right] = [await issued('expired', 'relay'), await issued('revoked', 'relay'), await issued('right', 'relay')];
    await runSql(url, `update access.tokens set expires_at = now() where name = 'expired'`);
    await store.revoke('revoked');
    assert.deepEqual(await ask(expired), invalid('the token has expired'));
    assert.deepEqual(await ask(revoked), invalid('the token is revoked'));
    assert.deepEqual(await ask(tokenOf(Buffer.alloc(32, 3))), invalid('no such token was issued'));
    const wrong = 'this is no token of this exchange, or a part of it is wrong or missing';
    const last = right.endsWith('A') ? 'B' : 'A';
    for (const almost of [right.slice(0, -1), `${right}A`, right.slice(0, -1) + last, right.toUpperCase(), right.slice(4), `"${right}"`]) {
      assert.deepEqual(await ask(almost), invalid(wrong), almost);
    }
    assert.deepEqual(await ask(right), [200, 'right', '']);
  });

  it('are answered 503 while the database of the tokens is away, which is logged without the token', async () => {
    const away = bearerTokensFor([route], {
      url: 'postgres://nobody:hunter2@127.0.0.1:1/none', logger: createLogger({ logLevel: 'info' }, { write: (line) => { lines.push(line); } }),
    });
    const own = await startShell({ app: { routes: [route], ...away.lookUp } });
    const token = tokenOf(Buffer.alloc(32, 4));
    const { status, headers, body } = await once(own.port, 'GET', '/relay', { headers: { Authorization: `Bearer ${token}` } });
    assert.deepEqual([status, headers['retry-after'], JSON.parse(body)], [503, '1', {
      success: false, error: 'the exchange cannot answer this now; ask again: the bearer tokens cannot be looked up',
    }]);
    assert.match(lines.join(''), /"level":"warn".*cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1/);
    assert.doesNotMatch(lines.join(''), /pex_|hunter2/);
    await own.stop();
    await away.close();
  });
});
