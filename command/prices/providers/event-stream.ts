/** One stream of server-sent events from a provider, from the request to its end. */
import { createParser } from 'eventsource-parser';
import { reasonOf } from '../../chain/http-answer.js';
import { shown } from '../observation.js';
import { responseOf, type ProviderAccess } from './request.js';
import { ProviderFailure } from './failure.js';
import { MAX_MESSAGE_BYTES, type SourceConnection, type Transport } from './standing-stream.js';

export interface EventStreamOptions {
  readonly url: string;
  readonly access: ProviderAccess;
}

/**
 * A wait that the provider proposes for reconnecting (`retry:`) is ignored: the pauses of the standing stream are
 * longer.
 */
export function eventStreamTransport({ url, access }: EventStreamOptions): Transport {
  return async (connection) => {
    const response = await responseOf(access, { url, accept: 'text/event-stream', signal: connection.signal });
    const type = response.headers.get('content-type') ?? 'nothing';
    if (!type.startsWith('text/event-stream')) {
      await response.body?.cancel();
      throw new ProviderFailure(`answers with ${shown(type)} instead of events`);
    }
    connection.opened();
    const feed = createFeed(connection);
    try {
      for await (const chunk of response.body ?? []) feed(chunk as Uint8Array);
    } catch (error) {
      if (error instanceof ProviderFailure) throw error;
      throw new ProviderFailure(`breaks the stream off (${reasonOf(error)})`);
    }
    throw new ProviderFailure('has ended the stream');
  };
}

/** Half events and half characters wait for the rest. */
function createFeed({ heard, alive }: SourceConnection): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  const parser = createParser({
    maxBufferSize: MAX_MESSAGE_BYTES,
    onEvent: ({ event, data }) => { heard(event === undefined ? { text: data } : { event, text: data }); },
    onComment: alive,
    // Fields that nobody knows are ignored, as the format asks for.
    onError: ({ type }) => { if (type === 'max-buffer-size-exceeded') throw new ProviderFailure(`sends an event of more than ${MAX_MESSAGE_BYTES} bytes`); },
  });
  return (chunk) => { parser.feed(decoder.decode(chunk, { stream: true })); };
}
