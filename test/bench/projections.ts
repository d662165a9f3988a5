/** Read models: a worker that follows, decodes, folds and writes, against the same statements with their values ready. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Log } from '../../engine/log/log.js';
import { projections } from '../../projections/catalogue.js';
import { openSession, type OpenSession, type Session } from '../../projections/database.js';
import type { PreparedStatement } from '../../projections/projection.js';
import { runProjections } from '../../projections/runner.js';
import { createReadModels } from '../../projections/schema.js';
import { appendAll } from '../support/log-records.js';
import { runSql } from '../support/sql.js';
import { logOf, outcomeRecord } from '../support/projected.js';
import type { BenchLine } from './line.js';
import { median } from './median.js';
import { outcomeHistory } from './outcome-history.js';

const LENGTH = 100_000;
/** Small, so that what else the machine does meets both sides alike, and one batch or two for the worker. */
const STRETCH = 4_000;
const HISTORY = { seed: 42, markets: 100, traders: 2_000 };

interface Written {
  readonly statement: PreparedStatement;
  readonly values: readonly unknown[];
}

/** Outcomes a second, the worker and its peer taking turns stretch by stretch; the medians of all stretches but the first. */
export async function projectionsBench(url: string): Promise<BenchLine[]> {
  const stretches = inStretches(outcomeHistory({ ...HISTORY, length: LENGTH }));
  await emptySchema(url, 'read_models');
  await emptySchema(url, 'bare_models');
  const log = await logOf([]);
  const batches: Written[][] = [];
  const worker = startFolding(url, log, batches);
  const bare = await openSession(url, 'bare_models');
  const seconds: { folded: number; bare: number }[] = [];
  for (const stretch of stretches) {
    const records = stretch.map(outcomeRecord);
    const from = performance.now();
    const first = await appendAll(log, 'outcomes', records);
    await worker.reached(first + records.length);
    const between = performance.now();
    await write(bare, batches.splice(0));
    seconds.push({ folded: (between - from) / 1_000, bare: (performance.now() - between) / 1_000 });
  }
  await worker.stop();
  await bare.close();
  await assertSameRows(url);
  const warm = seconds.slice(1);
  return [{
    name: 'projections: outcomes a second, 40 % orders that rest, 25 % that cross, 20 % settled fills, 15 % cancels',
    figure: STRETCH / median(warm.map(({ folded }) => folded)), unit: 'outcomes/s',
    peer: { name: 'the same rows by the same SQL with its values ready', figure: STRETCH / median(warm.map((turn) => turn.bare)) },
    target: { ratioAtLeast: 0.8 },
  }];
}

function inStretches(outcomes: readonly CommandOutcome[]): CommandOutcome[][] {
  return Array.from({ length: LENGTH / STRETCH }, (_, n) => outcomes.slice(n * STRETCH, (n + 1) * STRETCH));
}

/** A worker over the log, and a wait for its progress; rejects when the worker stops by itself. */
function startFolding(url: string, log: Log, batches: Written[][]) {
  const stop = new AbortController();
  let position = 0;
  let progressed: () => void = () => undefined;
  const { done } = runProjections({
    url, log, projections, signal: stop.signal, open: recordInto(batches), freshnessMs: 0, report: () => undefined,
    onProgress: (progress) => {
      position = progress.position;
      progressed();
    },
  });
  return {
    reached: async (wanted: number) => {
      while (position < wanted) await Promise.race([done, new Promise<void>((resolve) => { progressed = resolve; })]);
    },
    stop: async () => {
      stop.abort();
      await done;
    },
  };
}

/** Sessions that keep what they wrote, batch by batch; reading is not writing, and the peer's checkpoint has another writer. */
function recordInto(batches: Written[][]): OpenSession {
  return async (url, schema) => {
    const session = await openSession(url, schema);
    return {
      ...session,
      query: (statement, values) => {
        if (statement.name === 'advance_checkpoint') batches.push([{ statement, values: values.map((value, i) => i === WRITER ? null : value) }]);
        else if (!/^\s*select/.test(statement.text)) batches.at(-1)?.push({ statement, values });
        return session.query(statement, values);
      },
    };
  };
}

/** Which value of `advance_checkpoint` names the checkpoint's last writer. */
const WRITER = 1;

async function write(session: Session, batches: readonly Written[][]): Promise<void> {
  for (const batch of batches) {
    await Promise.all([session.run('begin'), ...batch.map(({ statement, values }) => session.query(statement, values))]);
    await session.run('commit');
  }
}

async function emptySchema(url: string, schema: string): Promise<void> {
  const session = await openSession(url, schema);
  await session.run(`drop schema if exists ${schema} cascade`);
  await createReadModels({ session, schema, projections });
  await session.run('checkpoint');
  await session.close();
}

async function assertSameRows(url: string): Promise<void> {
  for (const table of ['checkpoint', 'orders', 'levels', 'trades', 'submissions', 'positions', 'minute_volumes']) {
    const others = await runSql(url, `(table read_models.${table} except table bare_models.${table}) limit 1`);
    if (others.length > 0) throw new Error(`the peer wrote other rows of ${table}: the comparison is void`);
  }
}
