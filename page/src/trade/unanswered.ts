/**
 * Requests that nobody knows yet to be carried out. They are kept with their bytes, through reloads, and asked for again
 * until the exchange has answered: it carries the same bytes out once.
 */
import { effect, signal } from '@preact/signals';
import { Refusal, type OutcomeUnknown, type SentRequest } from '../../../client/src/errors.js';
import { connection } from '../connection.js';
import { exchange, relayToken } from '../exchange.js';
import { wordsOf } from '../figures.js';
import { forget, keep, readKeptJson } from '../wallet/browser-storage.js';

export interface Unanswered {
  readonly id: string;
  /** What was wished, in words. */
  readonly what: string;
  readonly request: SentRequest;
  /** When it was first sent, by this machine. */
  readonly sinceMs: number;
}

export interface LateAnswer {
  readonly id: string;
  readonly what: string;
  readonly status: 'done' | 'refused';
  readonly words: string;
}

const PREFIX = 'unanswered:';
const ASK_EVERY_MS = 5_000;

export const unanswered = signal<readonly Unanswered[]>(keptUnanswered());
/** Those that the page asks for at this moment. */
export const asking = signal<ReadonlySet<string>>(new Set());
export const lateAnswers = signal<readonly LateAnswer[]>([]);

/** Keeps what an OutcomeUnknown has sent. */
export function keepUnanswered(what: string, { request }: OutcomeUnknown): void {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== 'Authorization'));
  const entry: Unanswered = { id: crypto.randomUUID(), what, request: { ...request, headers }, sinceMs: Date.now() };
  keep(PREFIX + entry.id, JSON.stringify(entry));
  unanswered.value = [...unanswered.peek(), entry];
}

/** Sends the same bytes again. */
export async function askAgain(entry: Unanswered): Promise<void> {
  if (asking.peek().has(entry.id)) return;
  asking.value = new Set(asking.peek()).add(entry.id);
  try {
    await exchange.peek().resend(withToken(entry.request));
    answered(entry, 'done', 'The exchange has carried it out.');
  } catch (error) {
    if (error instanceof Refusal) answered(entry, 'refused', wordsOf(error));
    // Anything else leaves it as unknown as it was.
  } finally {
    asking.value = new Set([...asking.peek()].filter((id) => id !== entry.id));
  }
}

/** Nobody wants to know any more. */
export function dropUnanswered({ id }: Unanswered): void {
  forget(PREFIX + id);
  unanswered.value = unanswered.peek().filter((each) => each.id !== id);
}

export function dropLateAnswer({ id }: LateAnswer): void {
  lateAnswers.value = lateAnswers.peek().filter((each) => each.id !== id);
}

function answered(entry: Unanswered, status: LateAnswer['status'], words: string): void {
  dropUnanswered(entry);
  lateAnswers.value = [...lateAnswers.peek(), { id: entry.id, what: entry.what, status, words }];
}

/** The token is not kept with the request. */
function withToken(request: SentRequest): SentRequest {
  const token = relayToken.peek();
  if (token === undefined || !request.path.startsWith('/api/v1/relayer/')) return request;
  return { ...request, headers: { ...request.headers, Authorization: `Bearer ${token}` } };
}

function keptUnanswered(): Unanswered[] {
  const names: string[] = [];
  try {
    for (let i = 0; i < localStorage.length; i++) names.push(localStorage.key(i) ?? '');
  } catch {
    return [];
  }
  return names.filter((name) => name.startsWith(PREFIX)).flatMap((name) => readKeptJson(name, isUnanswered) ?? []);
}

function isUnanswered(value: unknown): value is Unanswered {
  const { id, what, request, sinceMs } = (value ?? {}) as Partial<Unanswered>;
  return [id, what, request?.method, request?.path].every((each) => typeof each === 'string')
    && typeof request?.headers === 'object' && typeof sinceMs === 'number';
}

function askForAll(): void {
  for (const entry of unanswered.peek()) void askAgain(entry);
}

effect(() => { if (connection.value === 'live') askForAll(); });
setInterval(askForAll, ASK_EVERY_MS);
