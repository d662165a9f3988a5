/** One JSON-RPC request to the development chain's own node. */

const REQUEST_TIMEOUT_MS = 60_000;

/** The result of the request, as the type that the caller names. Rejects with the node's error, and when there is no answer within a minute. */
export async function nodeRequest<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const response = await fetch(url, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const { result, error } = await response.json() as { result: T; error?: { message: string } };
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result;
}
