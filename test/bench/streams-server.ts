/**
 * A server of one book's stream in a process of its own, for the benchmark of the streams: the service's streams and
 * shell over a log in memory, or bare `node:http` that writes the same bytes. Its parent tells it when something
 * happens.
 */
import { once } from 'node:events';
import http, { type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { pause } from '../../engine/waiting.js';
import { createPlaces } from '../../query/places.js';
import { channelsOf } from '../../query/streams/channel.js';
import { createChannels, emptyOpening } from '../../query/streams/channels.js';
import { getStream } from '../../query/streams/get-stream.js';
import { Delivery } from '../../query/streams/message.js';
import { createStreams } from '../../query/streams/streams.js';
import { serve } from '../../service/api/endpoint.js';
import { createApp } from '../../service/http/app.js';
import { TIMEOUTS, createServer } from '../../service/http/server.js';
import { answeringModels, appendOrders, MARKET, restingOrder } from '../support/stream-scene.js';

export type ServerRequest
  /** Answered once the outcome at this position is on its way to the readers. */
  = | { readonly publish: number }
    /** Answered with what the process has used since its start, and holds, after a collection of garbage. */
    | { readonly usage: true };

export interface Usage {
  readonly processorUs: number;
  /** Of JavaScript and of buffers, in bytes. */
  readonly memory: number;
}

const PATH = `/api/v1/stream?channels=book:${MARKET}`;

const CONNECTIONS = 20_000;

/** Something that sends what happens at the next position to all readers. */
interface Streaming {
  readonly server: Server;
  publish(position: number): Promise<unknown>;
}

/** The least that a server can do: keep the responses, and write to each. */
function bareStream(): Streaming {
  const channels = channelsOf([`book:${MARKET}`]);
  const fold = createChannels();
  for (const channel of channels) fold.add(channel, emptyOpening(channel));
  const responses = new Set<ServerResponse>();
  const server = http.createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.write('id: 0\n\n');
    responses.add(response);
    response.once('close', () => { responses.delete(response); });
  });
  // Encoded before the time is taken.
  const bytes = Array.from({ length: 2_000 }, (_, position) => (
    new Delivery(fold.fold(position, restingOrder(position))).events));
  return {
    server,
    publish(position) {
      const event = bytes[position]!;
      for (const response of responses) response.write(event);
      return Promise.resolve();
    },
  };
}

/** The service's streams and shell, over a log in memory and read models that answer at once. */
async function serviceStream(): Promise<Streaming> {
  const log = createMemoryLog();
  await appendOrders(log);
  const streams = createStreams({
    log, db: answeringModels(log), assets: [], places: createPlaces('streams', { streams: CONNECTIONS, perAddress: 0 }),
    onError: (error) => { throw error; },
    // A heartbeat in between would be an event of one server alone.
    pause: (_ms, signal) => pause(2 ** 30, signal),
  });
  const app = createApp({
    routes: serve([getStream], { streams }), limiters: {}, pages: {}, trustProxy: 0,
    waitForPosition: () => Promise.resolve(),
    observer: { answered: () => undefined, failed: (error) => { throw error; } }, now: () => performance.now(),
  });
  const server = createServer(app, { ...TIMEOUTS, maxConnections: CONNECTIONS, maxConnectionsPerAddress: 0 });
  return { server, publish: () => appendOrders(log) };
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { processorUs: user + system, memory: heapUsed + external };
}

const streaming = process.argv[2] === 'service' ? await serviceStream() : bareStream();
streaming.server.listen(0, '127.0.0.1');
await once(streaming.server, 'listening');
process.on('message', (asked: ServerRequest) => {
  const answered = 'usage' in asked ? Promise.resolve(usage()) : streaming.publish(asked.publish);
  void answered.then((answer) => { process.send!({ answered: answer }); });
});
process.send!({ port: (streaming.server.address() as AddressInfo).port, path: PATH });
