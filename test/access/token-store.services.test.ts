/** Bearer tokens in a real Postgres: issued, used, expired, revoked; what is stored of them; and several processes at once. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import { createAuthenticate, REMEMBERED_MS } from '../../service/access/authenticate.js';
import { issueToken } from '../../service/access/issue-token.js';
import { openTokenStore, TokensUnavailable, type TokenStore } from '../../service/access/token-store.js';
import { digestOf, tokenOf } from '../../service/access/token.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';

describe('access: bearer tokens in Postgres', () => {
  let database: TestDatabase;
  let store: TokenStore;
  let nowMs = 1_000;

  beforeEach(async () => {
    database = await testDatabase();
    store = openTokenStore({ url: database.url });
  });
  afterEach(() => store.close());

  /** What an administrator does to the database. */
  const sql = (text: string): Promise<unknown[]> => runSql(database.url, text);

  /** A process: what it answers to a request with the token. */
  function newProcess(): (text: string) => Promise<string> {
    const authenticate = createAuthenticate({ tokens: store, now: () => nowMs, onError: () => undefined });
    return async (text) => {
      try {
        return (await authenticate([`Bearer ${text}`])).name;
      } catch (error) {
        assert.ok(error instanceof RequestError, String(error));
        return error.detail;
      }
    };
  }

  it('are there as they were issued, each with its own secret', async () => {
    const { text, stored } = await issueToken(store, { name: 'bot', scopes: ['relay:ctf-split', 'relay:ctf-merge'], expiresInS: 3_600 });
    const other = await issueToken(store, { name: 'other', scopes: ['relay'] });
    const { createdAt, expiresAt, ...rest } = stored;
    assert.deepEqual(rest, { id: 1, name: 'bot', scopes: ['relay:ctf-split', 'relay:ctf-merge'], state: 'live', revokedAt: null, lastUsedAt: null });
    assert.equal(expiresAt!.getTime() - createdAt.getTime(), 3_600_000);
    assert.equal(other.stored.expiresAt, null);
    assert.notEqual(other.text, text);
    assert.deepEqual(await store.list(), [stored, other.stored]);
    const { remainingMs, sha256, ...found } = (await store.find(digestOf(text)!))!;
    assert.deepEqual([found, sha256], [stored, digestOf(text)]);
    assert.ok(remainingMs! > 0 && remainingMs! <= 3_600_000);
  });

  it('are stored as hashes only', async () => {
    const { text } = await issueToken(store, { name: 'bot', scopes: ['relay'] });
    const [row] = await sql('select to_json(t)::text as row from access.tokens t') as [{ row: string }];
    assert.ok(row.row.includes(digestOf(text)!.toString('hex')));
    const secret = text.slice(4);
    for (const form of [text, secret, Buffer.from(secret, 'base64url').toString('hex')]) assert.ok(!row.row.includes(form));
  });

  it('are taken while they are live, and in no case when they are almost right', async () => {
    const ask = newProcess();
    const { text } = await issueToken(store, { name: 'bot', scopes: ['relay'] });
    assert.equal(await ask(text), 'bot');
    assert.equal(await ask(tokenOf(Buffer.alloc(32, 1))), 'no such token was issued');
    assert.match(await ask(`${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`), /^this is no token of this exchange/);
  });

  it('note their last use to the minute', async () => {
    const { text } = await issueToken(store, { name: 'bot', scopes: ['relay'] });
    const lastUse = async () => (await store.list())[0]!.lastUsedAt;
    await newProcess()(text);
    const first = await lastUse();
    assert.ok(first !== null);
    await newProcess()(text);
    assert.deepEqual(await lastUse(), first, 'not once more within a minute');
    await sql(`update access.tokens set last_used_at = now() - interval '61 seconds'`);
    await newProcess()(text);
    assert.ok((await lastUse())! >= first);
    await store.revoke('bot');
    await sql('update access.tokens set last_used_at = null');
    await newProcess()(text);
    assert.equal(await lastUse(), null, 'a refused token is not used');
  });

  it('are refused once they have expired, by the clock of the database', async () => {
    const ask = newProcess();
    const { text } = await issueToken(store, { name: 'bot', scopes: ['relay'], expiresInS: 60 });
    assert.equal(await ask(text), 'bot');
    await sql('update access.tokens set expires_at = now()');
    nowMs += REMEMBERED_MS + 1;
    assert.equal(await ask(text), 'the token has expired');
    assert.equal((await store.list())[0]!.state, 'expired');
  });

  it('are refused in every process within 5 seconds of their revocation, by id or by name', async () => {
    const [first, second] = [newProcess(), newProcess()];
    const bot = await issueToken(store, { name: 'bot', scopes: ['relay'] });
    const other = await issueToken(store, { name: 'other', scopes: ['relay'] });
    assert.deepEqual([await first(bot.text), await second(bot.text), await second(other.text)], ['bot', 'bot', 'other']);
    const revoked = await store.revoke('bot');
    assert.deepEqual(revoked.map(({ id, state, revokedAt }) => [id, state, revokedAt !== null]), [[1, 'revoked', true]]);
    nowMs += REMEMBERED_MS + 1;
    assert.deepEqual([await first(bot.text), await second(bot.text), await second(other.text)], ['the token is revoked', 'the token is revoked', 'other']);
    assert.deepEqual((await store.revoke('2')).map(({ name }) => name), ['other']);
    assert.deepEqual([await store.revoke('bot'), await store.revoke('2'), await store.revoke('nobody'), await store.revoke('%')], [[], [], [], []]);
    assert.deepEqual((await store.list()).map(({ state }) => state), ['revoked', 'revoked']);
  });

  it('do not share a name while they are live, also when they are issued at the same time', async () => {
    const others = [openTokenStore({ url: database.url }), openTokenStore({ url: database.url })];
    const issued = await Promise.allSettled([store, ...others].map((each) => issueToken(each, { name: 'bot', scopes: ['relay'] })));
    for (const each of others) await each.close();
    const refused = issued.flatMap((each) => each.status === 'rejected' ? [(each.reason as Error).message] : []);
    assert.deepEqual(refused, Array(2).fill('bearer token 1 has the name bot: choose another name, or revoke that token first'));
    await sql('update access.tokens set expires_at = now()');
    await issueToken(store, { name: 'bot', scopes: ['relay'] });
    await store.revoke('bot');
    await issueToken(store, { name: 'bot', scopes: ['relay'] });
    assert.deepEqual((await store.list()).map(({ name, state }) => `${name} ${state}`), ['bot revoked', 'bot revoked', 'bot live']);
  });

  it('leave no trace of work that failed', async () => {
    await assert.rejects(store.alone(async (tokens) => {
      await tokens.add({ name: 'bot', scopes: ['relay'], sha256: Buffer.alloc(32) });
      throw new Error('on purpose');
    }), /on purpose/);
    assert.deepEqual(await store.list(), []);
  });

  it('cannot be asked for while Postgres is away, and can again without a new start', async () => {
    const nowhere = openTokenStore({ url: 'postgres://nobody@127.0.0.1:1/none' });
    await assert.rejects(nowhere.list(), TokensUnavailable);
    await assert.rejects(nowhere.alone(() => Promise.resolve()), { name: 'TokensUnavailable', message: /^the database .* cannot be reached: connect ECONNREFUSED/ });
    await nowhere.close();
    const { text } = await issueToken(store, { name: 'bot', scopes: ['relay'] });
    await sql(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'bearer tokens' and datname = current_database()`);
    await assert.doesNotReject(async () => {
      for (;;) {
        try {
          return await store.find(digestOf(text)!);
        } catch (error) {
          if (!(error instanceof TokensUnavailable)) throw error;
        }
      }
    });
  });
});
