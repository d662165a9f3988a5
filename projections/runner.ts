/** The projection worker: follows the outcomes and keeps the read models up to date, a batch and its checkpoints at once. */
import { LogUnavailable, type Log } from '../engine/log/log.js';
import { pause } from '../engine/waiting.js';
import { advance, checkpointOf, readCheckpoints, type Checkpoints } from './checkpoint.js';
import { DatabaseUnavailable, openSession, type OpenSession, type Session } from './database.js';
import { foldInto } from './folding.js';
import { openInbox, type BatchLimits, type Inbox } from './inbox.js';
import { extentOf, type Fold, type FoldedOutcome, type Projection } from './projection.js';
import { rebuild } from './rebuild.js';
import { createReadModels, grantReader, READ_MODELS } from './schema.js';

export interface RunOptions {
  /** A Postgres connection URL. The worker has a connection of its own. */
  readonly url: string;
  readonly log: Log;
  readonly projections: readonly Projection[];
  /** Aborting it finishes the batch in hand and ends the run. */
  readonly signal: AbortSignal;
  /** What one batch may hold; under load batches fill up to it. */
  readonly limits?: BatchLimits;
  /**
   * How much later than it could an outcome may be folded while others come, so that more go into a batch; the first one after
   * a quiet time is folded at once, and a backlog without rests. Default 50 ms; 0: never later.
   */
  readonly freshnessMs?: number;
  /** Waits after the first, second, … failure in a row; the last one repeats. */
  readonly backoffMs?: readonly number[];
  readonly open?: OpenSession;
  readonly onProgress?: (progress: Progress) => void;
  /** Told of everything that does not stop the run: Postgres or the log unreachable, another worker ahead, a rebuild. */
  readonly onTrouble?: (error: Error) => void;
}

/** Where the read models are: told when a worker has read the checkpoints, and after each batch that it has committed. */
export interface Progress {
  /** The next outcome that the projection furthest behind wants. */
  readonly position: number;
  readonly positions: ReadonlyMap<string, number>;
  /** How many outcomes the batch had; 0 when the checkpoints were read. */
  readonly outcomes: number;
}

export interface ProjectionRun {
  /** Resolves when the signal has aborted; rejects when it must not go on: UnreadableOutcome, BrokenSequence, a defect. */
  readonly done: Promise<void>;
  /** The next outcome that the projection furthest behind wants; 0 until the checkpoints have been read. */
  position(): number;
  /** Outcomes in the log that the projection furthest behind has not folded. Throws LogUnavailable. */
  lag(): Promise<number>;
}

/** Another worker or a rebuild has moved a checkpoint: this one stands back and reads it again. */
class Overtaken extends Error {
  constructor() {
    super('another worker has folded these outcomes');
    this.name = 'Overtaken';
  }
}

/** The tables are of a later version than this program's: it must not write them. */
export class NewerReadModels extends Error {
  constructor(name: string, stored: number, known: number) {
    super(`read model ${name} has version ${stored}, this program knows ${known}: run the newer program`);
    this.name = 'NewerReadModels';
  }
}

/** The checkpoints are beyond the log's end: the log was replaced, or the database belongs to another exchange. */
export class ForeignReadModels extends Error {
  constructor(position: number, length: number) {
    super(`the read models are made of ${position} outcomes, the log has ${length}: it is not theirs; `
      + `restore the log, or drop schema ${READ_MODELS} to have them made afresh`);
    this.name = 'ForeignReadModels';
  }
}

const LIMITS: BatchLimits = { outcomes: 4_000, events: 16_000 };
const FRESHNESS_MS = 50;
const BACKOFF_MS = [50, 100, 250, 500, 1_000, 2_000, 5_000];

/**
 * Starts the worker. It outlives every loss of Postgres and of the log; several may run at once, one at a time gets ahead. A
 * projection whose tables are of an older version is rebuilt first, while the old rows go on serving.
 */
export function runProjections(options: RunOptions): ProjectionRun {
  const state: State = { checkpoints: new Map(), failures: 0 };
  const position = () => lowest(options.projections, state.checkpoints);
  return {
    done: keepRunning(options, state),
    position,
    lag: async () => Math.max(0, await options.log.length('outcomes') - position()),
  };
}

interface State {
  checkpoints: Checkpoints;
  /** In a row; a commit ends the row. */
  failures: number;
}

async function keepRunning(options: RunOptions, state: State): Promise<void> {
  const { signal, backoffMs = BACKOFF_MS, onTrouble } = options;
  while (!signal.aborted) {
    try {
      await runSession(options, state);
    } catch (error) {
      if (signal.aborted && error === signal.reason) return;
      if (!(error instanceof DatabaseUnavailable || error instanceof LogUnavailable || error instanceof Overtaken)) throw error;
      onTrouble?.(error);
      const waitMs = backoffMs[state.failures] ?? backoffMs.at(-1) ?? 0;
      state.failures += 1;
      await pause(waitMs, signal);
    }
  }
}

/** One connection's life: from its checkpoints on until the signal aborts or something breaks. */
async function runSession(options: RunOptions, state: State): Promise<void> {
  const { url, log, projections, signal, limits = LIMITS, freshnessMs = FRESHNESS_MS, open = openSession, onProgress } = options;
  const session = await open(url, READ_MODELS);
  let inbox: Inbox | undefined;
  try {
    await prepare(session, options);
    const reached = (checkpoints: Checkpoints, outcomes: number) => {
      state.checkpoints = checkpoints;
      const positions = new Map(projections.map(({ name }) => [name, checkpointOf(checkpoints, name).position]));
      onProgress?.({ position: lowest(projections, checkpoints), positions, outcomes });
    };
    reached(await readCheckpoints(session.query), 0);
    const furthest = Math.max(...projections.map(({ name }) => checkpointOf(state.checkpoints, name).position));
    const length = await log.length('outcomes');
    if (furthest > length) throw new ForeignReadModels(furthest, length);
    // What folds remember is as old as this session: it ends when a batch was not committed or somebody else was here.
    const folds = projections.map((projection) => ({ name: projection.name, fold: projection.start() }));
    inbox = openInbox({ log, from: lowest(projections, state.checkpoints), limits, restMs: freshnessMs, signal });
    for (let batch = await inbox.take(); batch.length > 0; batch = await inbox.take()) {
      reached(await writeBatch({ session, folds, checkpoints: state.checkpoints, batch }), batch.length);
      state.failures = 0;
    }
  } finally {
    await session.close();
    await inbox?.close();
  }
}

/** Creates what is missing and rebuilds what is of an older version. Throws NewerReadModels. */
async function prepare(session: Session, options: RunOptions): Promise<void> {
  const { url, log, projections, signal, open, onTrouble } = options;
  await createReadModels({ session, schema: READ_MODELS, projections });
  const refusal = await grantReader(session, READ_MODELS);
  if (refusal !== undefined) onTrouble?.(new Error(refusal));
  const stored = await readCheckpoints(session.query);
  for (const projection of projections) {
    const { name, version } = projection;
    const found = checkpointOf(stored, name).version;
    if (found > version) throw new NewerReadModels(name, found, version);
    if (found === version) continue;
    onTrouble?.(new Error(`read model ${name} has version ${found}, this program makes ${version}: rebuilding it`));
    await rebuild({ url, log, projection, signal, ...open && { open }, onlyIfOlder: true });
  }
}

/**
 * Writes a batch to every projection that has not folded it, and their checkpoints, in one transaction; returns the new ones.
 * Throws Overtaken, DatabaseUnavailable (whether it was committed is then unknown: the checkpoints tell) and ProjectionFailed.
 */
async function writeBatch({ session, folds, checkpoints, batch }: {
  session: Session;
  folds: readonly { readonly name: string; readonly fold: Fold }[];
  checkpoints: Checkpoints;
  batch: readonly FoldedOutcome[];
}): Promise<Checkpoints> {
  const { first, end } = extentOf(batch);
  const due = folds.map(({ name, fold }) => ({ name, fold, ...checkpointOf(checkpoints, name) })).filter(({ position }) => position < end);
  const moves = due.map(({ name, version, writer, position }) => ({ name, version, writer, from: position, to: end }));
  // All statements go out at once, in this order. What the folds meet counts only if the checkpoints were as expected.
  const begun = session.run('begin');
  const advanced = advance(moves, session.query, end - 1);
  const folded = Promise.all(due.map(({ name, fold, position }) => (
    foldInto({ name, fold, batch: position <= first ? batch : batch.slice(position - first), query: session.query }))));
  folded.catch(() => undefined);
  const [writer] = await Promise.all([advanced, begun]);
  if (writer === undefined) throw new Overtaken();
  await folded;
  await session.run('commit');
  const after = new Map(checkpoints);
  for (const { name, version } of due) after.set(name, { version, position: end, writer });
  return after;
}

function lowest(projections: readonly Projection[], checkpoints: Checkpoints): number {
  return projections.reduce((least, { name }) => Math.min(least, checkpoints.get(name)?.position ?? 0), Infinity);
}
