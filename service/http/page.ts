/** The page at `/`: one document, and below `/assets` the scripts and styles of its build, each sent compressed. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Router, type RequestHandler, type Request, type Response } from 'express';
import { pageWithWalletHeaders } from './security.js';

/** Where the build of the page is, beside the build of the service. */
const BUILT = fileURLToPath(new URL('../../site/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml', '.wasm': 'application/wasm', '.json': 'application/json',
};

interface File {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly compressed: Buffer;
}

/**
 * The handler of `/` and `/assets`, which has read every file of the build; undefined where there is no build. Other
 * paths are passed on.
 */
export async function builtPage(directory = BUILT): Promise<RequestHandler | undefined> {
  const files = await filesOf(directory);
  const document = files.get('/index.html');
  if (document === undefined) return undefined;
  const router = Router({ caseSensitive: true, strict: true });
  const headers = pageWithWalletHeaders();
  router.use((request, response, next) => {
    const { method, path } = request;
    const file = path === '/' ? document : path.startsWith('/assets/') ? files.get(path) : undefined;
    if (file === undefined || (method !== 'GET' && method !== 'HEAD')) {
      next();
      return;
    }
    headers(request, response, (error?: unknown) => {
      if (error === undefined) send(file, path === '/', request, response); else next(error);
    });
  });
  return router;
}

/** An asset's name changes with its content; the document is asked for again every time, and seldom sent. */
function send({ type, etag, body, compressed }: File, isDocument: boolean, request: Request, response: Response): void {
  const takesGzip = request.acceptsEncodings('gzip') === 'gzip';
  response.set({
    'Cache-Control': isDocument ? 'no-cache' : 'public, max-age=31536000, immutable',
    'Content-Type': type, 'ETag': etag, 'Vary': 'Accept-Encoding',
    ...takesGzip ? { 'Content-Encoding': 'gzip' } : {},
  });
  if (request.fresh) {
    response.status(304).end();
    return;
  }
  const sent = takesGzip ? compressed : body;
  response.set('Content-Length', String(sent.length));
  response.end(request.method === 'HEAD' ? undefined : sent);
}

/** The files of a folder by their path below it, such as `/assets/index-1a2b.js`; none where there is no such folder. */
async function filesOf(directory: string): Promise<ReadonlyMap<string, File>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  const found = entries.filter((entry) => entry.isFile()).map(async (entry): Promise<[string, File]> => {
    const path = `${entry.parentPath}/${entry.name}`;
    const body = await readFile(path);
    const compressed = await promisify(gzip)(body, { level: 9 });
    // Weak, since the compressed bytes have the same tag.
    const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const name = path.slice(directory.length).replaceAll('\\', '/').replace(/^\/*/, '/');
    return [name, { type: TYPES[extname(name)] ?? 'application/octet-stream', etag, body, compressed }];
  });
  return new Map(await Promise.all(found));
}
