/** A client of a price stream that connects again whenever the stream ends, with the last id that it has. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';

export interface PriceListener {
  /** The ids of the events, in the order in which they came. */
  readonly ids: readonly number[];
  /** The statuses of the answers that were no stream. */
  readonly refusals: readonly number[];
  /** How often the stream has begun. */
  readonly streams: () => number;
  /** Resolves after the signal. */
  readonly done: Promise<void>;
}

export function listenToPrices(url: string, signal: AbortSignal): PriceListener {
  const ids: number[] = [];
  const refusals: number[] = [];
  let streams = 0;
  const parser = createParser({ onEvent: ({ id }) => { if (id !== undefined) ids.push(Number(id)); } });

  async function listen(): Promise<void> {
    const last = ids.at(-1);
    const response = await fetch(url, { signal, headers: last === undefined ? {} : { 'Last-Event-ID': String(last) } });
    if (response.status !== 200) {
      refusals.push(response.status);
      await response.text();
      return;
    }
    streams += 1;
    parser.reset();
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream()) as AsyncIterable<string>) parser.feed(piece);
  }

  async function keepListening(): Promise<void> {
    while (!signal.aborted) {
      // A stream that breaks off is opened again.
      await listen().catch(() => undefined);
      await sleep(20);
    }
  }
  return { ids, refusals, streams: () => streams, done: keepListening() };
}
