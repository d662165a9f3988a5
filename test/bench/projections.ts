/** Read models: a worker that follows, decodes, folds and writes, against the same statements with their values ready. */
import pg from 'pg';
import { projections } from '../../projections/catalogue.js';
import { openSession, type OpenSession } from '../../projections/database.js';
import type { Statement } from '../../projections/projection.js';
import { runProjections } from '../../projections/runner.js';
import { createReadModels } from '../../projections/schema.js';
import type { Log } from '../../engine/log.js';
import { logOf } from '../projected.js';
import type { BenchLine } from './line.js';
import { outcomeHistory } from './outcome-history.js';

const LENGTH = 60_000;
const ROUNDS = 3;
const HISTORY = { seed: 42, markets: 100, traders: 2_000 };

interface Written {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** Outcomes a second, the median of rounds that take turns; each round starts with empty tables. */
export async function projectionsBench(url: string): Promise<BenchLine[]> {
  const log = await logOf(outcomeHistory({ ...HISTORY, length: LENGTH }));
  await measure(url, await logOf(outcomeHistory({ ...HISTORY, length: LENGTH / 10 })), LENGTH / 10);
  const rounds: { folded: number; bare: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(url, log, LENGTH));
  rounds.sort((a, b) => a.folded / a.bare - b.folded / b.bare);
  const { folded, bare } = rounds[(ROUNDS - 1) / 2];
  return [{
    name: 'projections: outcomes a second, half orders that rest, 30 % that cross, 20 % cancels', figure: folded, unit: 'outcomes/s',
    peer: { name: 'the same rows by the same SQL with its values ready', figure: bare }, target: { ratioAtLeast: 0.7 },
  }];
}

async function measure(url: string, log: Log, length: number): Promise<{ folded: number; bare: number }> {
  const batches: Written[][] = [];
  await emptySchema(url, 'read_models');
  const folded = await secondsToFold(url, log, length, batches);
  await emptySchema(url, 'bare_models');
  const bare = await secondsToWrite(url, batches);
  await assertSameRows(url);
  return { folded: length / folded, bare: length / bare };
}

async function secondsToFold(url: string, log: Log, length: number, batches: Written[][]): Promise<number> {
  const stop = new AbortController();
  let from = 0;
  const run = runProjections({
    url, log, projections, signal: stop.signal, open: recordInto(batches),
    onProgress: ({ position }) => {
      if (position === 0) from = performance.now();
      else if (position === length) stop.abort();
    },
  });
  await run.done;
  return (performance.now() - from) / 1_000;
}

/** Sessions that keep what they wrote, batch by batch; reading and notifying is not writing. */
function recordInto(batches: Written[][]): OpenSession {
  return async (url, schema) => {
    const session = await openSession(url, schema);
    return {
      ...session,
      query: (statement, values) => {
        if (statement.name === 'advance_checkpoints') batches.push([]);
        if (!/^\s*select/.test(statement.text)) batches.at(-1)?.push({ statement, values });
        return session.query(statement, values);
      },
    };
  };
}

async function secondsToWrite(url: string, batches: readonly Written[][]): Promise<number> {
  const session = await openSession(url, 'bare_models');
  const from = performance.now();
  for (const batch of batches) {
    await session.run('begin');
    for (const { statement, values } of batch) await session.query(statement, values);
    await session.run('commit');
  }
  const seconds = (performance.now() - from) / 1_000;
  await session.close();
  return seconds;
}

async function emptySchema(url: string, schema: string): Promise<void> {
  const session = await openSession(url, schema);
  await session.run(`drop schema if exists ${schema} cascade`);
  await createReadModels({ session, schema, projections });
  await session.run('checkpoint');
  await session.close();
}

async function assertSameRows(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const table of ['projection', 'orders', 'levels', 'trades', 'positions', 'minute_volumes']) {
    const { rowCount } = await client.query(`(table read_models.${table} except table bare_models.${table}) limit 1`);
    if (rowCount !== 0) throw new Error(`the peer wrote other rows of ${table}: the comparison is void`);
  }
  await client.end();
}
