/** Answers of servers that are not ours: bodies up to a size, and why there was no answer. */

/** What of the global `fetch` a node is asked through; a simulation gives another one. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchAnswer>;

export interface FetchRequest {
  readonly method: 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly redirect: 'error';
  readonly signal: AbortSignal;
}

export interface FetchAnswer {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | null;
}

/** The body's text; undefined, without reading the rest, when it has more than `maxBytes`. */
export async function readBounded(response: Pick<FetchAnswer, 'body'>, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The innermost cause's code or message: fetch itself says only that it failed. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  if (error.cause !== undefined) return reasonOf(error.cause);
  return typeof code === 'string' ? code : error.message;
}
