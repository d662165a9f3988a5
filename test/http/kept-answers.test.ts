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

  it('is 304 for a client that has it, with its position and without a body, whatever Cache-Control it sends', async () => {
    for (const known of [ETAG, '"tag"', `"other", ${ETAG}`, `W/"a, b" ,"tag"`, '*', ' * ']) {
      for (const asked of [{}, { 'Cache-Control': 'no-cache' }, { 'Cache-Control': 'max-age=0, no-cache', 'Pragma': 'no-cache' }] as Record<string, string>[]) {
        const { status, headers, body } = await get({ 'If-None-Match': known, ...asked });
        assert.deepEqual([status, body.length, headers['etag'], headers['x-log-position'], headers['content-type']], [304, 0, ETAG, '7', undefined], known);
      }
    }
    assert.equal((await get({ 'If-None-Match': ETAG }, 'HEAD')).status, 304);
  });

  it('is 304 for a fetch that sends the tag, which adds Cache-Control by itself', async () => {
    const url = `http://127.0.0.1:${shell.port}${getContracts.path}`;
    const etag = (await fetch(url)).headers.get('ETag') ?? '';
    const again = await fetch(url, { headers: { 'If-None-Match': etag } });
    assert.deepEqual([again.status, again.headers.get('ETag'), await again.text()], [304, ETAG, '']);
  });

  it('shows web pages the tag, and lets them send it', async () => {
    assert.ok((await get()).headers['access-control-expose-headers']?.split(', ').includes('ETag'));
    const { headers } = await get({ 'Origin': 'https://a.example', 'Access-Control-Request-Method': 'GET' }, 'OPTIONS');
    assert.ok(headers['access-control-allow-headers']?.split(', ').includes('If-None-Match'));
  });

  it('is sent whole to a client that has another one, or none', async () => {
    for (const known of [undefined, '', '"other"', 'tag', 'W/"tag', '"*"', `"${ETAG}"`, '"tag2", W/"ta"']) {
      const { status, headers, body } = await get(known === undefined ? {} : { 'If-None-Match': known });
      assert.deepEqual([status, body.toString(), headers['etag'], headers['cache-control']], [200, BODY, ETAG, 'no-cache'], known);
    }
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
