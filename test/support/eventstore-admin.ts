/** What an operator does to the streams of a log in EventStoreDB, by the protocol, so that it is done to a real server, too. */
import { ANY, EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { parseEventStoreUrl } from '../../engine/log/eventstore/url.js';
import type { Stream } from '../../engine/log/log.js';

export interface EventStoreAdmin {
  /** Replaces the stream's metadata. */
  setMetadata(stream: Stream, metadata: Readonly<Record<string, unknown>>): Promise<void>;
  /** Deletes the stream: its next append brings it back. */
  remove(stream: Stream): Promise<void>;
  /** Deletes the stream for good. */
  tombstone(stream: Stream): Promise<void>;
  /** Appends an event that is not a record of the log. */
  appendForeign(stream: Stream): Promise<void>;
}

/** Works on the streams of the URL's log. The user of the URL must have the rights. */
export function administer(url: string): EventStoreAdmin {
  const { nodes: [node], user, streamPrefix, tls } = parseEventStoreUrl(url);
  const endpoint = { address: node!.host, port: node!.port };
  const credentials = { username: user?.name ?? 'admin', password: user?.password ?? '' };
  const nameOf = (stream: Stream): string => `${streamPrefix}-${stream}`;
  const withClient = async (work: (client: EventStoreDBClient) => Promise<unknown>): Promise<void> => {
    const client = new EventStoreDBClient({ endpoint }, { insecure: !tls });
    try {
      await work(client);
    } finally {
      await client.dispose();
    }
  };
  const append = (name: string, type: string, data: Readonly<Record<string, unknown>>): Promise<void> => withClient((client) => (
    client.appendToStream(name, jsonEvent({ type, data }), { expectedRevision: ANY, credentials })));
  return {
    setMetadata: (stream, metadata) => append(`$$${nameOf(stream)}`, '$metadata', metadata),
    remove: (stream) => withClient((client) => client.deleteStream(nameOf(stream), { credentials })),
    tombstone: (stream) => withClient((client) => client.tombstoneStream(nameOf(stream), { credentials })),
    appendForeign: (stream) => append(nameOf(stream), 'of others', { here: true }),
  };
}
