/**
 * Single requests to a provider over HTTP, with a deadline, a largest answer, and rest when the provider asks for it.
 */
import { orAborted } from '../../../engine/waiting.js';
import { readBounded, reasonOf } from '../../chain/http-answer.js';
import { BadMessage, shown } from '../observation.js';
import type { SourcePorts } from '../price-source.js';
import { ProviderFailure, failureOf } from './failure.js';

/** How a provider is asked. */
export interface ProviderAccess extends Pick<SourcePorts, 'fetch' | 'now'> {
  readonly headers: Readonly<Record<string, string>>;
  /** Takes the key out of a text that the provider may have repeated it in. */
  readonly conceal: (text: string) => string;
}

/** For a provider that asks for no key. */
export function openAccess({ fetch, now }: Pick<SourcePorts, 'fetch' | 'now'>): ProviderAccess {
  return { fetch, now, headers: {}, conceal: (text) => text };
}

const MAX_ANSWER_BYTES = 2 * 1_048_576;
const MAX_ERROR_BYTES = 4_096;

export interface RequestOptions {
  readonly access: ProviderAccess;
  readonly withinMs: number;
  /** When it aborts, nobody waits for an answer any more. */
  readonly signal: AbortSignal;
}

/**
 * A function that gets a URL and resolves with the JSON value there. It rejects with ProviderFailure, and with
 * BadMessage for anything but JSON.
 */
export function createRequests({ access, withinMs, signal }: RequestOptions): (url: string) => Promise<unknown> {
  let restUntilMs = 0;

  async function get(url: string): Promise<unknown> {
    const nowMs = access.now();
    if (nowMs < restUntilMs) throw new ProviderFailure('has asked for a pause', { waitMs: restUntilMs - nowMs });
    try {
      return await answerOf(await responseOf(access, { url, accept: 'application/json', signal: AbortSignal.timeout(withinMs) }));
    } catch (error) {
      if (error instanceof ProviderFailure && error.waitMs > 0) restUntilMs = access.now() + error.waitMs;
      throw error;
    }
  }

  return (url) => orAborted(get(url), signal);
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await readBounded(response, MAX_ANSWER_BYTES).catch((error: unknown) => {
    throw new ProviderFailure(`breaks its answer off (${reasonOf(error)})`);
  });
  if (text === undefined) throw new ProviderFailure(`answers with more than ${MAX_ANSWER_BYTES} bytes`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new BadMessage(`not JSON: ${shown(text)}`);
  }
}

export interface ProviderQuestion {
  readonly url: string;
  readonly accept: string;
  readonly signal: AbortSignal;
}

/**
 * The provider's answer with status 200. Redirects are not followed: they would carry the key elsewhere. Throws
 * ProviderFailure.
 */
export async function responseOf(
  { fetch, headers, conceal, now }: ProviderAccess, { url, accept, signal }: ProviderQuestion,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { headers: { ...headers, accept }, signal, redirect: 'error' });
  } catch (error) {
    throw new ProviderFailure(`cannot be reached (${conceal(reasonOf(error))})`);
  }
  if (response.status === 200) return response;
  const text = await readBounded(response, MAX_ERROR_BYTES).catch(() => undefined);
  throw failureOf({ status: response.status, retryAfter: response.headers.get('retry-after'), text: conceal(text ?? ''), nowMs: now() });
}
