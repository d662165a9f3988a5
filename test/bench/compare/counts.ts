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
/** A slow machine must have done with one before the next one comes. */
const PACE = { order: { warmUp: 100, units: 400, ratePerS: 40 }, fill: { warmUp: 10, units: 40, ratePerS: 2 } } as const;
/** After this time without work, the statistics of Postgres include all. */
const FLUSHED_MS = 11_000;
/** What the service does without orders is measured for as long, and taken off. */
const IDLE_MS = 20_000;
/** Nothing but the work itself writes: no page is written whole after a checkpoint, no table is vacuumed. */
const QUIET = { autovacuum: 'off', checkpoint_timeout: '1h' };

export async function countsBench({ update }: { readonly update: boolean }): Promise<BenchLine[]> {
  const counted: Record<string, Counts> = {};
  for (const [name, workload] of Object.entries(WORKLOADS)) counted[name] = await countsOf(workload);
  if (update) await writeFile(TABLE, `${JSON.stringify(counted, undefined, 2)}\n`);
  const table = JSON.parse(await readFile(TABLE, 'utf8')) as Table;
  return Object.entries(counted).flatMap(([name, counts]) => COUNTS.map((count) => ({
    name: `${WORKLOADS[name]!.unit}: ${count}`, figure: counts[count], unit: 'each', peer: { name: 'in the table', figure: table[name]![count] },
    target: { ratioAtLeast: 1 - TOLERANCE, ratioAtMost: 1 + TOLERANCE },
  })));
}

async function countsOf(workload: Workload): Promise<Counts> {
  const service = await startMeasured(HERE, { environment: workload.environment, postgres: QUIET });
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
