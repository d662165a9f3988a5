/**
 * What a page of a hundred rows costs in Postgres at 100,000 markets and 10 million trades: the processor time of the session, which is the same on a
 * machine that is busy with other things. The time of the statement, there and back included, is told beside it.
 */
import { openReadModels, type Database } from '../../query/database.js';
import { soleRow } from '../../engine/log/postgres/connection.js';
import { generateReadModels, type Size } from '../support/generated-read-models.js';
import { listPages } from '../support/list-pages.js';
import { scheduled } from './compare/usage.js';
import type { BenchLine } from './line.js';
import { median } from './median.js';

const SIZE: Size = { markets: 100_000, trades: 10_000_000, holders: 50_000, openOrders: 5_000 };
/** Postgres plans a named statement for its values five times, then once for all. */
const WARM_UP = 10;
const RUNS = 21;
const MOST_MS = 10;

export async function listsBench(url: string): Promise<BenchLine[]> {
  await generateReadModels(url, SIZE);
  const db = await openReadModels({ url, connections: 1, statementTimeoutMs: 60_000 });
  try {
    const processor = await processorTimeOf(db);
    const lines: BenchLine[] = [];
    for (const [name, read] of listPages(SIZE)) {
      const runs: Run[] = [];
      for (let run = 0; run < WARM_UP + RUNS; run++) runs.push(await measured(db, read, processor));
      const middle = (of: keyof Run) => median(runs.slice(WARM_UP).map((run) => run[of]));
      lines.push(
        { name: `${name}: processor time of a page in Postgres`, figure: middle('processorMs'), unit: 'ms', target: { atMost: MOST_MS } },
        { name: `${name}: time of a page`, figure: middle('ms'), unit: 'ms', target: {} },
      );
    }
    return lines;
  } finally {
    await db.close();
  }
}

interface Run {
  readonly ms: number;
  readonly processorMs: number;
}

/** What the read's statement takes. */
async function measured(db: Database, read: (db: Database) => Promise<unknown>, processor: () => Promise<number>): Promise<Run> {
  let [ms, processorMs] = [0, 0];
  const rows: Database['rows'] = async (statement, values) => {
    const used = await processor();
    const begun = performance.now();
    const found = await db.rows<never>(statement, values);
    [ms, processorMs] = [performance.now() - begun, await processor() - used];
    return found;
  };
  await read({ ...db, rows });
  return { ms, processorMs };
}

/** The processor time that the database's one session has used, in milliseconds. Linux only. */
async function processorTimeOf(db: Database): Promise<() => Promise<number>> {
  const { pid } = soleRow(await db.rows<{ pid: number }>({ text: 'select pg_backend_pid() as pid' }, []));
  return async () => ((await scheduled(`/proc/${pid}`))?.ranNs ?? NaN) / 1e6;
}
