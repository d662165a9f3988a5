/** The state of the connection to the exchange, seen from the requests that the client makes. */
import { signal } from '@preact/signals';
import type { Fetch } from '../../client/src/transport.js';

/** `live`: a stream is open. `lost`: the last attempt to reach the exchange has failed. */
export type ConnectionStatus = 'connecting' | 'live' | 'lost';

export const connection = signal<ConnectionStatus>('connecting');

/** How many streams have been opened after the first one: each may have told of something that was missed. */
export const reconnects = signal(0);

/** Called when a stream begins, with the log position after which everything comes. */
export const onStream = new Set<(position: number) => void>();

let hasBeenLive = false;

/** `fetch`, and what it tells of the connection. */
export const observedFetch: Fetch = async (url, init) => {
  const isStream = url.includes('/api/v1/stream');
  let response: Response;
  try {
    response = await globalThis.fetch(url, init);
  } catch (error) {
    if (!wasLeft(init)) connection.value = 'lost';
    throw error;
  }
  if (!isStream) return response;
  if (!response.ok || response.body === null) {
    connection.value = 'lost';
    return response;
  }
  if (connection.peek() === 'lost' && hasBeenLive) reconnects.value += 1;
  connection.value = 'live';
  hasBeenLive = true;
  const position = Number(response.headers.get('X-Log-Position') ?? -1);
  for (const hear of onStream) hear(position);
  return new Response(watched(response.body, init), response);
};

/** The same bytes; says so when they end although nobody has left. */
function watched(body: ReadableStream<Uint8Array>, init: RequestInit): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const ended = (): void => { if (!wasLeft(init)) connection.value = 'lost'; };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
          return;
        }
        ended();
        controller.close();
      } catch (error) {
        ended();
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** A request that was aborted by the page itself, and not by the client for being silent, tells nothing. */
function wasLeft({ signal: leaving }: RequestInit): boolean {
  return leaving?.aborted === true && !(leaving.reason instanceof Error && leaving.reason.name === 'TransportError');
}
