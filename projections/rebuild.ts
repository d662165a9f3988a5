/** `rebuild NAME`: makes a projection's tables again from position 0 in a shadow schema, compares them with the live tables, and swaps. */
import type { Log } from '../engine/log/log.js';
import { checkpointOf, readCheckpoint, readVersions } from './checkpoint.js';
import { openSession, sqlState, type OpenSession, type Session } from './database.js';
import { foldInto } from './folding.js';
import { stays } from './history/sweeps.js';
import { decode, withinLimits, type BatchLimits } from './inbox.js';
import { soleRow } from '../engine/log/postgres/connection.js';
import { extentOf, tableNames, type Fold, type FoldedOutcome, type Projection } from './projection.js';
import { createReadModels, grants, READ_MODELS, START_LOCK } from './schema.js';

export interface RebuildOptions {
  readonly url: string;
  readonly log: Log;
  readonly projection: Projection;
  readonly signal?: AbortSignal;
  readonly limits?: BatchLimits;
  readonly open?: OpenSession;
  /** Does nothing when the live tables already have the projection's version at the time of this rebuild's turn. */
  readonly onlyIfOlder?: boolean;
  readonly onProgress?: (position: number) => void;
}

export interface Rebuilt {
  /** How many outcomes are in the new tables. */
  readonly position: number;
  /**
   * The number of rows that only the old or only the new tables had; a changed row counts twice, and 0 means identical. Rows that go with old
   * history are in the new tables until the next round, and do not count. Null when there were no old tables, or of another version, and none were
   * compared.
   */
  readonly differingRows: number | null;
}

const LIMITS: BatchLimits = { outcomes: 20_000, events: 60_000 };
/** The last outcomes are folded while the live worker waits, so there may be at most this part of a batch of them. */
const LAST_STRETCH = 0.1;
/** How long the swap waits for readers, and so makes new readers wait, before it rolls back and tries again. */
const LOCK_TIMEOUT = '2s';
const PAGE = 2_000;
const LIVE = checkpointOf(READ_MODELS);

/**
 * Rebuilds one projection while live workers and readers go on. A rebuild that is killed leaves the live tables unchanged, and the next
 * rebuild starts from the beginning. Rebuilds of one projection take turns. Throws DatabaseUnavailable, LogUnavailable,
 * ProjectionFailed.
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const { url, projection, open = openSession, onlyIfOlder = false } = options;
  const shadow = `rebuild_${projection.name}`;
  const session = await open(url, shadow);
  try {
    await session.run(`select pg_advisory_lock(hashtext('${shadow}'))`);
    await session.run(`set search_path to ${READ_MODELS}`);
    await createReadModels({ session, schema: READ_MODELS, projections: [projection] });
    const live = await liveState(session, projection);
    if (onlyIfOlder && live.version === projection.version) return { position: live.position, differingRows: null };
    await session.run(`drop schema if exists ${shadow} cascade; create schema ${shadow}; set search_path to ${shadow}, ${READ_MODELS}`);
    for (const table of projection.tables) await session.run(table);
    return await fillAndSwap({ ...options, session, shadow, fold: projection.start() });
  } finally {
    await session.close();
  }
}

type Rebuilding = RebuildOptions & { readonly session: Session; readonly shadow: string; readonly fold: Fold };

async function fillAndSwap(begun: Rebuilding): Promise<Rebuilt> {
  const { session, projection, signal, limits = LIMITS } = begun;
  let rebuilding = begun;
  for (let position = 0; ;) {
    signal?.throwIfAborted();
    const { position: target } = await liveState(session, projection);
    if (target - position > limits.outcomes * LAST_STRETCH) {
      position = await fill(rebuilding, position, target);
      continue;
    }
    try {
      return await compareAndSwap(rebuilding, position);
    } catch (error) {
      if (!GAVE_WAY.has(sqlState(error) ?? '')) throw error;
      await session.run('rollback');
      rebuilding = { ...begun, fold: projection.start() };
    }
  }
}

/** SQLSTATEs of a swap that readers have blocked: lock timeout, deadlock. */
const GAVE_WAY = new Set(['55P03', '40P01']);

/** Folds the outcomes before `target` into the shadow tables, one transaction per batch. Returns `target`. */
async function fill(rebuilding: Rebuilding, from: number, target: number): Promise<number> {
  const { session, signal, onProgress } = rebuilding;
  for await (const batch of batches(rebuilding, from, target)) {
    signal?.throwIfAborted();
    await session.run('begin');
    const end = await foldBatch(rebuilding, batch);
    await session.run('commit');
    onProgress?.(end);
  }
  return target;
}

async function foldBatch({ session, projection: { name }, fold }: Rebuilding, batch: readonly FoldedOutcome[]): Promise<number> {
  await foldInto({ name, fold, batch, query: session.query });
  return extentOf(batch).end;
}

/** The outcomes from `from` to before `target`, in batches. */
async function* batches({ log, limits = LIMITS }: Rebuilding, from: number, target: number): AsyncGenerator<FoldedOutcome[]> {
  let waiting: FoldedOutcome[] = [];
  let events = 0;
  for (let next = from; next < target;) {
    const records = await log.read('outcomes', next, Math.min(PAGE, target - next));
    if (records.length === 0) throw new Error(`the log ends at ${next}, but the read models are at ${target}: they were made from another log`);
    for (const record of records) {
      const outcome = decode(record, next++);
      waiting.push(outcome);
      events += outcome.events.length;
    }
    while (waiting.length >= limits.outcomes || events >= limits.events || (next === target && waiting.length > 0)) {
      const batch = withinLimits(waiting, limits);
      waiting = waiting.slice(batch.length);
      events = waiting.reduce((sum, outcome) => sum + outcome.events.length, 0);
      yield batch;
    }
  }
}

/** In one transaction, at the checkpoint, while the live worker waits: the last outcomes, the comparison, the swap. */
async function compareAndSwap(rebuilding: Rebuilding, filled: number): Promise<Rebuilt> {
  const { session, shadow, projection } = rebuilding;
  const { name, version } = projection;
  await session.run(`begin; ${LIVE.lock}`);
  const { position, version: found } = await liveState(session, projection);
  if (position < filled) throw new Error(`the live ${name} went back from ${filled} to ${position} meanwhile: start the rebuild again`);
  for await (const batch of batches(rebuilding, filled, position)) await foldBatch(rebuilding, batch);
  const tables = tableNames(projection);
  const differingRows = found === version ? await countDifferences(session, shadow, tables) : null;
  await session.run(`set local lock_timeout = '${LOCK_TIMEOUT}'; select pg_advisory_xact_lock(${START_LOCK})`);
  for (const table of tables) {
    await session.run(`
      drop table if exists ${READ_MODELS}.${table};
      alter table ${shadow}.${table} set schema ${READ_MODELS}`);
  }
  await session.run(`
    ${LIVE.join({ name, version })};
    drop schema ${shadow} cascade;
    ${grants(READ_MODELS)};
    select pg_notify('${READ_MODELS}', '');
    commit`);
  return { position, differingRows };
}

/** The number of rows that are in the tables of only one of the two schemas; those that go with old history do not count. */
async function countDifferences(session: Session, shadow: string, tables: readonly string[]): Promise<number> {
  let rows = 0;
  for (const table of tables) {
    const [live, made] = [`${READ_MODELS}.${table}`, `${shadow}.${table}`];
    const [count] = soleRow(await session.query<[string]>({
      name: `compare_${table}`,
      text: `
        with live as (select * from ${live} t where ${stays(table)}), made as (select * from ${made} t where ${stays(table)})
        select (select count(*) from (table live except table made) as gone) + (select count(*) from (table made except table live) as new)`,
    }, []));
    rows += Number(count);
  }
  return rows;
}

/** The live tables' version, undefined without tables, and the checkpoint. */
async function liveState({ query }: Session, { name }: Projection): Promise<{ readonly version: number | undefined; readonly position: number }> {
  const [versions, { position }] = await Promise.all([readVersions(query), readCheckpoint(query)]);
  return { version: versions.get(name), position };
}
