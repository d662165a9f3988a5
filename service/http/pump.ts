/** How the pieces of a stream get to its client. */
import type { Writable } from 'node:stream';
import type { Source } from '../api/endpoint.js';
import type { Outflow } from './chunks.js';

/**
 * Writes the pieces of a stream. Rejects when the source does, and when the signal aborts. Without `await`: an event
 * goes to thousands of streams, and a race with the signal for each piece would cost as much as writing it.
 * `flowing` writes the pieces of a source that hands them over itself.
 */
export function pump(source: Source, to: Writable, signal: AbortSignal, flowing?: () => Outflow): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const abort = (): void => {
      isOver = true;
      reject(signal.reason as Error);
    };
    const write = ({ done, value }: IteratorResult<string | Uint8Array>): void => {
      if (signal.aborted) return;
      if (done === true) resolve(); else if (to.write(value)) next(); else to.once('drain', next);
    };
    const flows = (): boolean => {
      if (flowing === undefined || source.flow === undefined) return false;
      const out = flowing();
      return source.flow({ write: (piece) => !isOver && out.write(piece), onDrain: out.onDrain, end: resolve });
    };
    const next = (): void => { if (!signal.aborted && !flows()) source.next().then(write).catch(reject); };
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort(); else next();
  });
}
