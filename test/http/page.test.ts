/** The page at `/`: what is served, how long browsers may keep it, and what it may load. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtPage } from '../../service/http/page.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';

const DOCUMENT = '<!doctype html><title>the page</title><script type="module" src="./assets/index-1a2b.js"></script>';
const SCRIPT = `export const words = '${'words '.repeat(200)}';`;

describe('service: the page', () => {
  let directory: string;
  let shell: RunningShell;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-page-'));
    await mkdir(join(directory, 'assets'));
    await writeFile(join(directory, 'index.html'), DOCUMENT);
    await writeFile(join(directory, 'manifest.json'), '{}');
    await writeFile(join(directory, 'assets', 'index-1a2b.js'), SCRIPT);
    shell = await startShell({ app: { frontPage: await builtPage(directory) } });
  });
  after(async () => {
    await shell.stop();
    await rm(directory, { recursive: true });
  });

  const get = (path: string, headers: Record<string, string> = {}) => once(shell.port, 'GET', path, { headers });

  it('is a document that browsers ask for again, under a policy that lets nothing in but the service\'s own', async () => {
    const { status, headers, body } = await get('/');
    assert.deepEqual([status, body, headers['cache-control'], headers['content-type']], [200, DOCUMENT, 'no-cache', 'text/html; charset=utf-8']);
    const policy = 'default-src \'none\';script-src \'self\';style-src \'self\';worker-src \'self\';img-src \'self\' data:;'
      + 'connect-src \'self\' https: http://127.0.0.1:* http://localhost:*;base-uri \'none\';form-action \'none\';frame-ancestors \'none\'';
    assert.equal(headers['content-security-policy'], policy);
    assert.deepEqual([headers['x-content-type-options'], headers['x-frame-options'], headers['referrer-policy'], headers['access-control-allow-origin']],
      ['nosniff', 'DENY', 'no-referrer', undefined]);
    assert.equal((await get('/?from=a-link')).body, DOCUMENT, 'whatever stands behind ?');
  });

  it('is not sent to a browser that has it', async () => {
    const etag = (await get('/')).headers['etag']!;
    const { status, body } = await get('/', { 'If-None-Match': etag });
    assert.deepEqual([status, body], [304, '']);
    assert.equal((await get('/', { 'If-None-Match': 'W/"another"' })).status, 200);
  });

  it('has assets that browsers keep for good, compressed for those who take it', async () => {
    const plain = await get('/assets/index-1a2b.js');
    assert.deepEqual([plain.status, plain.body, plain.headers['cache-control'], plain.headers['content-type']],
      [200, SCRIPT, 'public, max-age=31536000, immutable', 'text/javascript; charset=utf-8']);
    const wire = await Wire.connect(shell.port);
    const head = await wire.request('HEAD', '/assets/index-1a2b.js', { headers: { 'Accept-Encoding': 'gzip, br' } }).answer({ bodiless: true });
    wire.close();
    assert.deepEqual([head.status, head.headers['content-encoding'], head.headers['vary']], [200, 'gzip', 'Accept-Encoding']);
    assert.ok(Number(head.headers['content-length']) < SCRIPT.length / 5);
    assert.equal((await get('/assets/index-1a2b.js', { 'Accept-Encoding': 'gzip;q=0' })).headers['content-encoding'], undefined);
  });

  it('has nothing else: all other paths and methods are refused as before', async () => {
    for (const path of ['/manifest.json', '/index.html', '/assets', '/assets/', '/assets/index.js', '/assets/../manifest.json', '/assets/%2e%2e/manifest.json', '/ASSETS/index-1a2b.js']) {
      const { status, headers } = await get(path);
      assert.deepEqual([status, headers['content-type']], [404, 'application/problem+json; charset=utf-8'], path);
    }
    for (const method of ['POST', 'DELETE']) assert.equal((await once(shell.port, method, '/')).status, 404, method);
    assert.equal((await get('/api/v1/config')).status, 200);
  });

  it('is not there where it was not built', async () => {
    assert.equal(await builtPage(join(directory, 'nowhere')), undefined);
    assert.equal(await builtPage(join(directory, 'assets')), undefined, 'a build without its document is none');
  });
});
