/** What all endpoints share: reading a request, waiting for a log position, and sending an answer or an error. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RequestError } from '../../engine/records/errors.js';
import type { Authenticate } from '../access/authenticate.js';
import type { BearerToken } from '../access/scopes.js';
import type { Endpoint, Reply, Route, StreamReply } from '../api/endpoint.js';
import { Asked, Connections, parsePosition, pathOf } from './asked.js';
import { ClientGone, discardBody, readBody } from './body.js';
import type { StreamConnections } from './connections.js';
import { limitHeaders } from './limits.js';
import { refuseOtherSites } from './own-pages.js';
import { problems, requestErrorOf } from './problems.js';
import { dataHeaders } from './security.js';

/** Is told about each answered request. */
export interface Observer {
  /** Called after the answer is handed to the socket. `seconds`: from the request's headers to its answer, of a stream to its beginning. */
  answered(endpoint: Endpoint, status: number, seconds: number): void;
  /** Logs an unexpected error. Returns the id under which it is logged. */
  failed(error: unknown, what: string): string;
}

export interface ShellOptions {
  /** Endpoints that only pages of the service itself may call. */
  readonly ownPagesOnly: ReadonlySet<Endpoint>;
  /** Resolves when the read models include the position; rejects with RequestError `not_caught_up`. */
  readonly waitForPosition: (position: number, signal: AbortSignal) => Promise<void>;
  readonly observer: Observer;
  /** Finds the bearer token of a request. Needed when an endpoint asks for one. */
  readonly authenticate?: Authenticate;
  /** Throws the RequestError with which every request to the endpoint is refused now, before anything of it is read. Absent: never. */
  readonly admit?: (endpoint: Endpoint) => void;
  /** Is told which connections carry a stream. */
  readonly streams: StreamConnections;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const EXPOSED = 'X-Log-Position, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, Allow, WWW-Authenticate';
const ALLOWED_HEADERS = 'Content-Type, Authorization, Last-Event-ID, X-Min-Log-Position, X-Cancel-Signature, X-Cancel-Deadline';

/** The `Content-Type` header of an endpoint's answers. */
const typeOf = ({ answer: { contentType } }: Endpoint) => contentType === undefined ? JSON_TYPE : `${contentType}; charset=utf-8`;

/** The headers of every answer, as the flat list of names and values that `writeHead` takes. */
export function commonHeaders(): string[] {
  return [...FOR_ANY_PAGE, ...ownPageHeaders()];
}

/** The same for an answer that web pages of other sites may not read. */
function ownPageHeaders(): string[] {
  return ['Cache-Control', NO_STORE, ...dataHeaders()];
}

const NO_STORE = 'no-store';

const FOR_ANY_PAGE = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED];

/** A request with its response, and the endpoint, if one has the path. */
interface Exchanged {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly endpoint?: Endpoint | undefined;
}

/** Answers requests. One lives as long as its application. */
export class Shell {
  private leaving = false;
  private stopping = false;
  /** What ends each open stream. */
  private readonly streams = new Set<() => void>();
  private readonly base: readonly string[] = commonHeaders();
  private readonly baseForOwnPages: readonly string[] = ownPageHeaders();
  private readonly connections = new Connections();

  constructor(private readonly options: ShellOptions) {}

  /** From now on every answer asks its client to close the connection. */
  leave(): void {
    this.leaving = true;
  }

  /** The same, and the streams end. */
  stop(): void {
    this.leaving = this.stopping = true;
    for (const end of this.streams) end();
  }

  async serve({ endpoint, handler }: Route, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = this.options.now();
    let status: number;
    let ended: number | undefined;
    try {
      this.options.admit?.(endpoint);
      if (this.options.ownPagesOnly.has(endpoint)) refuseOtherSites(request.headers);
      const token = endpoint.authority.scope === undefined ? undefined : await this.tokenOf(endpoint, request);
      const rawBody = takesBody(endpoint.body, request) ? await readBody(request, endpoint.body.limitBytes) : EMPTY;
      const asked = new Asked(request, this.connections, rawBody, token);
      if (endpoint.consistent && request.headers['x-min-log-position'] !== undefined) {
        await this.options.waitForPosition(parsePosition(request.headers['x-min-log-position']), asked.signal);
      }
      const reply = unlessKnown(await handler(asked), request.headers['if-none-match']);
      status = reply.status ?? 200;
      if ('stream' in reply) {
        // How long clients listen says nothing about the service.
        ended = this.options.now();
        await this.stream(request, response, reply, reply.contentType ?? typeOf(endpoint));
      } else this.send({ request, response, endpoint }, status, reply, reply.contentType ?? typeOf(endpoint));
    } catch (error) {
      if (error instanceof ClientGone) return;
      status = this.refuse(request, response, error, endpoint);
      if (!response.writableEnded) breakOff(request, response);
    }
    this.options.observer.answered(endpoint, status, ((ended ?? this.options.now()) - started) / 1_000);
  }

  /** The request's bearer token. Throws RequestError. */
  private tokenOf({ id }: Endpoint, { headersDistinct }: IncomingMessage): Promise<BearerToken> {
    const { authenticate } = this.options;
    if (authenticate === undefined) throw new TypeError(`${id} needs a bearer token, but this application cannot look one up`);
    return authenticate(headersDistinct['authorization'] ?? []);
  }

  /** Answers with an error, in the endpoint's error shape or, without an endpoint, as a problem document. Returns the status. */
  refuse(request: IncomingMessage, response: ServerResponse, error: unknown, endpoint?: Endpoint): number {
    let instance: string | undefined;
    let known = requestErrorOf(error);
    if (known === undefined) {
      instance = this.options.observer.failed(error, `${request.method} ${pathOf(request)}`);
      known = new RequestError('internal');
    }
    const shape = endpoint?.errorShape ?? problems;
    const answer = shape.answer(known, { instance, challenge: endpoint?.authority.challenge?.(known) });
    this.send({ request, response, endpoint }, answer.status, answer, `${shape.contentType}; charset=utf-8`);
    return answer.status;
  }

  /** `allow`: the methods of the path; `toAnyPage`: those that web pages of any site may use. */
  preflight(request: IncomingMessage, response: ServerResponse, { allow, toAnyPage }: { allow: string; toAnyPage: string }): void {
    this.send({ request, response }, 204, {
      body: '',
      headers: {
        'Allow': allow, 'Access-Control-Allow-Methods': toAnyPage, 'Access-Control-Allow-Headers': ALLOWED_HEADERS, 'Access-Control-Max-Age': '7200',
      },
    });
  }

  private send({ request, response, endpoint }: Exchanged, status: number, reply: Reply, contentType?: string): void {
    if (response.headersSent || response.destroyed) return;
    const headers = (endpoint !== undefined && this.options.ownPagesOnly.has(endpoint) ? this.baseForOwnPages : this.base).slice();
    if (reply.etag !== undefined) {
      headers[headers.indexOf(NO_STORE)] = 'no-cache';
      headers.push('ETag', reply.etag);
    }
    if (contentType !== undefined && status !== 304) headers.push('Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(reply.body)));
    this.addHeaders(headers, request, reply);
    response.writeHead(status, headers);
    response.end(reply.body);
    if (!request.complete) discardBody(request);
  }

  /** Adds the headers of this answer to the flat list of names and values that `writeHead` takes. */
  private addHeaders(headers: string[], request: IncomingMessage, { position, headers: own }: Omit<Reply, 'body'>): void {
    if (position !== undefined) headers.push('X-Log-Position', String(position));
    if (own !== undefined) for (const [name, value] of Object.entries(own)) headers.push(name, value);
    headers.push(...limitHeaders(request));
    if (this.leaving) headers.push('Connection', 'close');
  }

  /**
   * Sends a stream piece by piece, no faster than the client reads. Resolves when the stream has ended, when the client has gone or is cut off,
   * and when the service stops.
   */
  private async stream(request: IncomingMessage, response: ServerResponse, reply: StreamReply, contentType: string): Promise<void> {
    const headers = [...this.base, 'Content-Type', contentType];
    this.addHeaders(headers, request, reply);
    response.writeHead(reply.status ?? 200, headers);
    // A source may be silent at first.
    response.flushHeaders();
    if (!request.complete) discardBody(request);
    const over = new AbortController();
    const end = (): void => { over.abort(); };
    const ends = [this.connections.signalOf(request.socket), ...reply.cut === undefined ? [] : [reply.cut]];
    for (const signal of ends) signal.addEventListener('abort', end);
    if (reply.finite !== true) this.streams.add(end);
    if ((this.stopping && reply.finite !== true) || request.method === 'HEAD' || ends.some(({ aborted }) => aborted)) end();
    const source = reply.stream[Symbol.asyncIterator]();
    const leave = over.signal.aborted || reply.finite === true ? undefined : this.options.streams.begin(request.socket);
    try {
      await pump(source, response, over.signal);
    } catch (error) {
      if (!over.signal.aborted) throw error;
      // Not awaited: a source may be waiting for its next piece.
      source.return?.().catch(() => undefined);
    } finally {
      this.streams.delete(end);
      leave?.();
      for (const signal of ends) signal.removeEventListener('abort', end);
    }
    // A client that does not read would not read the end either.
    if (response.writableNeedDrain) breakOff(request, response); else response.end();
  }
}

/**
 * Ends an answer of which something is missing so that the client sees it: without the last chunk of its transfer coding, or, since HTTP/1.0
 * has no such coding and takes the end of the connection for that of the answer, by a reset.
 */
function breakOff({ httpVersion, socket }: IncomingMessage, response: ServerResponse): void {
  if (httpVersion === '1.0') socket.resetAndDestroy();
  response.destroy();
}

/**
 * Writes the pieces of a stream. Rejects when the source does, and when the signal aborts. Without `await`: an event goes to thousands of
 * streams, and a race with the signal for each piece would cost as much as writing it.
 */
function pump(source: AsyncIterator<string | Uint8Array>, response: ServerResponse, signal: AbortSignal): Promise<void> {
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

const EMPTY = Buffer.alloc(0);

/** The reply, or 304 without a body when the client has this very reply already (RFC 9110, If-None-Match). */
function unlessKnown(reply: Reply | StreamReply, known: string | undefined): Reply | StreamReply {
  if (known === undefined || 'stream' in reply || reply.etag === undefined) return reply;
  const tags = known.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(reply.etag) ? { status: 304, body: '', etag: reply.etag } : reply;
}

/** Whether to read a body: for an endpoint whose body is optional, only if the request has one. */
function takesBody(body: Endpoint['body'], { headers }: IncomingMessage): body is NonNullable<Endpoint['body']> {
  if (body === undefined) return false;
  return !body.optional || headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
