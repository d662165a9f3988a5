/**
 * The last step of a request that went well: calls the endpoint's handler and sends what it returns; and how any answer
 * is sent.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiRequest, Endpoint, Reply, Route, SentReply, StreamReply } from '../api/endpoint.js';
import type { createChunks } from './chunks.js';
import type { StreamConnections } from './connections.js';
import type { AppEnding } from './ending.js';
import { addressKey } from './limits.js';
import { ownUrl } from './own-url.js';
import type { Observer } from '../status/metrics.js';
import { pump } from './pump.js';
import { COMMON_HEADERS } from './security.js';
import type { Middleware, StepRequest, StepResponse } from './step.js';
import type { Upgrades } from './upgrades.js';
import type { WebSockets } from './web-sockets.js';

export interface AnswerParts extends StreamReplyParts {
  readonly upgrades: Upgrades;
  readonly webSockets: WebSockets;
  readonly observer: Observer;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Number of trusted proxies in front of the service. */
  readonly trustProxy: number;
}

export function answer(route: Route, parts: AnswerParts): Middleware {
  const { endpoint } = route;
  const { ending, upgrades, webSockets, observer, now } = parts;
  const ofEndpoint = contentTypeOf(endpoint);
  return async (request, response) => {
    const head = endpoint.answer.webSocket === true ? upgrades.headOf(request) : undefined;
    const reply = await route.handler(new IncomingApiRequest(request, response.locals, parts));
    const contentType = reply.contentType ?? ofEndpoint;
    // How long clients listen says nothing about the service.
    if ('stream' in reply) response.locals.answeredMs = now();
    if ('conversation' in reply) {
      response.statusCode = 101;
      response.detachSocket(request.socket);
      await webSockets.carry(request, head ?? NO_BODY, reply);
    } else if ('stream' in reply) {
      await sendStream(request, response, { ...reply, contentType }, parts);
    } else send(request, response, reply.gzipped === undefined ? reply : await encoded(request, reply, reply.gzipped), { contentType, ending });
    const { startedMs = 0, answeredMs = now() } = response.locals;
    observer.answered(endpoint, response.statusCode, (answeredMs - startedMs) / 1_000);
  };
}

/** The reply in the encoding that the client takes. */
async function encoded({ headers: asked }: StepRequest, reply: Reply, gzipped: () => Promise<Buffer>): Promise<SentReply> {
  const headers = { ...reply.headers, Vary: 'Accept-Encoding' };
  if (!takesGzip(asked['accept-encoding'])) return { ...reply, headers };
  return { ...reply, body: await gzipped(), headers: { ...headers, 'Content-Encoding': 'gzip' } };
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

/**
 * The request as handlers know it. The parts that cost something are computed when they are read. A class, since V8 gives every
 * object literal with getters a hidden class of its own in the old generation, which keeps what the getters refer to, the whole
 * request, until the next full collection.
 */
class IncomingApiRequest implements ApiRequest {
  readonly params: ApiRequest['params'];
  readonly headers: ApiRequest['headers'];
  readonly rawBody: Buffer;
  readonly token: ApiRequest['token'];
  private parsedQuery: ApiRequest['query'] | undefined;

  constructor(
    private readonly request: StepRequest, private readonly locals: StepResponse['locals'],
    private readonly parts: Pick<AnswerParts, 'clients' | 'trustProxy'>,
  ) {
    this.params = request.params;
    this.headers = request.headers;
    this.rawBody = request.body ?? NO_BODY;
    this.token = locals.token;
  }

  get query(): ApiRequest['query'] { return this.parsedQuery ??= this.request.query; }
  get ip(): ApiRequest['ip'] { return addressKey(this.locals.address); }
  get url(): ApiRequest['url'] { return ownUrl(this.request, this.parts.trustProxy); }
  get signal(): AbortSignal { return this.parts.clients.signalOf(this.request.socket); }
}

const NO_BODY = Buffer.alloc(0);

/** How a reply is sent. */
export interface HowSent {
  /** Where the reply names none. */
  readonly contentType?: string;
  readonly ending: AppEnding;
}

/** Does nothing when the client has gone. The rest of a body that nobody has read is dropped. */
export function send(request: StepRequest, response: StepResponse, reply: SentReply, sending: HowSent): void {
  if (response.headersSent || response.destroyed) return;
  const { body, etag, status = 200 } = reply;
  const isKnown = etag !== undefined && names(request.headers['if-none-match'], etag);
  writeHead(response, isKnown ? 304 : status, reply, sending);
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

/**
 * Writes status and headers at once, as a list of names and values in turn: Node checks and keeps each that is set
 * before, and objects that are made of several others live longer than an order's whole way.
 */
function writeHead(
  response: StepResponse, status: number, reply: Omit<SentReply, 'body'> & Partial<Pick<SentReply, 'body'>>, { contentType, ending }: HowSent,
): void {
  const { commonHeaders = COMMON_HEADERS, limitHeaders } = response.locals;
  const head = commonHeaders.slice();
  if (limitHeaders !== undefined) head.push(...limitHeaders);
  const { body, etag, headers, position } = reply;
  if (etag !== undefined) {
    set(head, 'ETag', etag);
    set(head, 'Cache-Control', 'no-cache');
  }
  const hasBody = status !== 204 && status !== 304;
  if (hasBody && body !== undefined) head.push('Content-Length', String(Buffer.byteLength(body)));
  if (headers !== undefined) for (const [name, value] of Object.entries(headers)) set(head, name, value);
  if (position !== undefined) set(head, 'X-Log-Position', String(position));
  const type = reply.contentType ?? contentType;
  if (hasBody && type !== undefined) set(head, 'Content-Type', type);
  if (ending.isLeaving) set(head, 'Connection', 'close');
  response.writeHead(status, head);
}

/** Sets a header in a list of names and values in turn. */
function set(head: string[], name: string, value: string): void {
  for (let i = 0; i < head.length; i += 2) {
    if (head[i] !== name) continue;
    head[i + 1] = value;
    return;
  }
  head.push(name, value);
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
  /** Writes pieces that flow. */
  readonly outflow: ReturnType<typeof createChunks>;
}

/** Resolves when the stream has ended, when the client has gone or is cut off, and when the service stops. */
export async function sendStream(
  request: StepRequest, response: StepResponse, { stream, cut, finite, ...head }: StreamReply,
  { clients, ending, streams, outflow }: StreamReplyParts,
): Promise<void> {
  writeHead(response, head.status ?? 200, head, { ending });
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
    await pump(source, response, over.signal, () => outflow(response));
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
  if (response.writableNeedDrain || request.socket.writableNeedDrain) breakOff(request, response); else response.end();
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
