/** The steps of a request before its handler, in the order in which `app.ts` runs them, and the reading of its body; the rate limits stand beside. */
import type { IncomingMessage } from 'node:http';
import { RequestError } from '../../engine/records/errors.js';
import type { Authenticate } from '../access/authenticate.js';
import type { Endpoint, Body } from '../api/endpoint.js';
import type { ClientError } from '../api/errors.js';
import { pointerPart } from '../api/request-fields.js';
import { isLoopback } from '../settings.js';
import type { AppEnding } from './ending.js';
import { DATA_HEADERS } from './security.js';
import { send, discardBody, type ClientSignals } from './answer.js';
import type { Middleware } from './step.js';

/** For an endpoint whose answers web pages of other sites may not read. */
export const withoutCors: Middleware = (_request, { locals }, next) => {
  locals.commonHeaders = DATA_HEADERS;
  next();
};

/** Finds the client's address. `trustProxy`: the number of trusted proxies in front of the service. */
export function clientAddress(trustProxy: number): Middleware {
  return (request, response, next) => {
    response.locals.address = addressOf(request, trustProxy);
    next();
  };
}

/** Each proxy appends the address that has called it to `X-Forwarded-For`; what stands before the trusted ones' entries is the client's word. */
function addressOf({ headers, socket: { remoteAddress } }: IncomingMessage, trustProxy: number): string | undefined {
  const header = headers['x-forwarded-for'];
  if (trustProxy === 0 || typeof header !== 'string') return remoteAddress;
  const forwarded = header.split(',').map((address) => address.trim()).filter((address) => address !== '');
  return forwarded.slice(-trustProxy)[0] ?? remoteAddress;
}

/** What is said of a parameter or a header that is repeated. */
const GIVEN_TWICE = 'is given more than once';

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Refuses requests that RFC 9112 refuses, and that Node would answer itself, without a body. */
export const wellFormed: Middleware = (request, _response, next) => { next(faultOf(request)); };

/** One Host line, which only HTTP/1.0 may leave out; and no expectation but 100-continue. Undefined when all is well. */
function faultOf({ httpVersion, rawHeaders, headers: { expect } }: IncomingMessage): ClientError | undefined {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts += 1;
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0')) {
    return new RequestError('invalid_request', '', [{ field: 'Host', message: hosts > 1 ? GIVEN_TWICE : 'is missing' }]);
  }
  return expect !== undefined && httpVersion === '1.1' && !CONTINUE.test(expect) ? new RequestError('expectation_failed') : undefined;
}

/**
 * Refuses a request that a browser has sent for a page of another site. Browsers send `Origin` with every DELETE. `Host` must name this
 * machine, since a site can make its own name resolve to 127.0.0.1 and so have the service's address for its origin (DNS rebinding).
 * Programs that are not browsers send no Origin. Throws RequestError `other_site`.
 */
export const onlyOwnPages: Middleware = ({ headers: { host = '', origin } }, _response, next) => {
  const own = authorityOf(`http://${host}`);
  if (own === undefined || !isLoopback(own.hostname.replace(/^\[|\]$/g, ''))) throw new RequestError('other_site', 'Host does not name this machine');
  if (origin !== undefined && authorityOf(origin)?.host !== own.host) throw new RequestError('other_site', 'Origin names another site');
  next();
};

function authorityOf(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

/** Resolves when the read models include the position; rejects with RequestError `not_caught_up`. */
export type WaitForPosition = (position: number, signal: AbortSignal) => Promise<void>;

/** Waits for the position in `X-Min-Log-Position`, if there is one. */
export function minLogPosition(waitForPosition: WaitForPosition, clients: ClientSignals): Middleware {
  return async ({ headers, socket }, _response, next) => {
    const header = headers['x-min-log-position'];
    if (header !== undefined) await waitForPosition(parsePosition(header), clients.signalOf(socket));
    next();
  };
}

/** A log position; -1 is that of an empty log. Throws RequestError. */
function parsePosition(header: string | string[]): number {
  const position = typeof header === 'string' && /^(-1|\d{1,16})$/.test(header) ? Number(header) : NaN;
  if (Number.isSafeInteger(position)) return position;
  throw new RequestError('invalid_request', '', [{ field: 'X-Min-Log-Position', message: 'is a log position: a whole number from 0, or -1 for none' }]);
}

/** Throws RequestError for a request without a valid token. The token's scope is the handler's to check, after the body. */
export function bearerToken({ id }: Endpoint, authenticate: Authenticate | undefined): Middleware {
  if (authenticate === undefined) {
    return () => { throw new TypeError(`${id} needs a bearer token, but this application cannot look one up`); };
  }
  return async ({ headersDistinct }, response, next) => {
    response.locals.token = await authenticate(headersDistinct['authorization'] ?? []);
    next();
  };
}

const ALLOWED_HEADERS = 'Content-Type, Authorization, If-None-Match, Last-Event-ID, X-Min-Log-Position, X-Cancel-Signature, X-Cancel-Deadline';

/** Answers the preflight of a browser. `endpoints`: all of the path; `ownPagesOnly`: those that web pages of other sites may not call. */
export function preflight(endpoints: readonly Endpoint[], ownPagesOnly: readonly Endpoint[], ending: AppEnding): Middleware {
  const headers = {
    'Allow': methodsOf(endpoints).join(', '),
    'Access-Control-Allow-Methods': methodsOf(endpoints.filter((each) => !ownPagesOnly.includes(each))).join(', '),
    'Access-Control-Allow-Headers': ALLOWED_HEADERS,
    'Access-Control-Max-Age': '7200',
  };
  return (request, response) => { send(request, response, { status: 204, headers, body: '' }, { ending }); };
}

/** Refuses a method that the path does not have, and one that only other processes serve. */
export function otherMethods(endpoints: readonly Endpoint[]): Middleware {
  const methods = methodsOf(endpoints);
  return ({ method = '' }) => {
    if (methods.includes(method)) throw new RequestError('not_found', 'another process of the service serves this endpoint');
    throw new RequestError('method_not_allowed', '', [], { allow: methods.join(', ') });
  };
}

function methodsOf(endpoints: readonly Endpoint[]): string[] {
  return [...endpoints.flatMap(({ method }) => method === 'GET' ? ['GET', 'HEAD'] : [method]), 'OPTIONS'];
}

/**
 * Parses the query of a request; Express has null where there is none, which newer versions of Node take for a name.
 * Throws RequestError when a parameter is given twice: the intended value would be a guess.
 */
export function parseQuery(query: string | null): Record<string, string> {
  const values = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(query ?? '')) {
    if (name in values) throw new RequestError('invalid_request', '', [{ field: `/${pointerPart(name)}`, message: GIVEN_TWICE }]);
    values[name] = value;
  }
  return values;
}

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
