/** The text of bearer tokens, their scopes, and what the CLI takes: tables of what is right and what is almost right. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { allows, requireScope, SCOPES, type Scope } from '../../service/api/scopes.js';
import { nameOf, scopesOf, secondsOf } from '../../tools/token/token-arguments.js';
import { digestOf, tokenOf, withoutTokens } from '../../service/access/token.js';
import { SettingError } from '../../service/settings.js';

const TOKEN = tokenOf(Buffer.from('00'.repeat(31) + '01', 'hex'));

describe('access: the text of a bearer token', () => {
  it('is the prefix, 32 bytes and their CRC-32 in base64url, and its digest is the SHA-256 of the text', () => {
    assert.equal(TOKEN, 'pex_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFuDWU7');
    assert.equal(TOKEN.length, 52);
    assert.deepEqual(digestOf(TOKEN), createHash('sha256').update(TOKEN).digest());
    assert.throws(() => tokenOf(Buffer.alloc(31)), RangeError);
  });

  it('has a digest for every secret', () => {
    fc.assert(fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (secret) => {
      const text = tokenOf(Buffer.from(secret));
      assert.deepEqual(digestOf(text), createHash('sha256').update(text).digest());
    }));
  });

  it('is known to be mistyped after one wrong character, or two neighbours that changed places', () => {
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const secret = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(fc.property(secret, fc.nat(47), fc.constantFrom(...characters), (bytes, at, other) => {
      const text = tokenOf(Buffer.from(bytes));
      const i = 4 + at;
      const wrong = text.slice(0, i) + other + text.slice(i + 1);
      const swapped = text.slice(0, i) + (text[i + 1] ?? '') + (text[i] ?? '') + text.slice(i + 2);
      for (const typed of [wrong, swapped]) assert.equal(digestOf(typed) !== undefined, typed === text, typed);
    }), { numRuns: 1_000 });
  });

  for (const [what, text] of Object.entries({
    'nothing': '', 'the prefix': 'pex_', 'another prefix': TOKEN.replace('pex_', 'pey_'), 'the prefix in capitals': TOKEN.replace('pex_', 'PEX_'), 'no prefix': TOKEN.slice(4),
    'a character less': TOKEN.slice(0, -1), 'a character more': `${TOKEN}A`, 'a line more': `${TOKEN}\n`, 'a space before it': ` ${TOKEN}`, 'padding': `${TOKEN}=`,
    'letters of base64': `${TOKEN.slice(0, -2)}+/`, 'other letters': `${TOKEN.slice(0, -1)}é`, 'one letter in the other case': TOKEN.replace('W', 'w'),
    'a token twice': TOKEN + TOKEN, 'a megabyte': `pex_${'A'.repeat(1 << 20)}`,
  })) {
    it(`has no digest when it is ${what}`, () => { assert.equal(digestOf(text), undefined); });
  }

  it('is taken out of any text, also cut or mistyped', () => {
    assert.equal(withoutTokens(`GET /x/${TOKEN}?a=${TOKEN.slice(0, 20)} "${TOKEN}x"`), 'GET /x/pex_(secret)?a=pex_(secret) "pex_(secret)"');
    for (const text of ['', 'no token', 'the prefix is pex_ alone']) assert.equal(withoutTokens(text), text);
  });
});

describe('access: scopes', () => {
  const cases: [readonly string[], Scope, boolean][] = [
    [['relay'], 'relay', true], [['relay'], 'relay:ctf-split', true], [['relay:ctf-split'], 'relay:ctf-split', true],
    [['relay:ctf-split'], 'relay:ctf-merge', false], [['relay:ctf-split'], 'relay', false], [['relay:ctf-merge', 'relay:ctf-split'], 'relay:ctf-split', true],
    [[], 'relay:ctf-split', false], [['relay:'], 'relay:ctf-split', false], [['relay:*'], 'relay:ctf-split', false], [['Relay'], 'relay:ctf-split', false],
    [['relay:ctf'], 'relay:ctf-split', false], [['relay:batch-ctf-redemption'], 'relay:ctf-redemption', false], [['of a later version'], 'relay', false],
  ];
  for (const [scopes, wanted, allowed] of cases) {
    it(`${JSON.stringify(scopes)} ${allowed ? 'allow' : 'do not allow'} ${wanted}`, () => {
      assert.equal(allows(scopes, wanted), allowed);
      if (allowed) requireScope({ scopes }, wanted);
      else assert.throws(() => { requireScope({ scopes }, wanted); }, { name: 'RequestError', code: 'insufficient_scope', detail: wanted });
    });
  }

  it('are one for all actions of the relayer, and one for each', () => {
    assert.deepEqual(SCOPES, [
      'relay', 'relay:ctf-approval', 'relay:usdc-permit', 'relay:ctf-redemption', 'relay:batch-ctf-redemption', 'relay:propose-resolution', 'relay:settle-market',
      'relay:ctf-split', 'relay:ctf-merge',
    ]);
  });
});

describe('access: what a new token may be', () => {
  it('a name that is never taken for an id', () => {
    for (const name of ['a', 'bot', 'Bot-7.eu_west@ops', 'a'.repeat(64)]) assert.equal(nameOf(name), name);
    for (const name of ['', '7', '7a', '-a', ' a', 'a b', 'a\n', 'é', 'a'.repeat(65)]) assert.throws(() => nameOf(name), SettingError, name);
  });

  it('scopes that there are, each once', () => {
    assert.deepEqual(scopesOf([])('relay'), ['relay']);
    assert.deepEqual(scopesOf(['relay'])('relay:ctf-split'), ['relay', 'relay:ctf-split']);
    assert.deepEqual(scopesOf(['relay'])('relay'), ['relay']);
    for (const scope of ['', 'Relay', 'relay:', 'relay:all', 'relay,relay:ctf-split', 'admin']) {
      assert.throws(() => scopesOf([])(scope), (error: Error) => error instanceof SettingError && error.message.includes('relay:propose-resolution'), scope);
    }
  });

  it('a time in seconds, minutes, hours or days', () => {
    const right: [string, number][] = [['1s', 1], ['75s', 75], ['90m', 5_400], ['12h', 43_200], ['30d', 2_592_000], ['3650d', 315_360_000]];
    for (const [text, seconds] of right) assert.equal(secondsOf(text), seconds);
    for (const text of ['', '0s', '0d', '10', 'd', '1w', '-1d', '1.5h', '1 d', '1D', '3651d', '999999999d', '1e3s']) assert.throws(() => secondsOf(text), SettingError, text);
  });
});
