/** What an endpoint's entry brings about at the shell: typed arguments, content types, error shapes, streams, and which methods are told. */
import assert from 'node:assert/strict';
import { EventEmitter, once as event } from 'node:events';
import { Type } from '../../engine/records/schema-types.js';
import { RequestError } from '../../engine/records/errors.js';
import { errors } from '../../service/api/errors.js';
import * as kind from '../../service/api/request-fields.js';
import { anybody } from '../../service/api/authority.js';
import { objectOf, bind, defineEndpoint, errorsOf, type Route } from '../../service/api/endpoint.js';
import { allEndpoints } from '../../service/endpoints.js';
import type { ErrorShape } from '../../service/api/error-shape.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { inHeader, inPath, inQuery } from '../../service/api/parameter.js';
import { createLimiters } from '../../service/http/limits.js';
import { problems } from '../../service/api/problems.js';
import { startShell } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';

const USER = `0x${'ab'.repeat(20)}`;

/** As a relayer answers. */
const success: ErrorShape = {
  contentType: 'application/json', schema: Type.Object({ success: Type.Literal(false), error: Type.String() }),
  example: (code) => ({ success: false, error: errors[code].text }),
  answer: ({ code }, { challenge } = {}) => ({
    status: errors[code].status, body: JSON.stringify({ success: false, error: errors[code].text }),
    headers: code === 'cancel_signature_required' && challenge !== undefined ? { 'WWW-Authenticate': challenge } : {},
  }),
};

const plain = { role: 'query', tag: 'Service', summary: 'A test', description: 'A test.', errors: [], limit: 'none', consistent: false } as const;
const anything = { description: 'Anything.', schema: Type.Unknown(), examples: { none: null } } as const;

const relay = defineEndpoint({
  ...plain, id: 'relay', method: 'POST', path: '/relay/{user}',
  parameters: {
    user: inPath('user', kind.address, { description: 'Who.', example: USER }),
    most: inQuery('limit', kind.limit({ byDefault: 5, max: 9 }), { description: 'How many.', example: 5 }),
    token: inHeader('X-Token', kind.optional(kind.position), { description: 'A number.', example: 1 }),
  },
  body: objectOf({ chainId: kind.optional(kind.chainId) }, { optional: true, limitBytes: 100, examples: { empty: {} } }),
  authority: { schemes: { Token: { type: 'http', scheme: 'bearer', description: 'A token.' } }, challenge: () => 'Bearer' }, errorShape: success, answer: anything,
  limit: 'orders',
});

const follow = defineEndpoint({
  ...plain, id: 'follow', method: 'GET', path: '/follow', parameters: {}, authority: anybody, errorShape: problems,
  answer: { ...anything, contentType: 'text/event-stream', stream: true },
});

const echo = bind(relay, (asked) => ({ body: JSON.stringify(asked) }));
const shellOf = (...routes: Route[]) => startShell({ app: { routes } });

describe('service: an endpoint', () => {
  it('gives its handler the values of path, query, headers and body, by their own names', async () => {
    const shell = await shellOf(echo);
    const answers = [
      await once(shell.port, 'POST', `/relay/${USER.toUpperCase().replace('0X', '0x')}`),
      await once(shell.port, 'POST', `/relay/${USER}?limit=9`, { headers: { 'x-token': '7' }, body: '{"chainId":"137"}' }),
    ];
    assert.deepEqual(answers.map(({ body }) => JSON.parse(body) as unknown), [
      { body: {}, user: USER, most: 5 }, { body: { chainId: 137 }, user: USER, most: 9, token: 7 },
    ]);
    await shell.stop();
  });

  it('answers every error in its own shape: of its parameters, its limit, its handler, and unexpected ones', async () => {
    const limiters = createLimiters({ windowS: 60, orders: 4, reads: 0 });
    let thrown: Error = new RequestError('cancel_signature_required');
    const shell = await startShell({ app: { routes: [bind(relay, () => { throw thrown; })], limiters } });
    const failed = async (path: string, options = {}) => {
      const { status, body, headers } = await once(shell.port, 'POST', path, options);
      assert.equal(headers['content-type'], 'application/json; charset=utf-8');
      return [status, JSON.parse(body), headers['www-authenticate']] as unknown[];
    };
    const text = (code: keyof typeof errors) => ({ success: false, error: errors[code].text });
    assert.deepEqual(await failed('/relay/bob'), [400, text('invalid_address'), undefined]);
    assert.deepEqual(await failed(`/relay/${USER}`, { body: '{' }), [400, text('invalid_json'), undefined]);
    assert.deepEqual(await failed(`/relay/${USER}`), [401, text('cancel_signature_required'), 'Bearer']);
    thrown = new TypeError('inside');
    assert.deepEqual(await failed(`/relay/${USER}`), [500, text('internal'), undefined]);
    assert.deepEqual(await failed(`/relay/${USER}`), [429, text('rate_limited'), undefined]);
    await shell.stop();
  });

  it('is documented with its shape of errors and its authority', () => {
    const document = JSON.parse(JSON.stringify(openapiDocument([relay], '1'))) as {
      paths: Record<string, { post: { security: unknown; responses: Record<string, { content: Record<string, { examples: unknown }> }> } }>;
      components: { securitySchemes: unknown };
    };
    const { security, responses } = document.paths['/relay/{user}']!.post;
    assert.deepEqual([security, document.components.securitySchemes], [
      [{ Token: [] }], { Token: { type: 'http', scheme: 'bearer', description: 'A token.' } },
    ]);
    assert.deepEqual(responses['429']!.content, {
      'application/json': { schema: { type: 'object', required: ['success', 'error'], properties: { success: { type: 'boolean', const: false }, error: { type: 'string' } } },
        examples: { rate_limited: { value: { success: false, error: errors.rate_limited.text } } } },
    });
    assert.deepEqual(errorsOf(relay).slice(0, 5), ['invalid_request', 'invalid_address', 'invalid_json', 'invalid_chain_id', 'body_too_large']);
  });

  it('takes the alternative content type that the client asks for', async () => {
    const shell = await startShell({ handlers: { listEvents: ({ contentType }) => ({ body: contentType }) } });
    const ask = async (accept: string) => {
      const { headers, body } = await once(shell.port, 'GET', '/api/v1/events', { headers: { Accept: accept } });
      return [body, headers['content-type']];
    };
    assert.deepEqual(await ask('application/x-ndjson'), ['application/x-ndjson', 'application/x-ndjson; charset=utf-8']);
    assert.deepEqual(await ask('*/*'), ['application/json', 'application/json; charset=utf-8']);
    await shell.stop();
  });

  it('takes the content type that the client likes best, and an alternative only by its name', async () => {
    const shell = await startShell({ handlers: { listEvents: ({ contentType }) => ({ body: contentType }) } });
    const ask = async (accept: string) => (await once(shell.port, 'GET', '/api/v1/events', { headers: { Accept: accept } })).body;
    const lines = [
      'application/x-ndjson, */*', 'Application/X-NDJSON', 'application/x-ndjson; charset=utf-8', 'application/json, application/x-ndjson', 'application/x-ndjson;q=abc',
      'application/json;q=0.5, application/x-ndjson;q=0.8', 'application/x-ndjson ; q=0.8,*/*;q=0.5', 'text/html, application/x-ndjson;q=0.001',
    ];
    for (const accept of lines) assert.equal(await ask(accept), 'application/x-ndjson', accept);
    const pages = [
      '', 'application/*', 'text/html', 'application/x-ndjson;q=0', 'application/x-ndjson;q=0, text/html', 'application/json, application/x-ndjson;q=0.9',
      'application/x-ndjson;q=0.5, */*;q=0.8', 'application/x-ndjson-seq', 'application/json;q=0',
    ];
    for (const accept of pages) assert.equal(await ask(accept), 'application/json', accept);
    await shell.stop();
  });
});

describe('service: a stream', () => {
  it('is sent piece by piece and ends with its source', async () => {
    const shell = await shellOf(bind(follow, () => ({ stream: pieces(['data: 1\n\n', 'data: 2\n\n']), position: 9 })));
    const response = await fetch(`http://127.0.0.1:${shell.port}/follow`);
    assert.deepEqual([response.status, ...['content-type', 'x-log-position', 'content-length'].map((name) => response.headers.get(name))], [
      200, 'text/event-stream; charset=utf-8', '9', null,
    ]);
    assert.equal(await response.text(), 'data: 1\n\ndata: 2\n\n');
    assert.deepEqual(shell.answered, [{ route: 'follow', status: 200 }]);
    await shell.stop();
  });

  it('has taken the time until it began, however long it lasts', async () => {
    let now = 1_000;
    const seconds: number[] = [];
    async function* slow() {
      now += 60_000;
      yield await Promise.resolve('data: 1\n\n');
    }
    const shell = await startShell({ app: {
      routes: [bind(follow, () => {
        now += 5;
        return { stream: slow() };
      })],
      now: () => now, observer: { answered: (_, __, took) => { seconds.push(took); }, failed: String },
    } });
    await (await fetch(`http://127.0.0.1:${shell.port}/follow`)).text();
    assert.deepEqual(seconds, [0.005]);
    await shell.stop();
  });

  it('ends when the client goes away, and its source is aborted', async () => {
    const told = new EventEmitter();
    async function* endless() {
      try {
        for (;;) yield 'x'.repeat(100_000);
      } finally {
        told.emit('ended');
      }
    }
    const shell = await shellOf(bind(follow, () => ({ stream: endless() })));
    const ended = event(told, 'ended');
    const wire = await Wire.connect(shell.port);
    const arrived = event(wire.socket, 'data');
    wire.request('GET', '/follow');
    await arrived;
    wire.close();
    await ended;
    await shell.stop();
  });

  it('is cut off, whatever waits to be sent, when its source says so', async () => {
    const cut = new AbortController();
    async function* endless() { for (;;) yield await Promise.resolve(Buffer.alloc(10_000_000)); }
    const shell = await shellOf(bind(follow, () => ({ stream: endless(), cut: cut.signal })));
    const wire = await Wire.connect(shell.port);
    wire.socket.once('data', () => { wire.socket.pause(); });
    const arrived = event(wire.socket, 'data');
    wire.request('GET', '/follow');
    await arrived;
    cut.abort();
    wire.socket.resume();
    await wire.closed;
    assert.ok(!wire.rest.endsWith('\r\n0\r\n\r\n'));
    await shell.stop();
  });

  it('ends whole when the service stops, although its source is silent', async () => {
    const source = { ended: false };
    const silent: AsyncIterator<string> = {
      next: () => new Promise(() => undefined),
      return: () => {
        source.ended = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
    const shell = await shellOf(bind(follow, () => ({ stream: { [Symbol.asyncIterator]: () => silent } })));
    const response = await fetch(`http://127.0.0.1:${shell.port}/follow`);
    shell.app.closeConnections();
    assert.deepEqual([await response.text(), source.ended], ['', true]);
    await shell.stop();
  });

  it('does not read on and on from a client that sends without end', async () => {
    const routes = [bind(follow, () => ({ stream: pieces(['data: 1\n\n']) }))];
    const shell = await startShell({ app: { routes }, limits: { requestTimeoutMs: 300_000 } });
    const wire = await Wire.connect(shell.port);
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const pump = () => { while (!wire.socket.destroyed && wire.socket.write(chunk)); };
    wire.send('GET /follow HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n').socket.on('drain', pump);
    pump();
    await wire.closed;
    await shell.stop();
  });

  it('breaks off, and is not taken for whole, when its source fails', async () => {
    async function* failing() {
      yield 'data: 1\n\n';
      await Promise.reject(new TypeError('inside'));
    }
    const shell = await shellOf(bind(follow, () => ({ stream: failing() })));
    await assert.rejects(async () => (await fetch(`http://127.0.0.1:${shell.port}/follow`)).text(), TypeError);
    assert.deepEqual(shell.failures.map(String), ['TypeError: inside']);
    await shell.stop();
  });
});

describe('service: a process of one role', () => {
  it('tells all methods of a path, and serves only its own', async () => {
    const routes = [bind(allEndpoints.find(({ id }) => id === 'listOrders')!, () => ({ body: '{}' }))];
    const shell = await startShell({ app: { routes, endpoints: allEndpoints } });
    const allow = 'POST, GET, HEAD, OPTIONS';
    assert.equal((await once(shell.port, 'OPTIONS', '/api/v1/orders')).headers['access-control-allow-methods'], allow);
    const wrong = await once(shell.port, 'PUT', '/api/v1/orders');
    assert.deepEqual([wrong.status, wrong.headers['allow']], [405, allow]);
    assert.equal((await once(shell.port, 'POST', '/api/v1/orders', { body: '{}' })).status, 404);
    assert.equal((await once(shell.port, 'GET', `/api/v1/orders?trader=${USER}`)).status, 200);
    await shell.stop();
  });
});

async function* pieces(texts: readonly string[]) {
  for (const text of texts) yield await Promise.resolve(text);
}
