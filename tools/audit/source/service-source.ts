/** The history of a running service: pages of `GET /api/v1/events`, each asked for again until it comes whole, one page ahead. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CannotAudit, Differs, stopIfAsked } from '../difference.js';
import { printable } from '../printable.js';
import { readDescription } from './described.js';
import { linesOf } from './line-splitter.js';
import type { AuditSource } from './source.js';

export interface ServiceSourceOptions {
  /** The service's address, without a slash at the end. */
  readonly url: string;
  readonly fetch?: typeof fetch;
  /** How long an answer is waited for, all its tries together. Default 60 s. */
  readonly patienceMs?: number;
  /** The pause after the first failed try; it doubles up to five seconds. */
  readonly pauseMs?: number;
  /** Ends the waiting until the next try. */
  readonly signal?: AbortSignal | undefined;
  /** Told once per failure of a try. */
  readonly report?: (text: string) => void;
}

const PAGE = 1_000;
/** Whoever serves the history is not trusted: no more of a page than this, and of another answer, is kept in memory. */
const PAGE_BYTES = 64_000_000;
const TEXT_BYTES = 1_000_000;
const MAX_PAUSE_MS = 5_000;
const TRY_MS = 120_000;

/** Asks for the service's description and the length of its history, which is where the audit ends. Throws CannotAudit. */
export async function openService(options: ServiceSourceOptions): Promise<AuditSource> {
  const { url } = options;
  const described = await patiently(options, 'its settings', async (ask) => readDescription(JSON.parse(await textOf(await ask('/api/v1/config'))), url));
  const length = await lengthOf(options);
  return { name: url, described, length, newLength: () => lengthOf(options), lines: (from, to) => pages(options, from, to ?? length) };
}

/** The present length of the service's history. */
async function lengthOf(options: ServiceSourceOptions): Promise<number> {
  return await patiently(options, 'the length of its history', async (ask) => {
    const response = await ask('/api/v1/events?from=0&limit=1');
    await response.body?.cancel();
    const last = Number(response.headers.get('x-log-position') ?? NaN);
    if (!Number.isSafeInteger(last)) throw new Error('the answer of /api/v1/events has no X-Log-Position');
    return last + 1;
  });
}

async function* pages(options: ServiceSourceOptions, from: number, to: number): AsyncGenerator<readonly Buffer[]> {
  let next = from < to ? page(options, from, to) : undefined;
  for (let position = from; next !== undefined;) {
    const lines = await next;
    position += lines.length;
    next = position < to ? page(options, position, to) : undefined;
    // Awaited when the consumer comes back: until then its failure is not unhandled.
    next?.catch(() => undefined);
    yield lines;
  }
}

/** At least one line from a position on. */
async function page(options: ServiceSourceOptions, from: number, to: number): Promise<Buffer[]> {
  let empty = false;
  try {
    return await patiently(options, `position ${from} of its history`, async (ask) => {
      const response = await ask(`/api/v1/events?from=${from}&limit=${Math.min(PAGE, to - from)}`, { accept: 'application/x-ndjson' });
      const lines = await firstLines(response, Math.min(PAGE, to - from));
      empty = lines.length === 0;
      if (empty) throw new Error(`its history ends at position ${from}, though it had ${to} records when the audit began`);
      return lines;
    });
  } catch (error) {
    if (!empty) throw error;
    throw new Differs({
      check: 'records', place: { position: from }, what: `the history ends at position ${from}, but the service said that it had ${to} records`,
      means: 'Records were removed from its end, or the service answers from another history now.', expected: to, found: from,
    });
  }
}

/** The first lines of an answer: at most so many, and fewer when they are long. Throws for one that is cut off within a line. */
async function firstLines(response: Response, most: number): Promise<Buffer[]> {
  const lines: Buffer[] = [];
  let bytes = 0;
  for await (const some of linesOf(piecesOf(response))) {
    lines.push(...some.slice(0, most - lines.length));
    bytes += some.reduce((sum, { length }) => sum + length, 0);
    // Otherwise it is read to its end, so that the connection serves the next page, too.
    if (bytes > PAGE_BYTES) break;
  }
  return lines;
}

/** An answer's text. Throws for a longer one. */
async function textOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of piecesOf(response)) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > TEXT_BYTES) throw new Error(`its answer has more than ${TEXT_BYTES} bytes`);
  }
  return Buffer.concat(pieces).toString();
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (body !== null) yield* body as AsyncIterable<Uint8Array>;
}

type Ask = (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>;

/** The service refuses the request as such: another try would be refused, too. */
class Refused extends Error {}

/** The service asks to wait. */
class Wait extends Error {
  constructor(readonly seconds: number) {
    super(`it asks to wait for ${seconds} s`);
  }
}

/** What the work gives, tried again while the service does not answer as it should. Throws CannotAudit when patience ends. */
async function patiently<T>(options: ServiceSourceOptions, what: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const { url, patienceMs = 60_000, pauseMs = 250, report, signal } = options;
  const ask = askerOf(options);
  let waitedMs = 0;
  for (let pause = pauseMs; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    const began = performance.now();
    try {
      return await work(ask);
    } catch (error) {
      if (error instanceof CannotAudit || error instanceof Differs) throw error;
      stopIfAsked(signal, `${url} was asked for ${what}`);
      const why = reasonOf(error);
      waitedMs += performance.now() - began;
      // A limit on requests is no failure: it is waited out however long it lasts.
      const limited = error instanceof Wait;
      if (error instanceof Refused || (!limited && waitedMs + pause > patienceMs)) {
        throw new CannotAudit(`${url} does not tell ${what}: ${why}`, { cause: error });
      }
      report?.(`${url} does not tell ${what} yet (${why}): asking again`);
      await sleep(limited ? error.seconds * 1_000 : pause, undefined, { signal }).catch(() => { stopIfAsked(signal, `waiting for ${url}`); });
      if (!limited) waitedMs += pause;
    }
  }
}

function askerOf({ url, fetch: fetcher = fetch }: ServiceSourceOptions): Ask {
  return async (path, headers = {}) => {
    const response = await fetcher(`${url}${path}`, { headers, signal: AbortSignal.timeout(TRY_MS) });
    if (response.ok) return response;
    const text = printable((await textOf(response)).slice(0, 300));
    if (response.status === 429) throw new Wait(Math.min(60, Math.max(1, Number(response.headers.get('retry-after')) || 1)));
    const said = `it answers ${response.status} ${text}`;
    throw response.status >= 500 ? new Error(said) : new Refused(said);
  };
}

/** The reason behind `fetch failed`. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message;
}
