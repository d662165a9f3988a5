/** Answers that clients may keep: 304 and what asks for the whole answer all the same, compression as the client takes it, and what never changes. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { getContracts } from '../../command/chain/contracts.js';
import type { Reply } from '../../service/api/endpoint.js';
import { startShell, type RunningShell } from '../support/shell.js';

const BODY = JSON.stringify({ chains: Array(500).fill('the same') });
const ETAG = 'W/"tag"';
const COMPRESSED = gzipSync(BODY);

describe('service: answers that clients keep', () => {
  let shell: RunningShell;
  let reply: Reply;
  before(async () => { shell = await startShell({ handlers: { getContracts: () => reply } }); });
  beforeEach(() => { reply = { body: BODY, position: 7, etag: ETAG, gzipped: () => Promise.resolve(COMPRESSED) }; });
  after(() => shell.stop());

  const get = (headers: Record<string, string> = {}, method = 'GET') => new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: Buffer }>(
    (resolve, reject) => {
      http.request({ port: shell.port, path: getContracts.path, method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
          .on('end', () => { resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }); });
      }).on('error', reject).end();
    });

  it('is 304 for a client that has it, with its position and without a body', async () => {
    for (const known of [ETAG, '"tag"', `"other", ${ETAG}`, '*']) {
      const { status, headers, body } = await get({ 'If-None-Match': known });
      assert.deepEqual([status, body.length, headers['etag'], headers['x-log-position'], headers['content-type']], [304, 0, ETAG, '7', undefined], known);
    }
  });

  it('is sent whole to a client that has another one', async () => {
    for (const headers of [{}, { 'If-None-Match': '"other"' }, { 'If-None-Match': '"tag' }] as Record<string, string>[]) {
      const { status, headers: answered, body } = await get(headers);
      assert.deepEqual([status, body.toString(), answered['etag'], answered['cache-control']], [200, BODY, ETAG, 'no-cache'], JSON.stringify(headers));
    }
  });

  it('is 304 also with what browsers add for the caches on the way', async () => {
    for (const added of ['no-cache', 'max-age=0']) {
      assert.equal((await get({ 'If-None-Match': ETAG, 'Cache-Control': added })).status, 304, added);
    }
    const asked = await fetch(`http://127.0.0.1:${shell.port}${getContracts.path}`, { headers: { 'If-None-Match': ETAG } });
    assert.deepEqual([asked.status, await asked.text()], [304, ''], 'fetch');
  });

  it('is compressed for those who take gzip, and for nobody else', async () => {
    for (const takes of ['gzip', 'br, GZIP', '*', 'gzip;q=0.1, *;q=0', 'deflate, x-gzip']) {
      const { headers, body } = await get({ 'Accept-Encoding': takes });
      assert.deepEqual([headers['content-encoding'], headers['vary'], headers['content-length']], ['gzip', 'Accept-Encoding', String(COMPRESSED.length)], takes);
      assert.equal(gunzipSync(body).toString(), BODY);
    }
    for (const takes of [undefined, 'identity', 'br', 'gzip;q=0', 'gzip; q=0.000, *', '*;q=0']) {
      const { headers, body } = await get(takes === undefined ? {} : { 'Accept-Encoding': takes });
      assert.deepEqual([headers['content-encoding'], headers['vary'], body.toString()], [undefined, 'Accept-Encoding', BODY], takes);
    }
    assert.equal((await get({ 'Accept-Encoding': 'gzip', 'If-None-Match': ETAG })).status, 304);
  });

  it('may be kept for good where its headers say so', async () => {
    reply = { ...reply, headers: { 'Cache-Control': 'public, max-age=31536000, immutable' } };
    assert.equal((await get()).headers['cache-control'], 'public, max-age=31536000, immutable');
    reply = { body: BODY };
    assert.equal((await get()).headers['cache-control'], 'no-store');
  });
});
