/** A `fetch` for tests of the client: answers by a script, and keeps what it was asked. */

export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** What happens to a request: an answer, an error of the connection, or nothing until it is aborted. */
export type Step = Response | Error | 'silence' | ((asked: Asked) => Response);

export interface ScriptedFetch {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly asked: Asked[];
}

/** Each request takes the next step; the last one stands for all that follow. */
export function scriptedFetch(...steps: readonly Step[]): ScriptedFetch {
  const asked: Asked[] = [];
  return {
    asked,
    async fetch(url, { method = 'GET', headers, body, signal }) {
      signal?.throwIfAborted();
      const request: Asked = {
        method, target: url.slice(new URL(url).origin.length), headers: new Headers(headers), body: body as string | undefined,
        signal: signal ?? undefined,
      };
      const step = steps[Math.min(asked.push(request), steps.length) - 1];
      if (step === 'silence') {
        return await new Promise((_, reject) => { signal?.addEventListener('abort', () => { reject(signal.reason as Error); }); });
      }
      if (step instanceof Error) throw step;
      if (step === undefined) throw new Error(`nothing is scripted for ${method} ${url}`);
      return typeof step === 'function' ? step(request) : step.clone();
    },
  };
}

interface AnswerOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(body: unknown, { status = 200, headers = {} }: AnswerOptions = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } });
}

export function problem(status: number, code: string, headers: Record<string, string> = {}): Response {
  return json({ error: `it is ${code}`, code }, { status, headers: { 'Content-Type': 'application/problem+json', ...headers } });
}

/** A stream that is answered with these pieces, one after the other, and then ends, breaks off, or stays open. */
export function stream(
  pieces: readonly string[], { then = 'break', position = 0 }: { readonly then?: 'end' | 'break' | 'stay'; readonly position?: number } = {},
): (asked: Asked) => Response {
  return ({ signal }) => {
    const encoder = new TextEncoder();
    let next = 0;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal?.addEventListener('abort', () => { controller.error(signal.reason); });
      },
      pull(controller) {
        const piece = pieces[next++];
        if (piece !== undefined) controller.enqueue(encoder.encode(piece));
        else if (then === 'end') controller.close();
        else if (then === 'break') controller.error(new Error('the connection was cut'));
        else return new Promise(() => undefined);
        return undefined;
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'X-Log-Position': String(position) } });
  };
}
