/** The projection worker: follows the outcomes and updates the read models. A batch's rows and the checkpoint are one transaction. */
import { LogUnavailable, type Log } from '../engine/log/log.js';
import { startReactor } from '../engine/reactor.js';
import type { Report } from '../engine/report.js';
import type { Backoff } from '../engine/waiting.js';
import { advance, readCheckpoint, readVersions, type Checkpoint } from './checkpoint.js';
import { DatabaseUnavailable, openSession, type OpenSession, type Session } from './database.js';
import { foldInto } from './folding.js';
import { openInbox, type BatchLimits, type Inbox } from './inbox.js';
import { extentOf, type Fold, type FoldedOutcome, type Projection } from './projection.js';
import { rebuild } from './rebuild.js';
import { checkSameLog } from './same-log.js';
import { createReadModels, grantReader, READ_MODELS } from './schema.js';

export interface RunOptions {
  /** A Postgres connection URL. The worker opens its own connection. */
  readonly url: string;
  readonly log: Log;
  readonly projections: readonly Projection[];
  /** When the signal aborts, the worker finishes the current batch and ends. */
  readonly signal: AbortSignal;
  /** The largest batch; under load batches reach this size. */
  readonly limits?: BatchLimits;
  /**
   * How long an outcome may be delayed while others arrive, so that a batch has more outcomes. The first outcome after a quiet time is
   * folded at once, and a backlog is folded without pauses. Default 50 ms; 0: no delay.
   */
  readonly freshnessMs?: number;
  /** Pauses after failures in a row. Default: 50 ms to 5 s. */
  readonly backoff?: Backoff;
  readonly open?: OpenSession;
  readonly onProgress?: (progress: Progress) => void;
  /** Told of what does not stop the run: Postgres or the log unavailable, a rebuild. */
  readonly report: Report;
}

/** How far the read models are. Reported when a worker has read the checkpoint, and after each committed batch. */
export interface Progress {
  /** The position of the next outcome to fold. */
  readonly position: number;
  /** The number of outcomes in the batch; 0 when the worker has just read the checkpoint. */
  readonly outcomes: number;
}

export interface ProjectionRun {
  /** Resolves when the signal has aborted. Rejects when the worker must not continue: UnreadableOutcome, BrokenSequence, a defect. */
  readonly done: Promise<void>;
  /** The position of the next outcome to fold; 0 until the checkpoint has been read. */
  position(): number;
  /** The number of outcomes in the log that the read models do not include. Throws LogUnavailable. */
  lag(): Promise<number>;
}

/** Another worker or a rebuild has written the checkpoint. This worker pauses and reads it again. */
class Overtaken extends Error {
  constructor() {
    super('another worker or a rebuild has folded these outcomes');
    this.name = 'Overtaken';
  }
}

/** The tables have a newer version than this program, or one that it does not know. It must not write them. */
export class NewerReadModels extends Error {
  constructor(name: string, stored: number, known: number | undefined) {
    super(`read model ${name} has version ${stored}, but this program makes ${known === undefined ? 'no such one' : `version ${known}`}: run the newer program`);
    this.name = 'NewerReadModels';
  }
}

const LIMITS: BatchLimits = { outcomes: 4_000, events: 16_000 };
const FRESHNESS_MS = 50;
const BACKOFF: Backoff = { firstMs: 50, longestMs: 5_000 };

/** What a worker has while its connection lasts. */
interface RunningWorker {
  readonly session: Session;
  /** They remember rows for one session. It ends when a batch was not committed or another process wrote the rows. */
  readonly folds: readonly { readonly name: string; readonly fold: Fold }[];
  readonly inbox: Inbox;
}

/**
 * Starts the worker. The worker retries when Postgres or the log is lost. Several workers may run at once; only one of them commits each
 * batch. A projection whose tables have an older version is rebuilt first; until then the old rows are served.
 */
export function runProjections(options: RunOptions): ProjectionRun {
  const { log, signal, report, backoff = BACKOFF } = options;
  let checkpoint: Checkpoint = { position: 0, writer: '' };
  const position = () => checkpoint.position;
  const reached = (after: Checkpoint, outcomes: number) => {
    checkpoint = after;
    options.onProgress?.({ position: position(), outcomes });
  };
  const { done } = startReactor<RunningWorker>({
    hold: () => openWorker(options, (read) => { reached(read, 0); }),
    async round({ session, folds, inbox }) {
      const batch = await inbox.take();
      if (batch.length > 0) reached(await writeBatch({ session, folds, checkpoint, batch }), batch.length);
    },
    async release({ session, inbox }) {
      await session.close();
      await inbox.close();
    },
    isLoss: () => true,
    canPass: (error) => error instanceof DatabaseUnavailable || error instanceof LogUnavailable || error instanceof Overtaken,
    // Where two workers run, each overtakes the other all the time.
    level: (error) => error instanceof Overtaken ? undefined : 'warn',
    backoff, who: 'the projection worker', report, signal,
  });
  return { done, position, lag: async () => Math.max(0, await log.length('outcomes') - position()) };
}

/** Opens a connection, on which the tables are ready and everything goes on from the checkpoint. */
async function openWorker(options: RunOptions, read: (checkpoint: Checkpoint) => void): Promise<RunningWorker> {
  const { url, log, projections, signal, limits = LIMITS, freshnessMs = FRESHNESS_MS, open = openSession } = options;
  const session = await open(url, READ_MODELS);
  try {
    await prepare(session, options);
    const checkpoint = await readCheckpoint(session.query);
    const { position } = checkpoint;
    read(checkpoint);
    await checkSameLog({ log, position, hasOrders: projections.some(({ name }) => name === 'orders'), query: session.query });
    const folds = projections.map((projection) => ({ name: projection.name, fold: projection.start() }));
    return { session, folds, inbox: openInbox({ log, from: position, limits, restMs: freshnessMs, signal }) };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Creates missing tables; builds those of a new read model, or of an older version, up to the checkpoint. Throws NewerReadModels. */
async function prepare(session: Session, options: RunOptions): Promise<void> {
  const { url, log, projections, signal, open, report } = options;
  await createReadModels({ session, schema: READ_MODELS, projections });
  for (const denied of await grantReader(session, READ_MODELS)) report('warn', denied);
  const stored = await readVersions(session.query);
  const known = new Map(projections.map(({ name, version }) => [name, version]));
  for (const [name, found] of stored) {
    const version = known.get(name);
    if (version === undefined || found > version) throw new NewerReadModels(name, found, version);
  }
  for (const projection of projections) {
    const { name, version } = projection;
    const found = stored.get(name);
    if (found === version) continue;
    report('info', found === undefined
      ? `read model ${name} is new: building it`
      : `read model ${name} has version ${found}, but this program makes version ${version}: rebuilding it`);
    await rebuild({ url, log, projection, signal, ...open && { open }, onlyIfOlder: true });
  }
}

/**
 * Writes a batch to every projection, and moves the checkpoint, in one transaction. Returns the new checkpoint. Throws Overtaken, ProjectionFailed,
 * and DatabaseUnavailable; then only the checkpoint tells whether the batch was committed.
 */
async function writeBatch({ session, folds, checkpoint, batch }: {
  session: Session;
  folds: readonly { readonly name: string; readonly fold: Fold }[];
  checkpoint: Checkpoint;
  batch: readonly FoldedOutcome[];
}): Promise<Checkpoint> {
  const { end, at } = extentOf(batch);
  // All statements are sent at once, in this order. Errors of the folds count only if the checkpoint was as expected.
  const begun = session.run('begin');
  const advanced = advance({ from: checkpoint, to: end, at }, session.query);
  const folded = Promise.all(folds.map(({ name, fold }) => foldInto({ name, fold, batch, query: session.query })));
  folded.catch(() => undefined);
  const [after] = await Promise.all([advanced, begun]);
  if (after === undefined) throw new Overtaken();
  await folded;
  await session.run('commit');
  return after;
}
