/**
 * `npm run bench -- counts`: what an order and a fill cost in statements, rows, WAL and system calls, against the table `counts.json`. One client
 * sends one at a time, so that nothing is batched; then counts are exact where times are noisy. `--update` writes the table anew.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BenchLine } from '../line.js';
import { COUNTS, countsPerUnit, type Counts } from './figures.js';
import { startMeasured } from './measured-service.js';
import { HERE } from './revision.js';
import { WORKLOADS, type Workload } from './workloads.js';

type Table = Readonly<Record<string, Counts>>;

/** Beside the sources: the compiler copies no JSON that is not imported. */
const TABLE = fileURLToPath(new URL('../../../../test/bench/compare/counts.json', import.meta.url));
/** A larger change fails, also for the better: the table says then what is so now. */
const TOLERANCE = 0.05;
/**
 * System calls depend on how a machine schedules processes (one more wake-up is one more read), and on how often loops look
 * for a fill while the chain takes its time. One machine made 1.11 times the reads per order, with every other count equal.
 */
const SYSTEM_CALL_TOLERANCE = 0.25;
/** A machine that is busy with other things batches even these: what is not as in the table is measured again. */
const ATTEMPTS = 3;
/** A slow machine must have done with one before the next one comes. */
const PACE = { order: { warmUp: 50, units: 200, ratePerS: 10 }, fill: { warmUp: 5, units: 30, ratePerS: 0.5 } } as const;
/** After this time without work, the statistics of Postgres include all. */
const FLUSHED_MS = 11_000;
/** How long the service is measured without orders, to take off what it does anyway. */
const IDLE_MS = 10_000;
/** V8's own threads, and its marking in small steps, wake the event loop by a system call each. */
const QUIET_V8 = ['--single-threaded', '--no-incremental-marking'];
/** Nothing but the work itself writes: no page is written whole after a checkpoint, no table is vacuumed. */
const QUIET_POSTGRES = { autovacuum: 'off', checkpoint_timeout: '1h' };

/** Quick markets and their prices come by themselves. */
const NO_PRICES = { ROLES: 'projections,engine,indexer,lane,settlement,query,api' };

export async function countsBench({ update }: { readonly update: boolean }): Promise<BenchLine[]> {
  if (update) await writeTable();
  const table = JSON.parse(await readFile(TABLE, 'utf8')) as Table;
  // Side by side: each has a service and a Postgres of its own, which mostly wait.
  const measured = await Promise.all(Object.entries(WORKLOADS).map(async ([name, workload]) => linesOf(workload, table[name]!)));
  return measured.flat();
}

async function linesOf(workload: Workload, due: Counts): Promise<BenchLine[]> {
  let counts = await countsOf(workload);
  for (let attempt = 1; attempt < ATTEMPTS && !COUNTS.every((count) => isDue(count, counts[count] / due[count])); attempt++) {
    counts = await countsOf(workload);
  }
  return COUNTS.map((count) => ({
    name: `${workload.unit}: ${count}`, figure: counts[count], unit: 'each', peer: { name: 'in the table', figure: due[count] },
    target: { ratioAtLeast: 1 - toleranceOf(count), ratioAtMost: 1 + toleranceOf(count) },
  }));
}

async function writeTable(): Promise<void> {
  const table: Record<string, Counts> = {};
  for (const [name, workload] of Object.entries(WORKLOADS)) table[name] = await countsOf(workload);
  await writeFile(TABLE, `${JSON.stringify(table, undefined, 2)}\n`);
}

function isDue(count: keyof Counts, ratio: number): boolean {
  return Math.abs(ratio - 1) <= toleranceOf(count);
}

function toleranceOf(count: keyof Counts): number {
  return count === 'reads' || count === 'writes' ? SYSTEM_CALL_TOLERANCE : TOLERANCE;
}

async function countsOf(workload: Workload): Promise<Counts> {
  const service = await startMeasured(HERE, { environment: { ...workload.environment, ...NO_PRICES }, nodeArgs: QUIET_V8, postgres: QUIET_POSTGRES });
  const { warmUp, units, ratePerS } = PACE[workload.unit];
  try {
    await (await workload.prepare(service, warmUp, 0))(ratePerS);
    const send = await workload.prepare(service, units, 1);
    await sleep(FLUSHED_MS);
    const before = { usage: await service.usage(), ms: performance.now() };
    await send(ratePerS);
    await sleep(FLUSHED_MS);
    const after = { usage: await service.usage(), ms: performance.now() };
    await sleep(IDLE_MS);
    const idle = { usage: await service.usage(), ms: performance.now() };
    return countsPerUnit({ before, after, idle }, units);
  } finally {
    await service.remove();
  }
}
