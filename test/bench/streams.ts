/**
 * The streams of channels. One book to 2,000 readers, by the service's streams and shell and by bare `node:http` that
 * writes the same bytes, in turns and each in a process of its own; what 5,000 connections hold; and the whole way
 * through a service of its own, from an accepted order's answer to its event, alone and while others replay the whole
 * history; and such a replay, beside what the log alone takes to be read.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OrderDomain } from '../../command/signing/typed-data.js';
import { openLog } from '../../engine/log/open-log.js';
import { spawnService } from '../support/service-process.js';
import { Latencies, type LatencySummary } from './latencies.js';
import type { BenchLine } from './line.js';
import { get, load } from './order-load.js';
import { nowMs, startReaders, type Readers } from './readers-process.js';
import { signedOrderRequests } from './signed-orders.js';
import type { ServerRequest, Usage } from './streams-server.js';

const READERS = 2_000;
const CONNECTIONS = 5_000;
/** The servers take turns. */
const ROUNDS = 3;
const WARM_UP = 20;
const EVENTS = 100;
/** Further events to as many connections as there may be. */
const FURTHER = 50;
/** Four bytes of each event that a connection keeps would be that much. What grows is the newest messages, and the log. */
const MOST_GROWTH_KB = 1_000;
/** Whole ways, one after the other, and the orders before them, which those who replay have to read. */
const ORDERS = 60;
const HISTORY = 10_000;
const REPLAYS = 8;
const PAGE_RECORDS = 1_000;

interface Measured {
  /** Events received per second of the server's processor time. */
  readonly perProcessorS: number;
  readonly delayMs: LatencySummary;
}

export async function streamsBench(url: string): Promise<BenchLine[]> {
  const readers = await startReaders();
  try {
    const rounds: { ours: Measured; bare: Measured }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({ bare: await fanOut('bare', readers), ours: await fanOut('service', readers) });
    }
    rounds.sort((a, b) => a.ours.perProcessorS / a.bare.perProcessorS - b.ours.perProcessorS / b.bare.perProcessorS);
    const { ours, bare } = rounds[(ROUNDS - 1) / 2]!;
    const held = { ours: await held5000('service', readers), bare: await held5000('bare', readers) };
    const { alone, besideReplays, replay } = await wholeWay(url, readers);
    const peer = (figure: number) => ({ name: 'bare node:http', figure });
    const [readersText, connectionsText, ordersText] = [READERS, CONNECTIONS, HISTORY].map((n) => n.toLocaleString('en-US'));
    const to = `to ${readersText} readers`;
    return [
      {
        name: `a book's events ${to}, a second of processor time`, figure: ours.perProcessorS, unit: '1/s',
        peer: peer(bare.perProcessorS), target: { ratioAtLeast: 0.7 },
      },
      ...delays(`an event that is there, ${to}`, ours.delayMs, { name: 'bare node:http', of: bare.delayMs }),
      {
        name: `memory of each of ${connectionsText} connections`, figure: held.ours.each / 1_000, unit: 'kB',
        peer: peer(held.bare.each / 1_000), target: {},
      },
      {
        name: `what they hold together grows by, with ${FURTHER} further events`, figure: held.ours.growth / 1_000, unit: 'kB',
        peer: peer(held.bare.growth / 1_000), target: { atMost: MOST_GROWTH_KB },
      },
      ...delays(`an order's answer to its event, ${to}`, alone),
      ...delays(`the same while ${REPLAYS} others replay ${ordersText} orders again and again`, besideReplays, { name: 'alone', of: alone }),
      {
        name: `outcomes of the whole history, ${ordersText} orders, to one reader`, figure: replay.perS, unit: '1/s',
        peer: { name: 'the log, read and nothing else', figure: replay.logPerS }, target: { ratioAtLeast: 0.15 },
      },
    ];
  } finally {
    readers.end();
  }
}

interface Peer { readonly name: string; readonly of: LatencySummary }

function delays(name: string, figures: LatencySummary, peer?: Peer): BenchLine[] {
  return (['p50', 'p99'] as const).map((part) => ({
    name: `${name}, ${part}`, figure: figures[part], unit: 'ms', target: {},
    ...peer && { peer: { name: peer.name, figure: peer.of[part] } },
  }));
}

interface StreamsServer {
  /** Where its stream is. */
  readonly at: { readonly port: number; readonly path: string };
  publish(position: number): Promise<void>;
  usage(): Promise<Usage>;
  end(): Promise<void>;
}

async function startServer(kind: 'service' | 'bare'): Promise<StreamsServer> {
  const program = fileURLToPath(new URL('./streams-server.js', import.meta.url));
  const child: ChildProcess = fork(program, [kind], { execArgv: ['--expose-gc'] });
  const [at] = await once(child, 'message') as [StreamsServer['at']];
  const ask = async (asked: ServerRequest): Promise<unknown> => {
    const answered = once(child, 'message') as Promise<[{ answered: unknown }]>;
    child.send(asked);
    return (await answered)[0].answered;
  };
  return {
    at,
    async publish(position) { await ask({ publish: position }); },
    usage: () => ask({ usage: true }) as Promise<Usage>,
    async end() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Each event is published when all readers have the one before. */
async function fanOut(kind: 'service' | 'bare', readers: Readers): Promise<Measured> {
  const server = await startServer(kind);
  await readers.ask({ open: { ...server.at, readers: READERS } });
  const latencies = new Latencies();
  let before = 0;
  for (let position = 1; position <= WARM_UP + EVENTS; position++) {
    if (position === WARM_UP + 1) before = (await server.usage()).processorUs;
    const answered = readers.ask({ until: position });
    const sentMs = nowMs();
    await server.publish(position);
    const { atMs } = await answered;
    if (position > WARM_UP) for (const at of atMs) latencies.add(at - sentMs);
  }
  const { processorUs } = await server.usage();
  await readers.ask({ close: true });
  await server.end();
  return { perProcessorS: READERS * EVENTS / (processorUs - before) * 1e6, delayMs: latencies.summary() };
}

/** What 5,000 connections hold, each in bytes, and what that has grown by after further events. */
async function held5000(kind: 'service' | 'bare', readers: Readers): Promise<{ each: number; growth: number }> {
  const server = await startServer(kind);
  const { memory: before } = await server.usage();
  await readers.ask({ open: { ...server.at, readers: CONNECTIONS } });
  const toAll = async (first: number, last: number) => {
    for (let position = first; position <= last; position++) {
      const answered = readers.ask({ until: position });
      await server.publish(position);
      await answered;
    }
    return (await server.usage()).memory;
  };
  const open = await toAll(1, 5);
  const later = await toAll(6, 5 + FURTHER);
  await readers.ask({ close: true });
  await server.end();
  return { each: (open - before) / CONNECTIONS, growth: later - open };
}

interface Config { readonly serverTime: number; readonly chains: readonly { readonly orderDomain: OrderDomain }[] }

interface WholeWay { readonly alone: LatencySummary; readonly besideReplays: LatencySummary; readonly replay: Replay }

/** Outcomes a second. */
interface Replay { readonly perS: number; readonly logPerS: number }

/** From an accepted order's answer until each reader of a service with all roles has its event. */
async function wholeWay(databaseUrl: string, readers: Readers): Promise<WholeWay> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  const { child, listening, exited } = spawnService({ DATABASE_URL: databaseUrl, DATA_DIR: directory, CHAINS: 'none' });
  const others = await startReaders();
  try {
    const url = await listening;
    const port = Number(new URL(url).port);
    const { serverTime, chains: [chain] } = await get<Config>(url, '/api/v1/config');
    const { markets: [market] } = await get<{ markets: { id: string }[] }>(url, '/api/v1/markets');
    const orders = (count: number, seed: number) => signedOrderRequests({
      count, seed, marketIds: [market!.id], domain: chain!.orderDomain, expiration: serverTime + 7_200,
    });
    await load(port, await orders(HISTORY, 1), {});
    const path = `/api/v1/stream?channels=book:${market!.id}`;
    const replay = await replayed(databaseUrl, { port, path: `${path}&from=-1`, reader: others, order: await orders(1, 4) });
    await readers.ask({ open: { port, path, readers: READERS } });
    const alone = await ways(port, await orders(ORDERS, 2), readers);
    let isOver = false;
    const replaying = (async () => {
      while (!isOver) {
        const { position } = await newest(url);
        await others.ask({ open: { port, path: `${path},trades:${market!.id},markets&from=-1`, readers: REPLAYS } });
        await others.ask({ until: position });
        await others.ask({ close: true });
      }
    })();
    const besideReplays = await ways(port, await orders(ORDERS, 3), readers);
    isOver = true;
    await replaying;
    await readers.ask({ close: true });
    return { alone, besideReplays, replay };
  } finally {
    others.end();
    child.kill('SIGTERM');
    await exited;
    await rm(directory, { recursive: true, force: true });
  }
}

/** The whole history through a stream, and by the log's own reads, in turns. The order is its last message. */
async function replayed(
  databaseUrl: string,
  { port, path, reader, order }: { readonly port: number; readonly path: string; readonly reader: Readers; readonly order: readonly Buffer[] },
): Promise<Replay> {
  const socket = await connected(port);
  const { position } = await place(socket, order[0]!);
  socket.destroy();
  const log = await openLog(databaseUrl);
  const streamMs: number[] = [];
  const logMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    let sinceMs = nowMs();
    await reader.ask({ open: { port, path, readers: 1 } });
    await reader.ask({ until: position });
    streamMs.push(nowMs() - sinceMs);
    await reader.ask({ close: true });
    sinceMs = nowMs();
    for (let from = 0; from <= position;) from += (await log.read('outcomes', from, PAGE_RECORDS)).length;
    logMs.push(nowMs() - sinceMs);
  }
  await log.close();
  const perS = (ms: readonly number[]) => (position + 1) / Math.min(...ms) * 1_000;
  return { perS: perS(streamMs), logPerS: perS(logMs) };
}

async function newest(url: string): Promise<{ position: number }> {
  const { engine } = await get<{ engine: { position: number } }>(url, '/health/ready');
  return engine;
}

/** Orders one after the other, each sent when all readers have the event of the one before. */
async function ways(port: number, requests: readonly Buffer[], readers: Readers): Promise<LatencySummary> {
  const latencies = new Latencies();
  const socket = await connected(port);
  for (const request of requests) {
    const { atMs: answeredMs, position } = await place(socket, request);
    const { ids, atMs } = await readers.ask({ until: position });
    ids.forEach((id, i) => { if (id === position) latencies.add(atMs[i]! - answeredMs); });
  }
  socket.destroy();
  return latencies.summary();
}

async function connected(port: number): Promise<Socket> {
  const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** When the answer has come, and the order's log position. */
async function place(socket: Socket, request: Buffer): Promise<{ atMs: number; position: number }> {
  socket.write(request);
  const [answer] = await once(socket, 'data') as [Buffer];
  const atMs = nowMs();
  const [, position] = /^HTTP\/1.1 200 [^]*x-log-position: (\d+)/i.exec(answer.toString('latin1')) ?? [];
  if (position === undefined) throw new Error(`not accepted: ${answer.toString('latin1')}`);
  return { atMs, position: Number(position) };
}
