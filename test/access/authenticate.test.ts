/** Finding the bearer token of a request: headers that are almost right, and for how long a token is remembered. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import { createAuthenticate, REMEMBERED_MS } from '../../service/access/authenticate.js';
import { TokensUnavailable, type FoundToken } from '../../service/access/token-store.js';
import { digestOf, tokenOf } from '../../service/access/token.js';

const TOKEN = tokenOf(Buffer.alloc(32, 7));
const NEVER_ISSUED = tokenOf(Buffer.alloc(32, 8));
const bot = { id: 3, name: 'bot', scopes: ['relay'] };

/** A store that has one token, counts the look-ups, and answers when it is let. */
function scene() {
  const sha256 = digestOf(TOKEN)!;
  const found: { row: FoundToken; lookUps: number; fail: Error | undefined; nowMs: number; errors: string[] } = {
    row: { ...bot, sha256, state: 'live', remainingMs: null, createdAt: new Date(0), expiresAt: null, revokedAt: null, lastUsedAt: null },
    lookUps: 0, fail: undefined, nowMs: 1_000, errors: [],
  };
  const authenticate = createAuthenticate({
    tokens: {
      use: async (asked) => {
        found.lookUps += 1;
        await Promise.resolve();
        if (found.fail !== undefined) throw found.fail;
        return asked.equals(sha256) ? found.row : undefined;
      },
    },
    now: () => found.nowMs, onError: (error) => { found.errors.push(error.message); },
  });
  const ask = async (...authorization: string[]) => {
    try {
      return await authenticate(authorization);
    } catch (error) {
      assert.ok(error instanceof RequestError, String(error));
      return error.detail === '' ? error.code : `${error.code}: ${error.detail}`;
    }
  };
  return { found, ask };
}

describe('access: the bearer token of a request', () => {
  const WRONG = 'invalid_token: this is no token of this exchange, or a part of it is wrong or missing';
  const UNKNOWN = 'invalid_token: no such token was issued';
  const cases: [readonly string[], unknown][] = [
    [[`Bearer ${TOKEN}`], bot], [[`bearer ${TOKEN}`], bot], [[`BEARER   ${TOKEN} `], bot],
    [[], 'missing_token'], [[''], 'missing_token'], [['Bearer'], 'missing_token'], [['Bearer '], 'missing_token'], [['Basic dXNlcjpwYXNz'], 'missing_token'],
    [[TOKEN], 'missing_token'], [[`Token ${TOKEN}`], 'missing_token'], [[`Bearer${TOKEN}`], 'missing_token'],
    [[`Bearer ${NEVER_ISSUED}`], UNKNOWN],
    [['Bearer x'], WRONG], [[`Bearer ${TOKEN}x`], WRONG], [[`Bearer ${TOKEN.slice(0, -1)}`], WRONG], [[`Bearer "${TOKEN}"`], WRONG], [[`Bearer ${TOKEN.toLowerCase()}`], WRONG],
    [[`Bearer ${TOKEN} ${TOKEN}`], WRONG], [[`Bearer ${TOKEN}, Basic dXNlcjpwYXNz`], WRONG], [[`Bearer Bearer ${TOKEN}`], WRONG],
    [[`Bearer ${TOKEN}`, `Bearer ${TOKEN}`], 'invalid_token: Authorization is given more than once'],
  ];
  for (const [authorization, answer] of cases) {
    it(`${JSON.stringify(authorization)}: ${typeof answer === 'string' ? answer : 'taken'}`, async () => { assert.deepEqual(await scene().ask(...authorization), answer); });
  }

  it('is looked up only if it could be one', async () => {
    const { found, ask } = scene();
    for (const [authorization, answer] of cases) if (answer === 'missing_token' || answer === WRONG) await ask(...authorization);
    assert.equal(found.lookUps, 0);
  });

  it('is refused with its reason when it has expired or is revoked, also from memory', async () => {
    for (const [state, reason] of [['expired', 'invalid_token: the token has expired'], ['revoked', 'invalid_token: the token is revoked']] as const) {
      const { found, ask } = scene();
      found.row = { ...found.row, state, remainingMs: state === 'expired' ? -5 : null };
      assert.deepEqual([await ask(`Bearer ${TOKEN}`), await ask(`Bearer ${TOKEN}`), found.lookUps], [reason, reason, 1]);
    }
  });

  it('is refused when the row that was found has another hash', async () => {
    const { found, ask } = scene();
    found.row = { ...found.row, sha256: Buffer.alloc(32) };
    assert.equal(await ask(`Bearer ${TOKEN}`), UNKNOWN);
  });

  it('is remembered for 5 seconds from the look-up, and no longer, so a revocation takes effect', async () => {
    const { found, ask } = scene();
    await ask(`Bearer ${TOKEN}`);
    found.row = { ...found.row, state: 'revoked' };
    found.nowMs += REMEMBERED_MS;
    assert.deepEqual([await ask(`Bearer ${TOKEN}`), found.lookUps], [bot, 1]);
    found.nowMs += 1;
    assert.deepEqual([await ask(`Bearer ${TOKEN}`), found.lookUps], ['invalid_token: the token is revoked', 2]);
    assert.equal(REMEMBERED_MS, 5_000);
  });

  it('is not remembered beyond its expiration', async () => {
    const { found, ask } = scene();
    found.row = { ...found.row, remainingMs: 300.9 };
    assert.deepEqual(await ask(`Bearer ${TOKEN}`), bot);
    found.row = { ...found.row, state: 'expired', remainingMs: 0 };
    found.nowMs += 300;
    assert.deepEqual(await ask(`Bearer ${TOKEN}`), bot);
    found.nowMs += 1;
    assert.equal(await ask(`Bearer ${TOKEN}`), 'invalid_token: the token has expired');
  });

  it('is looked up once for many requests at the same time, and unknown ones are not remembered', async () => {
    const { found, ask } = scene();
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(`Bearer ${TOKEN}`)));
    assert.deepEqual([answers, found.lookUps], [Array(10).fill(bot), 1]);
    await ask(`Bearer ${NEVER_ISSUED}`);
    await ask(`Bearer ${NEVER_ISSUED}`);
    assert.equal(found.lookUps, 3);
  });

  it('cannot be told while the database is away: unavailable, but for tokens that are remembered', async () => {
    const { found, ask } = scene();
    await ask(`Bearer ${TOKEN}`);
    found.fail = new TokensUnavailable(new Error('connect ECONNREFUSED'));
    assert.deepEqual(await ask(`Bearer ${TOKEN}`), bot);
    assert.equal(await ask(`Bearer ${NEVER_ISSUED}`), 'unavailable: the bearer tokens cannot be looked up');
    assert.deepEqual(found.errors, ['the database of the bearer tokens cannot be reached: connect ECONNREFUSED']);
    found.fail = undefined;
    assert.equal(await ask(`Bearer ${NEVER_ISSUED}`), UNKNOWN);
  });

  it('is refused as overloaded when too many look-ups wait', async () => {
    const { found, ask } = scene();
    const tokens = Array.from({ length: 1_001 }, (_, i) => tokenOf(Buffer.alloc(32, `token ${i}`)));
    const answers = await Promise.all(tokens.map((token) => ask(`Bearer ${token}`)));
    assert.deepEqual([answers.filter((answer) => answer === UNKNOWN).length, answers.at(-1)], [1_000, 'overloaded: too many bearer tokens to look up']);
    assert.deepEqual([await ask(`Bearer ${TOKEN}`), found.lookUps], [bot, 1_001]);
  });
});
