/**
 * The last step of a request that went well: calls the endpoint's handler and sends what it returns; and how any answer
 * is sent.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiRequest, Endpoint, Reply, Route, SentReply, StreamReply } from '../api/endpoint.js';
import type { StreamConnections } from './connections.js';
import type { AppEnding } from './ending.js';
import { addressKey } from './limits.js';
import { ownUrl } from './own-url.js';
import type { Observer } from '../status/metrics.js';
import { COMMON_HEADERS } from './security.js';
import type { Middleware, StepRequest, StepResponse } from './step.js';

export interface AnswerParts extends StreamReplyParts {
  readonly observer: Observer;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Number of trusted proxies in front of the service. */
  readonly trustProxy: number;
}

export function answer({ endpoint, handler }: Route, parts: AnswerParts): Middleware {
  const { ending, observer, now } = parts;
  const ofEndpoint = contentTypeOf(endpoint);
  return async (request, response) => {
    const reply = await handler(apiRequest(request, response, parts));
    const contentType = reply.contentType ?? ofEndpoint;
    if ('stream' in reply) {
      // How long clients listen says nothing about the service.
      response.locals.answeredMs = now();
      await sendStream(request, response, { ...reply, contentType }, parts);
    } else send(request, response, { ...await encoded(request, reply), contentType }, ending);
    const { startedMs = 0, answeredMs = now() } = response.locals;
    observer.answered(endpoint, response.statusCode, (answeredMs - startedMs) / 1_000);
  };
}

/** The reply in the encoding that the client takes. */
async function encoded({ headers: asked }: StepRequest, reply: Reply): Promise<SentReply> {
  if (reply.gzipped === undefined) return reply;
  const headers = { ...reply.headers, Vary: 'Accept-Encoding' };
  if (!takesGzip(asked['accept-encoding'])) return { ...reply, headers };
  return { ...reply, body: await reply.gzipped(), headers: { ...headers, 'Content-Encoding': 'gzip' } };
}

/** Whether the header names gzip, or else anything, with a weight that is not 0 (RFC 9110, 12.5.3). */
function takesGzip(header: string | string[] = ''): boolean {
  const codings = String(header).toLowerCase().split(',').map((coding) => coding.split(';').map((part) => part.trim()));
  const [, weight = 'q=1'] = codings.find(([name]) => name === 'gzip' || name === 'x-gzip') ?? codings.find(([name]) => name === '*') ?? ['', 'q=0'];
  return !/^q=0(\.0*)?$/.test(weight);
}

function contentTypeOf({ answer: { contentType = 'application/json' } }: Endpoint): string {
  return `${contentType}; charset=utf-8`;
}

/** The request as handlers know it. The parts that cost something are computed at first use. */
function apiRequest(
  request: StepRequest, { locals }: StepResponse, { clients, trustProxy }: Pick<AnswerParts, 'clients' | 'trustProxy'>,
): ApiRequest {
  const { params, headers, body = NO_BODY, socket } = request;
  let query: StepRequest['query'] | undefined;
  return {
    params, headers, rawBody: body, token: locals.token,
    get query() { return query ??= request.query; },
    get ip() { return addressKey(locals.address); },
    get url() { return ownUrl(request, trustProxy); },
    get signal() { return clients.signalOf(socket); },
  };
}

const NO_BODY = Buffer.alloc(0);

/** Does nothing when the client has gone. The rest of a body that nobody has read is dropped. */
export function send(
  request: StepRequest, response: StepResponse, { body, etag, ...head }: SentReply, ending: AppEnding,
): void {
  if (response.headersSent || response.destroyed) return;
  const isKnown = etag !== undefined && names(request.headers['if-none-match'], etag);
  const status = isKnown ? 304 : head.status ?? 200;
  const ofBody: Headers = etag === undefined ? {} : { 'ETag': etag, 'Cache-Control': 'no-cache' };
  if (status !== 204 && status !== 304) ofBody['Content-Length'] = String(Buffer.byteLength(body));
  writeHead(response, { ...head, status }, ofBody, ending);
  response.end(request.method === 'HEAD' || isKnown ? undefined : body);
  discardBody(request);
}

/**
 * Whether an If-None-Match names the tag, whose strength does not matter (RFC 9110, 13.1.2). It decides alone:
 * browsers' `fetch` sends `Cache-Control: no-cache` beside it, for the caches on the way.
 */
function names(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((each) => opaque(each) === opaque(etag)));
}

function opaque(tag: string): string {
  return tag.trim().replace(/^W\//, '');
}

type Headers = Record<string, string>;

/**
 * Writes status and headers at once: Node checks and keeps each that is set before, which costs an order more than its
 * answer's text.
 */
function writeHead(response: StepResponse, { status = 200, headers, position, contentType }: Omit<SentReply, 'body'>, ofBody: Headers, ending: AppEnding): void {
  const { commonHeaders = COMMON_HEADERS, limitHeaders } = response.locals;
  const head: Headers = { ...commonHeaders, ...limitHeaders, ...ofBody, ...headers };
  if (position !== undefined) head['X-Log-Position'] = String(position);
  if (contentType !== undefined && status !== 204 && status !== 304) head['Content-Type'] = contentType;
  if (ending.isLeaving) head['Connection'] = 'close';
  response.writeHead(status, head);
}

/**
 * One abort signal per connection, made at first use: one per request would cost more than the rest of an order's way
 * here.
 */
export class ClientSignals {
  private readonly aborters = new WeakMap<Socket, AbortController>();

  /** Aborts when the connection closes. */
  signalOf(socket: Socket): AbortSignal {
    let aborter = this.aborters.get(socket);
    if (aborter === undefined) {
      const made = aborter = new AbortController();
      // A client may pipeline any number of requests, and each may listen.
      setMaxListeners(0, made.signal);
      if (socket.destroyed) made.abort(); else socket.once('close', () => { made.abort(); });
      this.aborters.set(socket, made);
    }
    return aborter.signal;
  }
}

export interface StreamReplyParts {
  readonly clients: ClientSignals;
  readonly ending: AppEnding;
  /** Is told which connections carry a stream. */
  readonly streams: StreamConnections;
}

/** Resolves when the stream has ended, when the client has gone or is cut off, and when the service stops. */
export async function sendStream(
  request: StepRequest, response: StepResponse, { stream, cut, finite, ...head }: StreamReply,
  { clients, ending, streams }: StreamReplyParts,
): Promise<void> {
  writeHead(response, head, {}, ending);
  // A source may be silent at first.
  response.flushHeaders();
  discardBody(request);
  const over = new AbortController();
  const end = (): void => { over.abort(); };
  const ends = [clients.signalOf(request.socket), ...cut === undefined ? [] : [cut]];
  for (const signal of ends) signal.addEventListener('abort', end);
  if (finite !== true) ending.streams.add(end);
  if ((ending.isStopping && finite !== true) || request.method === 'HEAD' || ends.some(({ aborted }) => aborted)) end();
  const source = stream[Symbol.asyncIterator]();
  const leave = over.signal.aborted || finite === true ? undefined : streams.begin(request.socket);
  try {
    await pump(source, response, over.signal);
  } catch (error) {
    if (!over.signal.aborted) throw error;
    // Not awaited: a source may be waiting for its next piece.
    source.return?.().catch(() => undefined);
  } finally {
    ending.streams.delete(end);
    leave?.();
    for (const signal of ends) signal.removeEventListener('abort', end);
  }
  // A client that does not read would not read the end either.
  if (response.writableNeedDrain) breakOff(request, response); else response.end();
}

/**
 * Makes a truncated answer visible to the client: the last chunk of its transfer coding is missing. HTTP/1.0 has no
 * such coding and takes the end of the connection for that of the answer, so that connection is reset.
 */
export function breakOff({ httpVersion, socket }: StepRequest, response: StepResponse): void {
  if (httpVersion === '1.0') socket.resetAndDestroy();
  response.destroy();
}

/**
 * Writes the pieces of a stream. Rejects when the source does, and when the signal aborts. Without `await`: an event
 * goes to thousands of streams, and a race with the signal for each piece would cost as much as writing it.
 */
function pump(source: AsyncIterator<string | Uint8Array>, response: StepResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => { reject(signal.reason as Error); };
    const write = ({ done, value }: IteratorResult<string | Uint8Array>): void => {
      if (signal.aborted) return;
      if (done === true) resolve(); else if (response.write(value)) next(); else response.once('drain', next);
    };
    const next = (): void => { if (!signal.aborted) source.next().then(write).catch(reject); };
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort(); else next();
  });
}

/**
 * How much of an unwanted body is read and dropped, so that the connection stays open and the client can read the
 * answer.
 */
const MAX_DISCARDED_BYTES = 1024 * 1024;

/**
 * Reads and drops the rest of a request that has been answered. Beyond 1 MiB the connection is destroyed: reading
 * without end would cost as much as the refused body.
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
