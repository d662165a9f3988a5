/** An endpoint that needs a bearer token: who is refused, with which header and text, when, and what the handler and the document get. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { Type } from '../../engine/records/schema-types.js';
import { RequestError } from '../../engine/records/errors.js';
import { compileSchema } from '../../engine/records/schema.js';
import * as kind from '../../service/api/request-fields.js';
import { requireScope, type BearerToken } from '../../service/api/scopes.js';
import { bearer } from '../../service/api/authority.js';
import { objectOf, bind, defineEndpoint, errorsOf, type Handle } from '../../service/api/endpoint.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { createLimiters } from '../../service/http/limits.js';
import { problems } from '../../service/api/problems.js';
import { RelayerError, relayerErrors } from '../../service/api/relayer-errors.js';
import { bearerTokensFor } from '../../service/process/bearer-tokens.js';
import { createLogger } from '../../service/logger.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once, Wire, type WireAnswer } from '../support/wire.js';

const plain = {
  role: 'api', tag: 'Service', summary: 'A test', description: 'A test.', parameters: {}, authority: bearer('relay:ctf-split'),
  answer: { description: 'Anything.', schema: Type.Unknown(), examples: { none: null } }, errors: [], limit: 'orders', consistent: false,
} as const;

const relay = defineEndpoint({
  ...plain, id: 'relay', method: 'POST', path: '/relay', errorShape: relayerErrors,
  body: objectOf({ chainId: kind.chainId }, { optional: false, limitBytes: 100, examples: { one: { chainId: 1 } } }),
});

const told = defineEndpoint({ ...plain, id: 'told', method: 'GET', path: '/told', errorShape: problems });

const handle: Handle<typeof relay> = ({ body: { chainId } }, { token }) => {
  requireScope(token, 'relay:ctf-split');
  return { body: JSON.stringify({ chainId, token }) };
};

const holders: Readonly<Record<string, BearerToken>> = {
  all: { id: 1, name: 'all', scopes: ['relay'] }, split: { id: 2, name: 'split', scopes: ['relay:ctf-split'] }, merge: { id: 3, name: 'merge', scopes: ['relay:ctf-merge'] },
};

/** Takes the names of the holders for their tokens. */
function authenticate([authorization]: readonly string[]): Promise<BearerToken> {
  const [, name] = authorization?.split(' ') ?? [];
  if (name === undefined) return Promise.reject(new RequestError('missing_token'));
  const token = holders[name];
  return token === undefined ? Promise.reject(new RequestError('invalid_token', `it is ${name}`)) : Promise.resolve(token);
}

const routes = [bind(relay, handle), bind(told, (_, { token }) => ({ body: token.name }))];
const REALM = 'Bearer realm="prediction-exchange"';

interface Document {
  readonly paths: Record<string, { readonly post: Operation }>;
  readonly components: { readonly securitySchemes: Record<string, { readonly type: string; readonly scheme: string }> };
}

interface Operation {
  readonly security: unknown;
  readonly responses: Record<string, {
    readonly headers?: object;
    readonly content: Record<string, { readonly examples: Record<string, { readonly value: unknown }> }>;
  }>;
}

describe('service: an endpoint that needs a bearer token', () => {
  let shell: RunningShell;
  before(async () => { shell = await startShell({ app: { routes, authenticate } }); });
  after(() => shell.stop());

  const ask = (authorization: string | undefined, body = '{"chainId":"1"}') => once(shell.port, 'POST', '/relay', {
    body, headers: authorization === undefined ? {} : { Authorization: authorization },
  });
  const shown = ({ status, headers, body }: WireAnswer) => [status, headers['www-authenticate'], JSON.parse(body)] as unknown[];

  it('gives its handler the token, which has the scope or one that includes it', async () => {
    assert.deepEqual(shown(await ask('Bearer all')), [200, undefined, { chainId: 1, token: holders['all'] }]);
    assert.deepEqual(shown(await ask('Bearer split')), [200, undefined, { chainId: 1, token: holders['split'] }]);
  });

  it('answers as RFC 6750 says: no error attribute without a token, invalid_token, insufficient_scope with the scope', async () => {
    const failed = (error: string) => ({ success: false, error });
    assert.deepEqual(shown(await ask(undefined)), [401, REALM, failed('Missing bearer token')]);
    assert.deepEqual(shown(await ask('Bearer expired')), [401, `${REALM}, error="invalid_token", error_description="it is expired"`, failed('Invalid bearer token')]);
    assert.deepEqual(shown(await ask('Bearer merge')), [
      403, `${REALM}, error="insufficient_scope", error_description="the token lacks the scope relay:ctf-split", scope="relay:ctf-split"`,
      failed('Token lacks the scope relay:ctf-split'),
    ]);
  });

  it('answers other errors without a challenge, in its own shape', async () => {
    assert.deepEqual(shown(await ask('Bearer all', '{')), [400, undefined, { success: false, error: 'Invalid request body' }]);
    assert.deepEqual(shown(await ask('Bearer all', '{}')).slice(0, 2), [400, undefined]);
    assert.deepEqual(shown(await ask('Bearer all', 'x'.repeat(101))), [413, undefined, {
      success: false, error: 'the body is larger than this endpoint takes: at most 100 bytes',
    }]);
  });

  it('tells the reason and what to do in a problem document', async () => {
    const { status, headers, body } = await once(shell.port, 'GET', '/told', { headers: { Authorization: 'Bearer revoked' } });
    const { code, detail } = JSON.parse(body) as Record<string, unknown>;
    assert.deepEqual([status, headers['www-authenticate'], code, detail], [
      401, `${REALM}, error="invalid_token", error_description="it is revoked"`, 'invalid_token', 'it is revoked',
    ]);
    assert.equal((await once(shell.port, 'GET', '/told', { headers: { Authorization: 'Bearer all' } })).body, 'all');
  });

  it('refuses before the body: whatever it is, however large, and while it is still on its way', async () => {
    for (const body of ['{', 'x'.repeat(1_000)]) assert.equal((await ask(undefined, body)).status, 401);
    const wire = await Wire.connect(shell.port);
    wire.send('POST /relay HTTP/1.1\r\nHost: test\r\nContent-Type: text/plain\r\nContent-Length: 50\r\n\r\n');
    assert.equal((await wire.answer()).status, 401);
    wire.send('x'.repeat(50));
    wire.request('POST', '/relay', { body: '{"chainId":"2"}', headers: { Authorization: 'Bearer all' } });
    assert.equal((await wire.answer()).status, 200, 'the connection stays of use');
    wire.close();
  });

  it('counts requests without a token against the limit, which is checked first', async () => {
    const own = await startShell({ app: { routes, authenticate, limiters: createLimiters({ windowS: 60, orders: 1, reads: 0 }) } });
    assert.equal((await once(own.port, 'POST', '/relay', { body: '{}' })).status, 401);
    const second = await once(own.port, 'POST', '/relay', { body: '{}' });
    assert.deepEqual([second.status, second.headers['www-authenticate']], [429, undefined]);
    await own.stop();
  });

  it('forgets a client that leaves while its token is looked up', async () => {
    let found: (token: BearerToken) => void = () => undefined;
    let asked: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => { asked = resolve; });
    const own = await startShell({ app: { routes, authenticate: () => new Promise((resolve) => {
      found = resolve;
      asked();
    }) } });
    const wire = await Wire.connect(own.port);
    const gone = event(own.server, 'connection').then(([socket]) => event(socket as NodeJS.EventEmitter, 'close'));
    const second = await Wire.connect(own.port);
    second.send('POST /relay HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{');
    await isAsked;
    second.close();
    await gone;
    found(holders['all']!);
    assert.equal((await wire.request('GET', '/nothing').answer()).status, 404);
    assert.deepEqual([own.answered, own.failures], [[], []]);
    wire.close();
    await own.stop();
  });

  it('is not served by an application that cannot look tokens up', async () => {
    const own = await startShell({ app: { routes } });
    assert.equal((await once(own.port, 'GET', '/told', { headers: { Authorization: 'Bearer all' } })).status, 500);
    assert.match(String(own.failures[0]), /told needs a bearer token, but this application cannot look one up/);
    await own.stop();
  });

  it('lets pages of other sites send the token and read the challenge', async () => {
    const preflight = await once(shell.port, 'OPTIONS', '/relay');
    assert.match(preflight.headers['access-control-allow-headers'] ?? '', /\bAuthorization\b/);
    assert.match((await ask(undefined)).headers['access-control-expose-headers'] ?? '', /\bWWW-Authenticate\b/);
  });

  it('is documented with the scheme, the scope, and examples of its errors in its shape', () => {
    const document = JSON.parse(JSON.stringify(openapiDocument([relay], '1'))) as Document;
    const { security, responses } = document.paths['/relay']!.post;
    const { type, scheme } = document.components.securitySchemes['BearerToken']!;
    assert.deepEqual([security, type, scheme], [[{ BearerToken: ['relay:ctf-split'] }], 'http', 'bearer']);
    const isError = compileSchema(RelayerError);
    const texts = [...new Set(errorsOf(relay))].map((code) => {
      const [example] = Object.values(responses).flatMap(({ content }) => content?.['application/json']?.examples[code] ?? []);
      if (example === undefined) return code;
      assert.ok(isError(example.value), code);
      return (example.value as { error: string }).error;
    });
    for (const text of ['Missing bearer token', 'Invalid bearer token', 'Token lacks the scope relay', 'Invalid request body']) assert.ok(texts.includes(text), text);
    assert.deepEqual(Object.keys(responses['401']!.content['application/json']!.examples), ['missing_token', 'invalid_token']);
    const challenged = Object.entries(responses).flatMap(([status, { headers = {} }]) => 'WWW-Authenticate' in headers ? [status] : []);
    assert.deepEqual(challenged, ['401', '403']);
  });
});

describe('service: a process without endpoints that need bearer tokens', () => {
  it('opens nothing to look them up', async () => {
    const { lookUp, close } = bearerTokensFor([], { url: 'postgres://nowhere', logger: createLogger({ logLevel: 'silent' }) });
    assert.deepEqual(lookUp, {});
    await close();
  });
});
