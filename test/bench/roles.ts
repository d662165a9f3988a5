/** Orders on one process with all roles, and on the api process of a stack of one process per role, which has no engine role. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../support/role-processes.js';
import { spawnService, spawnStack, type SpawnedService } from '../support/service-process.js';
import { ROLE_NAMES } from '../../service/process/roles.js';
import type { BenchLine } from './line.js';
import type { LoadResult } from './load.js';
import { CONNECTIONS, load, orderSigner } from './order-load.js';

const WARM_UP = 10_000;
const MEASURED = 20_000;
const PACED = 10_000;
/** Orders per second of the latency runs: the same for all, and well within what each takes. */
const PACED_RATE = 800;

interface Measured { readonly full: LoadResult; readonly paced: LoadResult }

export async function rolesBench(): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  await chmod(directory, 0o755);
  try {
    const one = await withService(spawnService({ DATA_DIR: join(directory, 'one'), CHAINS: 'none' }), (url) => measure(url, Number(new URL(url).port), 1));
    // The api process is at PORT, the query process at the next port.
    const [port] = await freePorts(ROLE_NAMES.length) as [number];
    const stack = spawnStack({ DATA_DIR: join(directory, 'roles'), CHAINS: 'none', PORT: String(port) }, ROLE_NAMES.length);
    const api = await withService(stack, () => measure(`http://127.0.0.1:${port + 1}`, port, 3));
    return lines('a process per role, at the api process', api, one);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Throughput with as many orders as 64 connections carry, then latencies at a fixed rate. */
async function measure(url: string, port: number, seed: number): Promise<Measured> {
  const { orders } = await orderSigner(url);
  const full = await load(port, await orders(WARM_UP + MEASURED, 10 * seed), { warmUp: WARM_UP });
  const paced = await load(port, await orders(1_000 + PACED, 10 * seed + 1), { warmUp: 1_000, ratePerS: PACED_RATE });
  return { full, paced };
}

function lines(where: string, { full, paced }: Measured, one: Measured): BenchLine[] {
  const latency = (name: 'p50' | 'p99'): BenchLine => ({
    name: `${where}: latency at ${PACED_RATE} orders/s, ${name}`, figure: paced.latencyMs[name], unit: 'ms',
    peer: { name: 'one process', figure: one.paced.latencyMs[name] }, target: {},
  });
  return [
    {
      name: `${where}: orders durable and answered, ${CONNECTIONS} connections`, figure: full.ratePerS, unit: 'orders/s',
      peer: { name: 'one process', figure: one.full.ratePerS }, target: {},
    },
    latency('p50'), latency('p99'),
  ];
}

async function withService<T>({ child, listening, exited }: SpawnedService, use: (url: string) => Promise<T>): Promise<T> {
  try {
    const url = await listening;
    while (!await fetch(`${url}/health/ready`).then(({ ok }) => ok, () => false)) await new Promise((resolve) => setTimeout(resolve, 100));
    return await use(url);
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}
