/** How the pieces of a stream get to its client. */
import type { Writable } from 'node:stream';

/**
 * Writes the pieces of a stream. Rejects when the source does, and when the signal aborts. Without `await`: an event
 * goes to thousands of streams, and a race with the signal for each piece would cost as much as writing it.
 */
export function pump(source: AsyncIterator<string | Uint8Array>, sink: Writable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => { reject(signal.reason as Error); };
    const write = ({ done, value }: IteratorResult<string | Uint8Array>): void => {
      if (signal.aborted) return;
      if (done === true) resolve(); else if (sink.write(value)) next(); else sink.once('drain', next);
    };
    const next = (): void => { if (!signal.aborted) source.next().then(write).catch(reject); };
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort(); else next();
  });
}
