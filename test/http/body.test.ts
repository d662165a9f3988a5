/** The order route's body over a real socket: limits, wrong types, clients that stop, dawdle or send too much. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RequestError } from '../../engine/records/errors.js';
import { MAX_BODY_BYTES } from '../../service/api/endpoint.js';
import { ClientGone, readBody } from '../../service/http/request-steps.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';

const ORDERS = '/api/v1/orders';
const code = (body: string) => (JSON.parse(body) as { code: string }).code;

describe('service: request bodies', () => {
  let shell: RunningShell;
  before(async () => { shell = await startShell(); });
  after(() => shell.stop());

  it('takes a body of exactly the limit, in one piece or in many', async () => {
    const wire = await Wire.connect(shell.port);
    const body = 'x'.repeat(MAX_BODY_BYTES);
    assert.deepEqual(JSON.parse((await wire.request('POST', ORDERS, { body }).answer()).body), { bytes: MAX_BODY_BYTES });
    wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json; charset=UTF-8\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (const piece of ['a', 'bcd', 'e'.repeat(300)]) wire.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    wire.send('0\r\n\r\n');
    assert.deepEqual(JSON.parse((await wire.answer()).body), { bytes: 304 });
    wire.close();
  });

  it('refuses one byte more with 413, declared or chunked, and the connection stays of use', async () => {
    const wire = await Wire.connect(shell.port);
    const declared = await wire.request('POST', ORDERS, { body: 'x'.repeat(MAX_BODY_BYTES + 1) }).answer();
    assert.deepEqual([declared.status, code(declared.body)], [413, 'body_too_large']);
    const piece = 'y'.repeat(MAX_BODY_BYTES / 2);
    wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (let i = 0; i < 3; i++) wire.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    wire.send('0\r\n\r\n');
    const chunked = await wire.answer();
    assert.deepEqual([chunked.status, code(chunked.body)], [413, 'body_too_large']);
    assert.equal((await wire.request('POST', ORDERS, { body: '{}' }).answer()).status, 200);
    wire.close();
  });

  it('cuts off a client that sends on and on after its refusal', async () => {
    const own = await startShell({ limits: { requestTimeoutMs: 300_000 } });
    const wire = await Wire.connect(own.port);
    const pump = () => { if (!wire.socket.destroyed) while (wire.socket.write(Buffer.alloc(65_536))); };
    wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n`);
    assert.equal((await wire.answer()).status, 413);
    wire.socket.on('drain', pump);
    pump();
    await wire.closed;
    await own.stop();
  });

  it('refuses what is not uncompressed JSON in UTF-8 with 415', async () => {
    const wrong: Record<string, string>[] = [
      { 'Content-Type': 'text/plain' }, { 'Content-Type': 'application/json; charset=latin1' }, { 'Content-Type': '' },
      { 'Content-Type': 'application/jsonp' }, { 'Content-Encoding': 'gzip' }, { 'Content-Encoding': 'br' },
    ];
    for (const headers of wrong) {
      const { status, body } = await once(shell.port, 'POST', ORDERS, { headers, body: '{}' });
      assert.deepEqual([status, code(body)], [415, 'unsupported_media_type'], JSON.stringify(headers));
    }
    const right: Record<string, string>[] = [
      { 'Content-Type': 'Application/JSON' }, { 'Content-Type': 'application/json;charset="utf-8"' }, { 'Content-Encoding': 'identity' },
    ];
    for (const headers of right) assert.equal((await once(shell.port, 'POST', ORDERS, { headers, body: '{}' })).status, 200, JSON.stringify(headers));
  });

  it('leaves the content of a body to the handler, whose error is the answer', async () => {
    const own = await startShell({ handlers: { placeOrder: ({ body }) => {
      throw new RequestError('invalid_json', body.toString());
    } } });
    const { status, body } = await once(own.port, 'POST', ORDERS, { body: '{"order":' });
    assert.equal(status, 400);
    assert.deepEqual(JSON.parse(body), {
      type: '/openapi.json#/components/responses/invalid_json', title: 'what was sent is not a JSON object in UTF-8', status: 400, detail: '{"order":',
      error: 'what was sent is not a JSON object in UTF-8: {"order":', code: 'invalid_json',
    });
    await own.stop();
  });

  it('never calls the handler for a body that was cut short, and serves on', async () => {
    let calls = 0;
    const own = await startShell({ handlers: { placeOrder: () => ({ body: String(++calls) }) } });
    const wire = await Wire.connect(own.port);
    const [request] = await Promise.all([
      event(own.server, 'request') as Promise<[IncomingMessage]>,
      wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"a"`),
    ]).then(([[incoming]]) => [incoming]);
    const closed = new Promise((resolve) => request!.once('close', resolve));
    wire.close();
    await closed;
    assert.equal((await once(own.port, 'POST', ORDERS, { body: '{}' })).body, '1');
    assert.deepEqual(own.answered, [{ route: 'placeOrder', status: 200 }]);
    await own.stop();
  });

  it('does not wait for the body of a client that had left before it was asked for', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await event(server, 'listening');
    const wire = await Wire.connect((server.address() as AddressInfo).port);
    const requested = event(server, 'request') as Promise<[IncomingMessage]>;
    wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{`);
    const [request] = await requested;
    // Without a listener for its error, as while a bearer token is looked up.
    const closed = new Promise((resolve) => request.once('close', resolve));
    wire.close();
    await closed;
    await assert.rejects(readBody(request, MAX_BODY_BYTES), ClientGone);
    server.close();
  });

  it('answers 408 to a client that is too slow with its body or its head, and closes', async () => {
    const own = await startShell({ limits: { requestTimeoutMs: 200 } });
    for (const bytes of [`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{`, `POST ${ORDERS} HT`]) {
      const wire = await Wire.connect(own.port);
      const answer = await wire.send(bytes).answer();
      assert.deepEqual([answer.status, code(answer.body), answer.headers['connection']], [408, 'request_timeout', 'close']);
      await wire.closed;
    }
    await own.stop();
  });
});
