/** A signed order over HTTP until it is durable and answered: everything on this machine, load generator included. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import type { BenchLine } from './line.js';
import type { LoadResult } from './load.js';
import { CONNECTIONS, get, load, orderSigner } from './order-load.js';

const MEASURED = 40_000;
const WARM_UP = 15_000;
const NAIVE = 1_500;

interface Readiness { readonly engine: { readonly position: number }; readonly projections: readonly { readonly position: number }[] }

/** Rate against the naive stack and against the same server without log and engine; latencies at half the rate; the read models' lag. */
export async function ordersBench(): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  await chmod(directory, 0o755);
  const service = await startService({ DATA_DIR: join(directory, 'data'), LOG_LEVEL: 'info', CHAINS: 'none' });
  try {
    const { orders, domain: signing } = await orderSigner(service.url);
    const full = await load(service.port, await orders(WARM_UP + MEASURED, 1), { warmUp: WARM_UP });
    const lagS = await untilCaughtUp(service);
    const half = full.ratePerS / 2;
    const paced = await load(service.port, await orders(WARM_UP + MEASURED / 2, 2), { warmUp: WARM_UP, ratePerS: half });
    await service.stop();
    const domain = JSON.stringify(signing);
    const floor = await withServer('intake-server.js', [domain], (port, requests) => load(port, requests, { warmUp: WARM_UP }), await orders(WARM_UP + MEASURED, 3));
    const naive = await naiveRate(directory, domain, await orders(NAIVE + 300, 4));
    return lines({ full, floor, naive, paced, lagS });
  } finally {
    await service.kill();
    await rm(directory, { recursive: true, force: true });
  }
}

type Results = Readonly<Record<'full' | 'floor' | 'naive' | 'paced', LoadResult>> & { readonly lagS: number };

function lines({ full, floor, naive, paced, lagS }: Results): BenchLine[] {
  const name = `signed order, HTTP to durable to answered, ${CONNECTIONS} connections`;
  const { p50, p99, p999 } = paced.latencyMs;
  const at = `latency at half of that load (${Math.round(paced.ratePerS)}/s)`;
  return [
    { name, figure: full.ratePerS, unit: 'orders/s', peer: { name: 'naive stack', figure: naive.ratePerS }, target: { ratioAtLeast: 20 } },
    { name, figure: full.ratePerS, unit: 'orders/s', peer: { name: 'same server, no log or engine', figure: floor.ratePerS }, target: { ratioAtLeast: 0.6 } },
    { name: `${at}: p50`, figure: p50, unit: 'ms', target: {} },
    { name: `${at}: p99`, figure: p99, unit: 'ms', target: {} },
    { name: `${at}: p99.9`, figure: p999, unit: 'ms', target: {} },
    { name: 'read models behind after the load stops', figure: lagS, unit: 's', target: { atMost: 2 } },
  ];
}

async function naiveRate(directory: string, domain: string, requests: Buffer[]): Promise<LoadResult> {
  const database = await startEmbeddedPostgres({ directory: join(directory, 'naive'), log: () => undefined });
  try {
    return await withServer('naive-server.js', [database.url, domain], (port, all) => load(port, all, { warmUp: 300 }), requests);
  } finally {
    await database.stop();
  }
}

async function withServer(
  file: string, args: string[], use: (port: number, requests: Buffer[]) => Promise<LoadResult>, requests: Buffer[],
): Promise<LoadResult> {
  const child = fork(fileURLToPath(new URL(`./${file}`, import.meta.url)), args, { execArgv: [] });
  try {
    const [{ port }] = await once(child, 'message') as [{ port: number }];
    return await use(port, requests);
  } finally {
    child.kill('SIGKILL');
  }
}

/** Seconds until every read model has folded all that the engine had decided. */
async function untilCaughtUp(service: ServiceProcess): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { engine, projections } = await get<Readiness>(service.url, '/health/ready');
    if (projections.every(({ position }) => position >= engine.position)) return (performance.now() - start) / 1_000;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
