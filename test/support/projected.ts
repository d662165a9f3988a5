/** What the projection tests share: a log of chosen outcomes, a worker over it, and the tables that it made. */
import { createHash } from 'node:crypto';
import pg from 'pg';
import { encodeCommand, encodeOutcome, recordId, type CommandOutcome } from '../../engine/records/codec.js';
import { outcomeText } from '../../engine/records/event-text.js';
import type { Event } from '../../engine/records/events.js';
import type { Log, NewRecord } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { projections as catalogue } from '../../projections/catalogue.js';
import { tableNames, type Projection } from '../../projections/projection.js';
import { runProjections, type ProjectionRun, type RunOptions } from '../../projections/runner.js';
import { withChainEvents } from './chain-events.js';
import { withPriceEvents } from './price-events.js';
import { withRelayEvents } from './relay-events.js';
import { appendAll } from './log-records.js';
import { createRandomCommands, crowd } from './random-commands.js';
import { createReferenceEngine, type ReferenceEngine } from '../reference/engine.js';

export type Rows = Record<string, Record<string, unknown>[]>;

/** The rows of a table. */
export function rowsOf(rows: Rows, table: string): Record<string, unknown>[] {
  const found = rows[table];
  if (found === undefined) throw new Error(`there is no table ${table}`);
  return found;
}

/** The bytes of an outcome; its digest covers nothing here, since no projection reads it. */
export function outcomeRecord(outcome: CommandOutcome): NewRecord {
  const digest = `0x${createHash('sha256').update(JSON.stringify(outcome)).digest('hex')}`;
  return { id: recordId(digest), data: encodeOutcome(outcomeText(outcome), digest) };
}

/** A log of these outcomes. */
export async function logOf(outcomes: readonly CommandOutcome[]): Promise<Log> {
  const log = createMemoryLog();
  await appendOutcomes(log, outcomes);
  return log;
}

export async function appendOutcomes(log: Log, outcomes: readonly CommandOutcome[]): Promise<void> {
  await appendAll(log, 'outcomes', outcomes.map(outcomeRecord));
}

/** Outcomes of single events, a second apart from `at` on. */
export function outcomesOf(at: number, ...lists: Event[][]): CommandOutcome[] {
  return lists.map((events, n) => ({ at: at + 1_000 * n, events }));
}

/** What an engine answers to a seeded stream of commands that runs into every corner, and what a chain and a relayer tell besides. */
export function randomOutcomes(seed: number, length: number, engine: ReferenceEngine = createReferenceEngine()): CommandOutcome[] {
  const commands = createRandomCommands(seed, crowd);
  const outcomes = Array.from({ length }, () => {
    const command = commands.next();
    const { outcome } = engine.step(command, encodeCommand(command));
    commands.learn(outcome);
    return outcome;
  });
  return withPriceEvents(withRelayEvents(withChainEvents(outcomes, seed), seed), seed);
}

/** Runs a worker until it has folded as much as `position`; rejects when it stops by itself. */
export async function projectTo(position: number, options: Omit<RunOptions, 'signal' | 'projections' | 'report'> & Partial<RunOptions>): Promise<void> {
  const stop = new AbortController();
  await new Promise<void>((resolve, reject) => {
    const run = startWorker({ ...options, signal: stop.signal, onProgress: (progress) => {
      options.onProgress?.(progress);
      if (progress.position >= position) stop.abort();
    } });
    run.done.then(resolve, reject);
  });
}

/** A worker over the catalogue, with short waits. */
export function startWorker(options: Omit<RunOptions, 'projections' | 'report'> & Partial<RunOptions>): ProjectionRun {
  return runProjections({ projections: catalogue, backoff: { firstMs: 5, longestMs: 20 }, report: () => undefined, ...options });
}

/** Every row of the projections' tables, in the order of their text; bytea as hex with 0x, exact numbers as strings. */
export async function readTables(url: string, projections: readonly Projection[] = catalogue, schema = 'read_models'): Promise<Rows> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const rows: Rows = {};
    for (const table of ['projection', ...projections.flatMap(tableNames)]) {
      const result = await client.query<Record<string, unknown>>(`select * from ${schema}.${table} as t order by t::text collate "C"`);
      rows[table] = result.rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [
        column, Buffer.isBuffer(value) ? `0x${value.toString('hex')}` : value,
      ])));
    }
    return rows;
  } finally {
    await client.end();
  }
}

/** Runs SQL as the database's owner. */
export async function runSql(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
