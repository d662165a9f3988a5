/** The log in EventStoreDB keeps the log's contract, on the test server or on the real one that REAL_EVENTSTORE_URL names. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  Client, Metadata, Server, ServerCredentials, credentials, type sendUnaryData, type ServerReadableStream,
  type ServerWritableStream, type ServiceError,
} from '@grpc/grpc-js';
import { parseEventStoreUrl } from '../../engine/log/eventstore/url.js';
import { openLog } from '../../engine/log/open-log.js';
import { REAL_EVENTSTORE_URL, testEventStore } from '../support/eventstore-process.js';
import { startTcpProxy, type Fate, type FaultyLink } from '../support/proxies.js';
import { within } from '../support/until.js';
import { logContract } from './contract.js';

const APPEND = '/event_store.client.streams.Streams/Append';
const READ = '/event_store.client.streams.Streams/Read';
const LARGEST_MESSAGE = 17 * 1024 * 1024;

/** Messages pass as they are. */
const bytes = (value: Buffer): Buffer => value;
const codec = { requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes };
const service = {
  append: { path: APPEND, requestStream: true, responseStream: false, ...codec },
  read: { path: READ, requestStream: false, responseStream: true, ...codec },
};

/** `url` is the server's own, with or without TLS; the log is to be opened with the returned one. */
async function startEventStoreLink(url: string): Promise<FaultyLink & { readonly url: string }> {
  const upstream = connectTo(url);
  const withheld: (() => Promise<void>)[] = [];
  let fates: Fate[] = [];
  const relay = new Server({ 'grpc.max_receive_message_length': LARGEST_MESSAGE });
  relay.addService(service, {
    append: (call: ServerReadableStream<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => { void relayAppend(call, reply); },
    read: (call: ServerWritableStream<Buffer, Buffer>) => { relayRead(upstream, call); },
  });
  const port = await new Promise<number>((resolve, reject) => {
    relay.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  const proxy = await startTcpProxy({ host: '127.0.0.1', port });
  const { streamPrefix } = parseEventStoreUrl(url);

  async function relayAppend(call: ServerReadableStream<Buffer, Buffer>, reply: sendUnaryData<Buffer>): Promise<void> {
    const requests: Buffer[] = [];
    call.on('data', (request: Buffer) => { requests.push(request); });
    await within('the end of an append', once(call, 'end'));
    const fate = fates.shift() ?? 'pass';
    if (fate !== 'pass') link.met();
    switch (fate) {
      case 'pass':
        upstream.append(requests, reply);
        return;
      case 'cut':
        proxy.cut();
        return;
      case 'lose-reply':
        upstream.append(requests, () => { void link.replied().then(() => { proxy.cut(); }); });
        return;
      case 'withhold':
        withheld.push(() => new Promise((resolve) => { upstream.append(requests, () => { resolve(); }); }));
    }
  }

  const link: FaultyLink & { readonly url: string } = {
    url: `esdb://127.0.0.1:${proxy.port}?tls=false&streamPrefix=${streamPrefix}`,
    next(...next) { fates = next; },
    replied: async () => undefined,
    met: () => undefined,
    refuse: () => { proxy.refuse(); },
    accept: () => { proxy.accept(); },
    async release() { await Promise.all(withheld.splice(0).map((send) => send())); },
    async close() {
      relay.forceShutdown();
      upstream.client.close();
      await proxy.close();
    },
  };
  return link;
}

interface Upstream {
  readonly client: Client;
  readonly metadata: () => Metadata;
  append(requests: readonly Buffer[], reply: sendUnaryData<Buffer>): void;
}

function connectTo(url: string): Upstream {
  const { nodes: [node], tls, tlsCAFile, user } = parseEventStoreUrl(url);
  const channel = tls ? credentials.createSsl(tlsCAFile === undefined ? null : readFileSync(tlsCAFile)) : credentials.createInsecure();
  const client = new Client(`${node!.host}:${node!.port}`, channel, { 'grpc.max_receive_message_length': LARGEST_MESSAGE });
  const metadata = (): Metadata => {
    const given = new Metadata();
    given.set('requires-leader', 'true');
    if (tls && user !== undefined) given.set('authorization', `Basic ${Buffer.from(`${user.name}:${user.password}`).toString('base64')}`);
    return given;
  };
  return {
    client, metadata,
    append(requests, reply) {
      const call = client.makeClientStreamRequest(APPEND, bytes, bytes, metadata(), reply as (error: ServiceError | null, value?: Buffer) => void);
      for (const request of requests) call.write(request);
      call.end();
    },
  };
}

function relayRead({ client, metadata }: Upstream, call: ServerWritableStream<Buffer, Buffer>): void {
  const upstream = client.makeServerStreamRequest(READ, bytes, bytes, call.request, metadata());
  upstream.on('error', (error) => { if (!call.cancelled) call.emit('error', error); });
  upstream.pipe(call as unknown as NodeJS.WritableStream);
  call.on('cancelled', () => { upstream.cancel(); });
}

logContract(REAL_EVENTSTORE_URL === '' ? 'EventStoreDB' : 'EventStoreDB (REAL_EVENTSTORE_URL)', async () => {
  const { url, close } = await testEventStore();
  return {
    open: () => openLog(url),
    async openFaulty(options) {
      const link = await startEventStoreLink(url);
      return { log: await openLog(link.url, options), link };
    },
    remove: close,
  };
});
