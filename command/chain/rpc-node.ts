/**
 * One JSON-RPC request to one node over HTTP. Tells apart a failure of the node and an error that the node answered.
 */
import { RpcError } from './chain.js';
import { readBounded, reasonOf, type Fetch } from './http-answer.js';

export interface RpcNode {
  /** Host name and port, which are not secret. */
  readonly host: string;
  /** Throws NodeFailed, and RpcError for an error that the node answered. */
  request(method: string, params: readonly unknown[]): Promise<unknown>;
}

/** The node gave no usable answer; another node may. */
export class NodeFailed extends Error {
  /** The node's chain id, when that is the reason. */
  readonly foundChainId: number | undefined;
  /** The node can serve other requests, so it need not rest; for example, it lacks a block or a state. */
  readonly onlyThisRequest: boolean;

  constructor(readonly host: string, detail: string, kind: { foundChainId?: number; onlyThisRequest?: boolean } = {}) {
    super(`${host} ${detail}`);
    this.name = 'NodeFailed';
    this.foundChainId = kind.foundChainId;
    this.onlyThisRequest = kind.onlyThisRequest ?? false;
  }
}

export interface NodeOptions {
  readonly url: string;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly fetch: Fetch;
  /** When it aborts, open requests and all later ones fail with NodeFailed. */
  readonly signal?: AbortSignal | undefined;
}

/** The code with which providers limit a query's results; the caller asks for less. */
export const LIMIT_EXCEEDED = -32_005;

const MAX_MESSAGE_CHARACTERS = 500;

/** Throws an error for a text that is not an http or https URL; the error does not show the text. */
export function createNode({ url, timeoutMs, maxResponseBytes, fetch, signal }: NodeOptions): RpcNode {
  const { host, target, headers, conceal } = readUrl(url);
  const underWay = createDeadlines(timeoutMs, signal);
  let lastId = 0;

  async function request(method: string, params: readonly unknown[]): Promise<unknown> {
    const id = ++lastId;
    const deadline = underWay.begin();
    let status: number;
    let text: string | undefined;
    try {
      const response = await fetch(target, {
        method: 'POST', headers, signal: deadline.signal, redirect: 'error', body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      });
      status = response.status;
      text = await readBounded(response, maxResponseBytes);
    } catch (error) {
      // The caller stopped waiting, so the node is not at fault.
      if (signal?.aborted === true) throw new NodeFailed(host, 'is not waited for any more', { onlyThisRequest: true });
      throw new NodeFailed(host, deadline.signal.aborted ? `gave no answer within ${timeoutMs} ms` : conceal(`cannot be reached (${reasonOf(error)})`));
    } finally {
      underWay.end(deadline);
    }
    // An error about the request itself comes with status 200 or 4xx; 401 and 403 concern our account.
    if (status === 429 || status >= 500 || status === 401 || status === 403) throw new NodeFailed(host, `answers HTTP ${status}`);
    if (text === undefined) throw tooLarge(host, method, maxResponseBytes);
    const answer = parseAnswer(text, id);
    if (answer === undefined) throw new NodeFailed(host, `does not answer in JSON-RPC to ${method} (HTTP ${status})`);
    if (answer.error === undefined) return answer.result;
    const { code, data } = answer.error;
    const message = conceal(answer.error.message).slice(0, MAX_MESSAGE_CHARACTERS);
    const inability = inabilityOf(code, message);
    if (inability !== undefined) throw new NodeFailed(host, `cannot serve ${method}: ${message}`, { onlyThisRequest: inability === 'this request' });
    throw new RpcError(method, code, message, data);
  }

  return { host, request };
}

/**
 * The deadlines of open requests, which all end when the signal aborts. They share one listener: in the older supported
 * Node versions, AbortSignal.any keeps each request in memory for as long as the signal lives.
 */
function createDeadlines(timeoutMs: number, signal: AbortSignal | undefined) {
  const open = new Map<AbortController, NodeJS.Timeout>();
  signal?.addEventListener('abort', () => { for (const deadline of open.keys()) deadline.abort(); }, { once: true });
  return {
    begin(): AbortController {
      const deadline = new AbortController();
      if (signal?.aborted === true) deadline.abort();
      open.set(deadline, setTimeout(() => { deadline.abort(); }, timeoutMs));
      return deadline;
    },
    end(deadline: AbortController): void {
      clearTimeout(open.get(deadline));
      open.delete(deadline);
    },
  };
}

/**
 * Whether an error means that this node cannot serve the request, or any request; undefined for an answer of the chain.
 * Nodes use error codes differently, so the text decides. It is matched from its first word on, since a contract's
 * revert reason, which follows `execution reverted`, can contain any words. A limit on a query's results has the code
 * of a rate limit (-32005); the caller handles it.
 */
function inabilityOf(code: number, message: string): 'this request' | 'all requests' | undefined {
  if (code === 3 || /^(execution|vm exception|revert)/i.test(message)) return undefined;
  if (BEHIND.test(message)) return 'this request';
  if (RESULT_LIMIT.test(message)) return undefined;
  if (RATE_CODES.has(code) || RATE_LIMIT.test(message)) return 'all requests';
  return code === -32_603 && INTERNAL.test(message) ? 'all requests' : undefined;
}

/** -32005 is "limit exceeded" (EIP-1474); providers also send the others. */
const RATE_CODES = new Set([LIMIT_EXCEEDED, -32_016, -32_029, -32_090, 429]);
const RATE_LIMIT = startsWith('your app has exceeded', '(daily |monthly )?(request|rate) (count |limit )?(limit|exceeded)',
  'too many (requests|connections)', 'over rate limit');
const RESULT_LIMIT = /results|response size|block range|logs matched|query (timeout|returned|exceeds)/i;
/** The node does not have the block, its receipts or its state: not yet, or not any more. */
const BEHIND = startsWith('header not found', 'block not found', 'unknown block', 'missing trie node', 'header for hash not found',
  '(historical )?state .*not available', 'pending (block|state) is not available', 'pruned history unavailable', 'transaction indexing is in progress',
  'block range extends beyond current head');
const INTERNAL = startsWith('internal (json-rpc |server )?error', '(request|method|handler) timed? ?out', 'service (temporarily )?unavailable',
  'no backends? available', 'upstream');

function startsWith(...patterns: readonly string[]): RegExp {
  return new RegExp(`^(${patterns.join('|')})`, 'i');
}

function tooLarge(host: string, method: string, bytes: number): Error {
  // Every node's answer for these blocks would be too large, so the caller must ask for fewer.
  if (method === 'eth_getLogs') {
    return new RpcError(method, LIMIT_EXCEEDED, `response size exceeded: more than ${bytes} bytes; ask for fewer blocks`, undefined);
  }
  return new NodeFailed(host, `answers ${method} with more than ${bytes} bytes`);
}

interface RpcAnswer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data: string | undefined };
}

/** Undefined when the text is not a JSON-RPC answer to the request with this id. */
function parseAnswer(text: string, id: number): RpcAnswer | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(answer) || answer['id'] !== id) return undefined;
  const error = answer['error'];
  if (error === undefined || error === null) return 'result' in answer ? { result: answer['result'] } : undefined;
  if (!isObject(error) || typeof error['code'] !== 'number') return undefined;
  const { code, message, data } = error as { code: number; message?: unknown; data?: unknown };
  return { error: { code, message: typeof message === 'string' ? message : 'unspecified error', data: returnData(data) } };
}

/** Some nodes wrap a revert's return data in an object. */
function returnData(data: unknown): string | undefined {
  if (typeof data === 'string') return data;
  return isObject(data) && typeof data['data'] === 'string' ? data['data'] : undefined;
}

interface ReadUrl {
  readonly host: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The text with the URL's secret parts replaced. */
  readonly conceal: (text: string) => string;
}

/** fetch refuses URLs with a user name and password, so they become an Authorization header. */
function readUrl(text: string): ReadUrl {
  if (!URL.canParse(text)) throw new Error('an RPC URL is not a URL: write http://host:port or https://host/path');
  const url = new URL(text);
  const { host, protocol, username, password, pathname, search } = url;
  if (protocol !== 'http:' && protocol !== 'https:') throw new Error(`the RPC URL of ${host} has ${protocol}: write http or https`);
  const headers: Record<string, string> = { 'content-type': 'application/json', 'accept': 'application/json' };
  if (username !== '' || password !== '') {
    headers['authorization'] = `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
  }
  url.username = '';
  url.password = '';
  const written = [username, password, ...pathname.split('/'), ...search.slice(1).split(/[&=]/)];
  const parts = [...written, ...written.map(decoded), ...new URLSearchParams(search).values(), headers['authorization']?.slice('Basic '.length) ?? ''];
  // The longest first, since one secret may contain another.
  const secrets = parts.filter((part) => part.length >= 6).sort((a, b) => b.length - a.length);
  return { host, target: url.href, headers, conceal: (said) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '(secret)'), said) };
}

/** The percent-decoded text; the text itself when it cannot be decoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
