/** What a page of a hundred rows costs at 100,000 markets and 10 million trades: the time of its statement, there and back included. */
import { openReadModels, type Database } from '../../query/database.js';
import { generateReadModels, type Size } from '../support/generated-read-models.js';
import { listPages } from '../support/list-pages.js';
import type { BenchLine } from './line.js';

const SIZE: Size = { markets: 100_000, trades: 10_000_000, holders: 50_000, openOrders: 5_000 };
/** Postgres plans a named statement for its values five times, then once for all. */
const WARM_UP = 10;
const RUNS = 21;
const MOST_MS = 10;

export async function listsBench(url: string): Promise<BenchLine[]> {
  await generateReadModels(url, SIZE);
  const db = await openReadModels({ url, connections: 1, statementTimeoutMs: 60_000 });
  try {
    const lines: BenchLine[] = [];
    for (const [name, read] of listPages(SIZE)) {
      const times: number[] = [];
      for (let run = 0; run < WARM_UP + RUNS; run++) times.push(await timeOf(db, read));
      times.splice(0, WARM_UP);
      times.sort((a, b) => a - b);
      lines.push({ name: `${name}: time of a page`, figure: times[(RUNS - 1) / 2] ?? Infinity, unit: 'ms', target: { atMost: MOST_MS } });
    }
    return lines;
  } finally {
    await db.close();
  }
}

/** The time of the read's statement in milliseconds. */
async function timeOf(db: Database, read: (db: Database) => Promise<unknown>): Promise<number> {
  let ms = 0;
  const rows: Database['rows'] = async (statement, values) => {
    const begun = performance.now();
    try {
      return await db.rows(statement, values);
    } finally {
      ms += performance.now() - begun;
    }
  };
  await read({ ...db, rows });
  return ms;
}
