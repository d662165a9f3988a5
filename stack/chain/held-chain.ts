/**
 * Serves the development chain's JSON-RPC without the blocks that a crash could still lose: the latest block is the last block whose state
 * is on disk, so the recorded events of a block never have to be undone.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { RequestError } from '../../engine/records/errors.js';
import { clientText, errors, type ClientError } from '../../service/api/errors.js';
import { ClientGone, discardBody, readBody } from '../../service/http/body.js';
import type { ChainKeeper } from './chain-keeper.js';

export interface HeldChain {
  /** http://127.0.0.1 with its own port. */
  readonly url: string;
  /** Closes the server and all connections at once. Can be called again. */
  close(): Promise<void>;
}

export interface HeldChainOptions {
  /** The node's own JSON-RPC. */
  readonly nodeUrl: string;
  readonly keeper: Pick<ChainKeeper, 'keptBlock' | 'keptSoon'>;
  /** Time limit for the first byte of the node's answer. Default 60 s. */
  readonly timeoutMs?: number;
  /** How long a request for the latest block number waits until new blocks are kept. Default 3 s, well below the callers' time limits. */
  readonly keptWithinMs?: number;
}

/** Larger than a batch of large deployments. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
const KEPT_WITHIN_MS = 3_000;

/** JSON-RPC's own codes. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;

/**
 * Listens on a free port of this machine. Passes requests, single or in batches, and answers through unchanged, with two exceptions.
 * `eth_blockNumber` never exceeds the kept block; it requests that new blocks are kept and waits for that, so that a caller who has seen a
 * transaction mined finds its block. `eth_getBlockByNumber` of `latest` gives the kept block without waiting. When the node does not
 * answer, the answer is HTTP 502 with a JSON-RPC error.
 */
export async function serveHeldChain(options: HeldChainOptions): Promise<HeldChain> {
  const server = createServer((request, response) => {
    const over = new AbortController();
    response.once('close', () => { over.abort(); });
    answer(request, response, { timeoutMs: TIMEOUT_MS, keptWithinMs: KEPT_WITHIN_MS, ...options, over })
      .catch((error: unknown) => { refuse(request, response, error); });
  });
  // Bytes that are not HTTP end only the connection of their client.
  server.on('clientError', (_, socket) => { socket.destroy(); });
  await new Promise<void>((resolve, reject) => { server.once('error', reject).listen(0, '127.0.0.1', resolve); });
  server.unref();
  let closed: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => closed ??= new Promise((resolve) => {
      server.close(() => { resolve(); });
      server.closeAllConnections();
    }),
  };
}

interface Serving extends Required<HeldChainOptions> {
  /** Aborts when the client has closed the connection or has its whole answer, and when the node takes too long. */
  readonly over: AbortController;
}

/** A refusal of a request, with HTTP status and JSON-RPC error code. */
class Refused extends Error {
  constructor(readonly status: number, readonly code: number, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  if (request.method !== 'POST') throw new Refused(405, INVALID_REQUEST, 'JSON-RPC requests use POST');
  const body = (await readBody(request, MAX_BODY_BYTES)).toString('utf8');
  const asked = parsed(body);
  const calls = (Array.isArray(asked) ? asked : [asked]).filter(isCall);
  const numbers = calls.filter(({ method }) => method === 'eth_blockNumber');
  const { keeper } = serving;
  if (numbers.length > 0) await keeper.keptSoon(serving.keptWithinMs).catch(nodeFailed);
  const kept = keeper.keptBlock();
  const latest = calls.filter(({ method, params }) => method === 'eth_getBlockByNumber' && Array.isArray(params) && params[0] === 'latest');
  for (const call of latest) call.params = [hexOf(kept), ...(call.params as unknown[]).slice(1)];
  const answered = await forward(latest.length === 0 ? body : JSON.stringify(asked), serving);
  response.writeHead(answered.status, { 'Content-Type': answered.headers.get('content-type') ?? 'application/json' });
  if (numbers.length > 0) response.end(capped(await answered.text(), { ids: new Set(numbers.map(({ id }) => id)), kept }));
  else await pipeline(answered.body ?? [], response);
}

interface Call {
  readonly method: string;
  readonly id?: unknown;
  params?: unknown;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new Refused(400, PARSE_ERROR, 'the body is not JSON', { cause });
  }
}

/** Whether the value is a JSON-RPC call. Other values are passed to the node too, which answers with an error. */
function isCall(value: unknown): value is Call {
  return typeof value === 'object' && value !== null && 'method' in value && typeof value.method === 'string';
}

async function forward(body: string, { nodeUrl, timeoutMs, over }: Serving): Promise<Response> {
  const timer = setTimeout(() => { over.abort(new Error(`no answer within ${timeoutMs} ms`)); }, timeoutMs);
  try {
    const headers = { 'content-type': 'application/json', 'accept': 'application/json' };
    return await fetch(nodeUrl, { method: 'POST', headers, body, signal: over.signal, redirect: 'error' });
  } catch (cause) {
    return nodeFailed(cause);
  } finally {
    clearTimeout(timer);
  }
}

function nodeFailed(cause: unknown): never {
  throw new Refused(502, INTERNAL_ERROR, `the development chain does not answer: ${reasonOf(cause)}`, { cause });
}

/** The reason of an error: the innermost cause, since the error of fetch itself says only that it failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

/** The answer, with block numbers limited to the kept block. */
function capped(text: string, { ids, kept }: { ids: ReadonlySet<unknown>; kept: number }): string {
  let answers: unknown;
  try {
    answers = JSON.parse(text);
  } catch {
    // A refusal in plain text has no block number.
    return text;
  }
  for (const each of (Array.isArray(answers) ? answers : [answers]) as ({ id?: unknown; result?: unknown } | null)[]) {
    if (each !== null && ids.has(each.id) && typeof each.result === 'string') each.result = hexOf(Math.min(Number(each.result), kept));
  }
  return JSON.stringify(answers);
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`;
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (error instanceof ClientGone || response.destroyed || response.headersSent) {
    response.destroy();
    return;
  }
  const { status, code, message } = refusalOf(error);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Connection': 'close', ...status === 405 ? { Allow: 'POST' } : {} })
    .end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
  discardBody(request);
}

function refusalOf(error: unknown): Pick<Refused, 'status' | 'code' | 'message'> {
  if (error instanceof Refused) return error;
  if (error instanceof RequestError) return { status: errors[(error as ClientError).code].status, code: INVALID_REQUEST, message: clientText(error) };
  return { status: 500, code: INTERNAL_ERROR, message: reasonOf(error) };
}
