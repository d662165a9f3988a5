/** Answers of servers that are not ours: bodies up to a size, and why there was no answer. */

/** The body's text; undefined, without reading the rest, when it has more than `maxBytes`. */
export async function readBounded(response: Response, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk as Uint8Array);
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
