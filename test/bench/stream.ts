/**
 * The price stream to 2,000 readers in one other process. Fan-out: from the moment when a price is there to be read until each reader has it,
 * with the service's feed and shell in this process, against bare `node:http` that writes the same bytes. And the whole way through a service
 * of its own: from handing the observation's command to the log.
 */
import { randomUUID } from 'node:crypto';
import http, { type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeCommand } from '../../engine/run/new-record.js';
import { openLog } from '../../engine/log/open-log.js';
import { createBell } from '../../engine/waiting.js';
import { createPlaces } from '../../query/places.js';
import { createPriceFeed, type PriceFeedOptions } from '../../query/price-feed.js';
import { bind } from '../../service/api/endpoint.js';
import { streamPrices, createPriceStreams } from '../../query/price-stream.js';
import { createApp } from '../../service/http/app.js';
import { TIMEOUTS, createServer } from '../../service/http/server.js';
import { newCommand } from '../support/commands.js';
import { spawnService } from '../support/service-process.js';
import { Latencies, type LatencySummary } from './latencies.js';
import type { BenchLine } from './line.js';
import { nowMs, startReaders, type Readers } from './readers-process.js';

const READERS = 2_000;
const PATH = '/api/v1/prices/BTC/stream';
/** The servers take turns. */
const ROUNDS = 3;
const WARM_UP = 20;
const EVENTS = 100;
/** Whole ways, one after the other. */
const PRICES = 50;

const dataOf = (id: number) => `{"asset":"BTC","price":6140993501000,"priceUSD":61409.93501,"timestamp":${1_700_000_000_000 + id * 1_000},"source":"pyth"}`;
const eventOf = (id: number) => `id: ${id}\ndata: ${dataOf(id)}\n\n`;

/** A server that sends event 0 to each new reader, and each later one to all. */
interface Streaming {
  readonly server: Server;
  publish(id: number): void;
  close(): Promise<void>;
}

interface Measured {
  /** Events received per second of the server's processor time, and per second. */
  readonly perProcessorS: number;
  readonly perS: number;
  readonly delayMs: LatencySummary;
}

export async function streamBench(url: string): Promise<BenchLine[]> {
  const readers = await startReaders();
  try {
    const rounds: { ours: Measured; bare: Measured }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({ bare: await fanOut(bareStream(), readers), ours: await fanOut(serviceStream(), readers) });
    }
    rounds.sort((a, b) => a.ours.perProcessorS / a.bare.perProcessorS - b.ours.perProcessorS / b.bare.perProcessorS);
    const { ours, bare } = rounds[(ROUNDS - 1) / 2]!;
    const whole = await wholeWay(url, readers);
    const peer = (figure: number) => ({ name: 'bare node:http', figure });
    const delay = (name: string, { p50, p99 }: LatencySummary): BenchLine[] => [
      { name: `${name}, p50`, figure: p50, unit: 'ms', peer: peer(bare.delayMs.p50), target: {} },
      { name: `${name}, p99`, figure: p99, unit: 'ms', peer: peer(bare.delayMs.p99), target: {} },
    ];
    const to = `to ${READERS.toLocaleString('en-US')} readers`;
    return [
      {
        name: `events ${to}, a second of processor time`, figure: ours.perProcessorS, unit: '1/s', peer: peer(bare.perProcessorS),
        target: { ratioAtLeast: 0.6 },
      },
      { name: `events ${to}, a second`, figure: ours.perS, unit: '1/s', peer: peer(bare.perS), target: {} },
      ...delay(`a price that is there, ${to}`, ours.delayMs), ...delay(`an observation's command, ${to}`, whole),
    ];
  } finally {
    readers.end();
  }
}

/** Each event is published when all readers have the one before. */
async function fanOut(streaming: Streaming, readers: Readers): Promise<Measured> {
  const { server } = streaming;
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', () => { resolve(); }); });
  await readers.ask({ open: { port: (server.address() as AddressInfo).port, path: PATH, readers: READERS } });
  const delays = new Latencies();
  let processorUs = 0;
  let ms = 0;
  for (let id = 1; id <= WARM_UP + EVENTS; id++) {
    const answered = readers.ask({ until: id });
    const before = process.cpuUsage();
    const sentMs = nowMs();
    streaming.publish(id);
    const { atMs } = await answered;
    if (id <= WARM_UP) continue;
    const { user, system } = process.cpuUsage(before);
    processorUs += user + system;
    ms += atMs.reduce((last, at) => Math.max(last, at), 0) - sentMs;
    for (const at of atMs) delays.add(at - sentMs);
  }
  await readers.ask({ close: true });
  await streaming.close();
  const events = READERS * EVENTS;
  return { perProcessorS: events / processorUs * 1e6, perS: events / ms * 1e3, delayMs: delays.summary() };
}

/** The least that a server can do: keep the responses, and write to each. */
function bareStream(): Streaming {
  const responses = new Set<ServerResponse>();
  const server = http.createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.write(eventOf(0));
    responses.add(response);
    response.once('close', () => { responses.delete(response); });
  });
  return {
    server,
    publish(id) {
      const bytes = Buffer.from(eventOf(id));
      for (const response of responses) response.write(bytes);
    },
    close: () => closed(server),
  };
}

/** The service's feed and shell on read models that answer at once. */
function serviceStream(): Streaming {
  let newest = 0;
  const moved = createBell();
  const db: PriceFeedOptions['db'] = {
    rows: <Row>(_: unknown, [after]: readonly unknown[]) => {
      const ids = Array.from({ length: newest - Math.max(-1, after as number) }, (_each, n) => newest - n).reverse();
      const prices = ids.map((id) => ({ position: id, asset: 'BTC', publishedAtMs: 1_700_000_000_000 + id * 1_000, data: dataOf(id) }));
      return Promise.resolve([{ body: JSON.stringify(prices), position: String(newest) }] as Row[]);
    },
    async waitForPosition(position, { signal } = {}) {
      while (newest < position && signal?.aborted !== true) await moved.wait(signal!, 60_000);
    },
  };
  const feed = createPriceFeed({ db, onError: (error) => { throw error; } });
  const streams = createPriceStreams(feed, createPlaces('streams', { streams: 2 * READERS, perAddress: 0 }));
  const app = createApp({
    routes: [bind(streamPrices, streams.follow)], limiters: {}, pages: {}, trustProxy: 0, waitForPosition: () => Promise.resolve(),
    observer: { answered: () => undefined, failed: (error) => { throw error; } }, now: () => performance.now(),
  });
  const maxConnections = 2 * READERS;
  const server = createServer(app, { ...TIMEOUTS, maxConnections, maxConnectionsPerAddress: 0 });
  return {
    server,
    publish(id) {
      newest = id;
      moved.ring();
    },
    async close() {
      await feed.close();
      await closed(server);
    },
  };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** From handing a command to the log until each reader of a service with all roles has its event: log, engine, read models, feed. */
async function wholeWay(url: string, readers: Readers): Promise<LatencySummary> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  const { child, listening, exited } = spawnService({ DATABASE_URL: url, DATA_DIR: directory, CHAINS: 'none' });
  try {
    const port = Number(new URL(await listening).port);
    const log = await openLog(url);
    const delays = new Latencies();
    const startS = Math.floor(Date.now() / 1_000) - 2 * (WARM_UP + PRICES);
    const record = async (n: number): Promise<number> => await log.append('commands', [{ id: randomUUID(), data: encodeCommand(newCommand('RecordPrice', {
      at: Date.now(), asset: 'BTC', source: 'pyth', rank: 0, price: '6140993501000', publishedAt: (startS + n) * 1_000,
    })) }]);
    await record(0);
    await readers.ask({ open: { port, path: PATH, readers: READERS } });
    for (let n = 1; n <= WARM_UP + PRICES; n++) {
      const sentMs = nowMs();
      const id = await record(n);
      const { atMs } = await readers.ask({ until: id });
      if (n > WARM_UP) for (const at of atMs) delays.add(at - sentMs);
    }
    await readers.ask({ close: true });
    await log.close();
    return delays.summary();
  } finally {
    child.kill('SIGTERM');
    await exited;
    await rm(directory, { recursive: true, force: true });
  }
}
