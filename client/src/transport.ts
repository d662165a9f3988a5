/** One request over HTTP, and its answer as exact values: no attempt is repeated here. */
import { Refusal, TransportError } from './errors.js';
import { parseJson } from './exact-json.js';

/** What the client needs of `fetch`. Replace it to go through a proxy, to count, or to test. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Wire {
  /** The exchange's address, without a slash at its end. */
  readonly url: string;
  readonly fetch: Fetch;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The answer, whatever its status is. Throws TransportError, or the signal's reason. */
export async function ask(
  { url, fetch }: Wire, { path, ...init }: ApiRequest, signal: AbortSignal,
): Promise<ApiAnswer> {
  let status: number | undefined;
  try {
    const response = await fetch(url + path, { ...init, signal });
    ({ status } = response);
    const { headers } = response;
    const text = await response.text();
    return { status, headers, body: jsonOf(headers, text) };
  } catch (error) {
    const what = status === undefined ? 'got no answer' : `was answered with ${status}, but not by the exchange`;
    const message = `${init.method} ${url}${path} ${what}: ${textOf(error)}`;
    throw new TransportError(message, { ...status === undefined ? {} : { status }, cause: error });
  }
}

/** The answer as an error; for statuses from 400 on. */
export function refusalOf({ status, headers, body }: ApiAnswer): Refusal {
  const fields = isObject(body) ? body : {};
  const told = headers.get('X-Error-Code') ?? fields['code'];
  const retryAfterMs = retryAfterOf(headers.get('Retry-After'));
  return new Refusal({ status, code: typeof told === 'string' ? told : 'unknown', body: fields, retryAfterMs });
}

/** Seconds, or a date as HTTP writes it. */
export function retryAfterOf(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** A list of an answer. Throws TransportError where it has none: then it is not the exchange's, whatever its type says. */
export function listIn<T>({ status, body }: Pick<ApiAnswer, 'status' | 'body'>, name: string): T[] {
  const list = isObject(body) ? body[name] : undefined;
  if (Array.isArray(list)) return list as T[];
  throw new TransportError(`an answer has no list \`${name}\`, so it is not the exchange's`, { status });
}

function jsonOf(headers: Headers, text: string): unknown {
  const type = headers.get('Content-Type') ?? '';
  if (!/^application\/(problem\+)?json\b/.test(type)) throw new Error(`its type is ${JSON.stringify(type)}`);
  const body = parseJson(text);
  if (!isObject(body)) throw new Error('its text is no JSON object');
  return body;
}

/** What is behind an error of `fetch`, which itself only says that it failed. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message || error.cause.name}` : error.message;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
