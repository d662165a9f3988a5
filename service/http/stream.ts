/** Sends an answer piece by piece, no faster than its client reads. */
import type { StreamReply } from '../api/endpoint.js';
import { discardBody } from './body.js';
import type { ClientSignals } from './client-signals.js';
import type { StreamConnections } from './connections.js';
import type { Ending } from './ending.js';
import { setHead } from './send.js';
import type { StepRequest, StepResponse } from './step.js';

export interface StreamParts {
  readonly clients: ClientSignals;
  readonly ending: Ending;
  /** Is told which connections carry a stream. */
  readonly streams: StreamConnections;
}

/** Resolves when the stream has ended, when the client has gone or is cut off, and when the service stops. */
export async function sendStream(
  request: StepRequest, response: StepResponse, { stream, cut, finite, ...head }: StreamReply,
  { clients, ending, streams }: StreamParts,
): Promise<void> {
  setHead(response, head, ending);
  // A source may be silent at first.
  response.flushHeaders();
  discardBody(request);
  const over = new AbortController();
  const end = (): void => { over.abort(); };
  const ends = [clients.signalOf(request.socket), ...cut === undefined ? [] : [cut]];
  for (const signal of ends) signal.addEventListener('abort', end);
  if (finite !== true) ending.streams.add(end);
  if ((ending.isStopping && finite !== true) || request.method === 'HEAD' || ends.some(({ aborted }) => aborted)) end();
  const source = stream[Symbol.asyncIterator]();
  const leave = over.signal.aborted || finite === true ? undefined : streams.begin(request.socket);
  try {
    await pump(source, response, over.signal);
  } catch (error) {
    if (!over.signal.aborted) throw error;
    // Not awaited: a source may be waiting for its next piece.
    source.return?.().catch(() => undefined);
  } finally {
    ending.streams.delete(end);
    leave?.();
    for (const signal of ends) signal.removeEventListener('abort', end);
  }
  // A client that does not read would not read the end either.
  if (response.writableNeedDrain) breakOff(request, response); else response.end();
}

/**
 * Makes a truncated answer visible to the client: the last chunk of its transfer coding is missing. HTTP/1.0 has no such coding and takes
 * the end of the connection for that of the answer, so that connection is reset.
 */
export function breakOff({ httpVersion, socket }: StepRequest, response: StepResponse): void {
  if (httpVersion === '1.0') socket.resetAndDestroy();
  response.destroy();
}

/**
 * Writes the pieces of a stream. Rejects when the source does, and when the signal aborts. Without `await`: an event goes to thousands of
 * streams, and a race with the signal for each piece would cost as much as writing it.
 */
function pump(source: AsyncIterator<string | Uint8Array>, response: StepResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => { reject(signal.reason as Error); };
    const write = ({ done, value }: IteratorResult<string | Uint8Array>): void => {
      if (signal.aborted) return;
      if (done === true) resolve(); else if (response.write(value)) next(); else response.once('drain', next);
    };
    const next = (): void => { if (!signal.aborted) source.next().then(write).catch(reject); };
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort(); else next();
  });
}
