/** Reads a request's body from its stream, within a limit. Clients may stop, be slow or send too much. */
import type { IncomingMessage } from 'node:http';
import { RequestError } from '../../engine/records/errors.js';
import type { Body } from '../api/endpoint.js';
import type { ClientError } from '../api/errors.js';
import type { Middleware } from './step.js';

/** How much of an unwanted body is read and dropped, so that the connection stays open and the client can read the answer. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

/** The client closed the connection before its request was complete, so no answer can be sent. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection before its request was complete');
    this.name = 'ClientGone';
  }
}

/** Reads the bytes of the body; where the body is optional, only if the request has one. */
export function readJsonBody({ optional, limitBytes }: Pick<Body, 'optional' | 'limitBytes'>): Middleware {
  return async (request, _response, next) => {
    const { headers } = request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (hasBody || !optional) request.body = await readBody(request, limitBytes);
    next();
  };
}

/** For a page, which takes no body: one that is sent is dropped while the page is answered, within the limit of every unwanted body. */
export const withoutBody: Middleware = (request, _response, next) => {
  discardBody(request);
  next();
};

/**
 * The whole body as bytes. Rejects with RequestError `unsupported_media_type` or `body_too_large` before reading more than
 * `limitBytes`, and with ClientGone when the connection ends first. The server's `requestTimeout` limits the time.
 */
export function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed && !request.complete) {
      reject(new ClientGone());
      return;
    }
    const refusal = refuse(request, limitBytes);
    if (refusal !== undefined) {
      reject(refusal);
      return;
    }
    let first: Buffer | undefined;
    let rest: Buffer[] | undefined;
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limitBytes) {
        first = rest = undefined;
        reject(tooLarge(limitBytes));
      } else if (first === undefined) first = chunk;
      else (rest ??= [first]).push(chunk);
    });
    request.on('end', () => { resolve(rest !== undefined ? Buffer.concat(rest, bytes) : first ?? Buffer.alloc(0)); });
    request.on('error', () => { reject(new ClientGone()); });
  });
}

/** Why a body is refused by its headers alone; undefined if they are acceptable. */
function refuse(request: IncomingMessage, limitBytes: number): ClientError | undefined {
  const headers = request.headers;
  if (!isJson(headers['content-type'])) return new RequestError('unsupported_media_type');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return new RequestError('unsupported_media_type', `Content-Encoding ${encoding} is not supported`);
  }
  const length = headers['content-length'];
  if (length !== undefined && Number(length) > limitBytes) return tooLarge(limitBytes);
  return undefined;
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?$/i;

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && (contentType === 'application/json' || JSON_TYPE.test(contentType));
}

function tooLarge(limitBytes: number): ClientError {
  return new RequestError('body_too_large', `at most ${limitBytes} bytes`);
}

/**
 * Reads and drops the rest of a request that has been answered. Beyond 1 MiB the connection is destroyed: reading without end would cost
 * as much as the refused body.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined) return;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) request.socket.destroy();
  });
  request.on('error', () => undefined);
  request.resume();
}
