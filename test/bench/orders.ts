/**
 * A signed order over HTTP until it is durable and answered: everything on this machine, load generator included. What an order takes of
 * the processor is told by part, and how long these wait for a core, which on two cores is most of the latency.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { startEventStoreProcess } from '../support/eventstore-process.js';
import { perUnit, type Figures } from './compare/figures.js';
import { startMeasured, type MeasuredService } from './compare/measured-service.js';
import { HERE } from './compare/revision.js';
import { useWal } from './compare/used-wal.js';
import { pinTo } from './cores.js';
import type { BenchLine } from './line.js';
import type { LoadResult } from './load.js';
import { medianOf } from './median.js';
import { CONNECTIONS, get, load, orderSigner } from './order-load.js';

/** Turns of the service, the same server without log and engine, and the naive stack. */
const TURNS = 5;
const ORDERS = { full: 12_000, floor: 12_000, naive: 300 } as const;
/** The service is warm when an order takes as much as in the round before, within this part, or after so many rounds. */
const WARM = { within: 0.03, rounds: 8 } as const;
/** Of the full rate: how long each is sent. */
const PACED_S = 8;

interface Readiness { readonly engine: { readonly position: number }; readonly projections: readonly { readonly position: number }[] }

interface Turn {
  readonly load: LoadResult;
  /** By part, for each order. */
  readonly parts: Figures;
}

type Signed = (count: number) => Promise<Buffer[]>;

export async function ordersBench(): Promise<BenchLine[]> {
  const service = await startMeasured(HERE, { environment: { CHAINS: 'none' } });
  try {
    const { orders, domain } = await orderSigner(service.url);
    let seed = 0;
    const signed: Signed = (count) => orders(count, ++seed);
    await warmUp(service, signed);
    const turns = await inTurns(service, signed, JSON.stringify(domain));
    const rate = medianOf(turns.full.map((turn) => turn.load.ratePerS)).figure;
    const [half, fifth]: [Turn[], Turn[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      half.push(await turnOf(service, signed, { ratePerS: rate / 2 }));
      fifth.push(await turnOf(service, signed, { ratePerS: rate / 5 }));
    }
    const lagS = await lagAfterLoad(service, signed);
    const pinned = await pinnedRates(service, signed);
    const stores = await onBothStores(service, signed);
    return [...rateLines(turns), ...costLines('at full load', turns.full, 200), ...latencyLines({ half, fifth }), ...costLines('at half load', half, 280), {
      name: 'signed orders, the service on one core, load generator and Postgres on the other', ...medianOf(pinned), unit: 'orders/s',
      peer: { name: 'both on both cores', figure: rate }, target: {},
    }, {
      name: 'signed orders with the log in EventStoreDB (the test server)', ...medianOf(stores.eventStore), unit: 'orders/s',
      peer: { name: 'with the log in Postgres, in turns', figure: medianOf(stores.postgres).figure }, target: { ratioAtLeast: 0.8 },
    }, { name: 'read models behind after the load stops', figure: lagS, unit: 's', target: { atMost: 2 } }];
  } finally {
    await service.remove();
  }
}

/** Rounds of orders until V8 has compiled what they take. */
async function warmUp(service: MeasuredService, signed: Signed): Promise<void> {
  let before = Infinity;
  for (let round = 0; round < WARM.rounds; round++) {
    const now = totalOf(await turnOf(service, signed));
    if (Math.abs(now / before - 1) < WARM.within) return;
    before = now;
  }
}

/** As fast as 64 connections carry, or at a rate. */
async function turnOf(service: MeasuredService, signed: Signed, { ratePerS }: { readonly ratePerS?: number } = {}): Promise<Turn> {
  const requests = await signed(ratePerS === undefined ? ORDERS.full : Math.round(ratePerS * PACED_S));
  const before = await service.usage();
  const result = await load(service.port, requests, ratePerS === undefined ? {} : { ratePerS });
  await untilCaughtUp(service);
  return { load: result, parts: perUnit(before, await service.usage(), requests.length) };
}

interface Turns {
  readonly full: Turn[];
  /** Orders per second. */
  readonly floor: number[];
  readonly naive: number[];
}

async function inTurns(service: MeasuredService, signed: Signed, domain: string): Promise<Turns> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  await chmod(directory, 0o755);
  const database = await startEmbeddedPostgres({ directory: join(directory, 'naive'), log: () => undefined });
  await useWal(database.url);
  const floorServer = await startServer('intake-server.js', [domain]);
  const naiveServer = await startServer('naive-server.js', [database.url, domain]);
  try {
    // Neither keeps orders that would be in its way.
    for (let round = 0; round < 2; round++) await load(floorServer.port, await signed(ORDERS.floor), {});
    await load(naiveServer.port, await signed(ORDERS.naive), {});
    const turns: Turns = { full: [], floor: [], naive: [] };
    for (let turn = 0; turn < TURNS; turn++) {
      turns.full.push(await turnOf(service, signed));
      turns.floor.push((await load(floorServer.port, await signed(ORDERS.floor), {})).ratePerS);
      turns.naive.push((await load(naiveServer.port, await signed(ORDERS.naive), {})).ratePerS);
    }
    return turns;
  } finally {
    for (const { stop } of [floorServer, naiveServer]) stop();
    await database.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The service alone on a core: its own limit. Each process takes those that it has started along: this one the load generator. */
async function pinnedRates(service: MeasuredService, signed: Signed): Promise<number[]> {
  const [own, others] = [1, 0];
  await pinTo(others, process.pid);
  await pinTo(own, service.child.pid!);
  await pinTo(others, service.postmaster);
  try {
    const rates: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) rates.push((await turnOf(service, signed)).load.ratePerS);
    return rates;
  } finally {
    for (const pid of [process.pid, service.child.pid!, service.postmaster]) await pinTo(undefined, pid);
  }
}

/** Rates of a service with its log in EventStoreDB, and of the one with its log in Postgres. */
async function onBothStores(service: MeasuredService, signed: Signed): Promise<Readonly<Record<'eventStore' | 'postgres', number[]>>> {
  const server = await startEventStoreProcess();
  try {
    const other = await startMeasured(HERE, { environment: { CHAINS: 'none', LOG_URL: server.url } });
    try {
      const { orders } = await orderSigner(other.url);
      let seed = 0;
      const otherSigned: Signed = (count) => orders(count, ++seed);
      await warmUp(other, otherSigned);
      const rates = { eventStore: [] as number[], postgres: [] as number[] };
      for (let turn = 0; turn < TURNS; turn++) {
        rates.eventStore.push((await turnOf(other, otherSigned)).load.ratePerS);
        rates.postgres.push((await turnOf(service, signed)).load.ratePerS);
      }
      return rates;
    } finally {
      await other.remove();
    }
  } finally {
    await server.close();
  }
}

function rateLines({ full, floor, naive }: Turns): BenchLine[] {
  const line = { name: `signed order, HTTP to durable to answered, ${CONNECTIONS} connections`, ...medianOf(full.map((turn) => turn.load.ratePerS)), unit: 'orders/s' };
  return [
    { ...line, peer: { name: 'naive stack', figure: medianOf(naive).figure }, target: { ratioAtLeast: 18 } },
    { ...line, peer: { name: 'same server, no log or engine', figure: medianOf(floor).figure }, target: { ratioAtLeast: 0.6 } },
  ];
}

/** A disk that writes back for 0.1 s spoils the turn that it falls into: the median of the turns has its part of that, and the highest tells it. */
function latencyLines({ half, fifth }: Readonly<Record<'half' | 'fifth', readonly Turn[]>>): BenchLine[] {
  const of = (turns: readonly Turn[], percentile: 'p50' | 'p99' | 'p999') => medianOf(turns.map(({ load: { latencyMs } }) => latencyMs[percentile]));
  const at = ([turn]: readonly Turn[], part: string) => `latency at ${part} of that load (${Math.round(turn!.load.ratePerS)}/s)`;
  const p50 = of(half, 'p50');
  return [
    { name: `${at(half, 'half')}: p50`, ...p50, unit: 'ms', target: {} },
    { name: `${at(half, 'half')}: p99`, ...of(half, 'p99'), unit: 'ms', peer: { name: 'its p50', figure: p50.figure }, target: { ratioAtMost: 8, atMost: 15 } },
    { name: `${at(half, 'half')}: p99.9`, ...of(half, 'p999'), unit: 'ms', target: {} },
    { name: `${at(fifth, 'a fifth')}: p99`, ...of(fifth, 'p99'), unit: 'ms', target: { atMost: 6 } },
  ];
}

/** What an order takes of the processor, and `atMost` µs of all together. */
function costLines(when: string, turns: readonly Turn[], atMost: number): BenchLine[] {
  const of = (part: string) => medianOf(turns.map(({ parts }) => parts[part] ?? 0));
  const line = (name: string, figures: ReturnType<typeof medianOf>, target: BenchLine['target'] = {}): BenchLine => ({
    name: `an order ${when}: ${name}`, ...figures, unit: 'µs', target,
  });
  return [
    line('processor time of all processes', medianOf(turns.map(totalOf)), { atMost }),
    line('the service\'s main thread', of('main thread, µs')),
    line('its other threads: projections, V8\'s helpers', medianOf(turns.map(({ parts }) => othersOf(parts)))),
    line('Postgres', of('Postgres, µs')),
    line('the load generator', medianOf(turns.map((turn) => turn.load.processorUs))),
    line('the main thread waits for a core', of('main thread waits, µs')),
    line('Postgres waits for a core', of('Postgres waits, µs')),
  ];
}

function totalOf({ load: { processorUs }, parts }: Turn): number {
  return (parts['main thread, µs'] ?? 0) + othersOf(parts) + (parts['Postgres, µs'] ?? 0) + processorUs;
}

function othersOf(parts: Figures): number {
  return Object.entries(parts).reduce((sum, [name, us]) => sum + (/^(thread \d+|other threads), µs$/.test(name) ? us : 0), 0);
}

async function startServer(file: string, args: readonly string[]): Promise<{ readonly port: number; stop(): void }> {
  const child = fork(fileURLToPath(new URL(`./${file}`, import.meta.url)), args, { execArgv: [] });
  const [{ port }] = await once(child, 'message') as [{ port: number }];
  return { port, stop: () => { child.kill('SIGKILL'); } };
}

/** Seconds from the last answer until every read model has folded all that the engine had decided. */
async function lagAfterLoad(service: MeasuredService, signed: Signed): Promise<number> {
  await load(service.port, await signed(ORDERS.full), {});
  return await untilCaughtUp(service);
}

async function untilCaughtUp(service: MeasuredService): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { engine, projections } = await get<Readiness>(service.url, '/health/ready');
    if (projections.every(({ position }) => position >= engine.position)) return (performance.now() - start) / 1_000;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
