/** The run loop: follows the commands, computes outcomes, appends them where they belong, and stands by when another engine does. */
import { decodeOutcome, encodeOutcome, recordId } from '../records/codec.js';
import { formatDigest } from '../records/digest.js';
import { createEngine, type Engine, type Step } from './engine.js';
import { BrokenSequence, type Log } from '../log/log.js';
import type { Outcomes } from './outcomes.js';
import { createOutcomeWriter, type OutcomeRecord, type OutcomeWriter } from './outcome-writer.js';
import { encodeSnapshot, type Restored } from './snapshot.js';
import { loadSnapshot, saveSnapshot } from './snapshot-files.js';

/** The recorded history and this program compute different outcomes from the same commands: nothing may be built on top of that. */
export class HistoryDiffers extends Error {
  constructor(position: number, recorded: string, computed: string) {
    super(`at position ${position} the history has digest ${recorded}, but its commands give ${computed}: `
      + 'the log was altered, or this program\'s rules are not the ones that wrote it');
    this.name = 'HistoryDiffers';
  }
}

export interface EngineRun {
  /** The engine's state, for questions; only the loop changes it. */
  readonly engine: Engine;
  /** Whether the recorded history has been caught up with. */
  readonly ready: boolean;
  /** Whether another engine writes the outcomes at the moment. */
  readonly standby: boolean;
  /** Outcomes that are durable. */
  readonly written: number;
  /** Settles when the loop has ended: resolved after `signal`, rejected with what went wrong otherwise. */
  readonly done: Promise<void>;
}

export interface EngineOptions {
  readonly log: Log;
  readonly outcomes: Outcomes;
  readonly signal: AbortSignal;
  /** Another one for each process and start: part of the outcomes' ids, so that two engines never take each other's for their own. */
  readonly writerId: string;
  /** Where snapshots are kept; absent: none are read or written. */
  readonly snapshotDirectory?: string;
  /** Commands between two snapshots. */
  readonly snapshotEvery?: number;
  readonly report?: (message: string, details: Record<string, unknown>) => void;
  /** How long the outcomes must stand still before a standby engine takes over. */
  readonly takeoverMs?: number;
}

/** Outcomes that may wait for their append before the loop pauses. */
const MAX_UNWRITTEN = 20_000;

/** Restores the newest snapshot that belongs to this history, replays the rest, and goes on live: one code for both. */
export async function startEngine(options: EngineOptions): Promise<EngineRun> {
  const { log, outcomes } = options;
  const report = options.report ?? (() => undefined);
  const recorded = await log.length('outcomes');
  const restored = options.snapshotDirectory === undefined
    ? undefined
    : await loadSnapshot(options.snapshotDirectory, (snapshot) => belongs(log, snapshot, recorded));
  const engine = createEngine(restored?.state, restored?.digest);
  report('engine starts', { position: engine.state.position, recorded, snapshot: restored !== undefined });
  outcomes.begin(recorded);
  const writer = createOutcomeWriter({ log, from: recorded, report, takeoverMs: options.takeoverMs ?? 5_000, signal: options.signal });
  const run = { ready: engine.state.position >= recorded };
  const done = loop(engine, writer, { ...options, report, recorded, onReady: () => { run.ready = true; } })
    .catch((error: unknown) => {
      outcomes.close(error as Error);
      if (!options.signal.aborted) throw error;
    });
  done.catch(() => undefined);
  return {
    engine, done,
    get ready() { return run.ready; },
    get standby() { return writer.standby; },
    get written() { return writer.written; },
  };
}

async function loop(
  engine: Engine, writer: OutcomeWriter,
  options: EngineOptions & { recorded: number; onReady: () => void; report: NonNullable<EngineOptions['report']> },
): Promise<void> {
  const { log, outcomes, recorded, signal } = options;
  const snapshots = snapshotTaker(engine, options);
  for await (const batch of log.follow('commands', engine.state.position, signal)) {
    for (const record of batch) {
      if (record.position !== engine.state.position) throw new BrokenSequence('commands', engine.state.position, record.position);
      const step = engine.step(record.data);
      if (step.position === recorded - 1) await compare(log, step);
      if (step.position >= recorded) {
        writer.add(outcomeRecord(step, options.writerId));
        outcomes.publish(step);
      }
      snapshots.afterStep();
    }
    if (engine.state.position >= recorded) options.onReady();
    if (writer.unwritten > MAX_UNWRITTEN) await writer.drained();
    writer.throwIfFailed();
  }
  await writer.drained();
  await snapshots.finish();
  outcomes.close(new Error('the engine has stopped'));
}

function outcomeRecord({ position, text, digest }: Step, writerId: string): OutcomeRecord {
  return { id: recordId(`outcome:${position}:${writerId}`), data: encodeOutcome(text, digest), position, digest };
}

async function compare(log: Log, step: Step): Promise<void> {
  const [record] = await log.read('outcomes', step.position, 1);
  if (record === undefined) return;
  const { digest } = decodeOutcome(record.data);
  if (digest !== step.digest) throw new HistoryDiffers(step.position, digest, step.digest);
}

/** Whether the snapshot is of this very history: its digest is the one recorded at its position. */
async function belongs(log: Log, { state, digest }: Restored, recorded: number): Promise<boolean> {
  if (state.position > recorded) return false;
  const [record] = await log.read('outcomes', state.position - 1, 1);
  return record !== undefined && decodeOutcome(record.data).digest === formatDigest(digest);
}

/** Takes a snapshot every so many commands, one write at a time, and a last one at a graceful stop. */
function snapshotTaker(engine: Engine, { snapshotDirectory, snapshotEvery = 200_000, report }: EngineOptions) {
  let last = engine.state.position;
  let writing: Promise<void> | undefined;
  const take = (): Promise<void> | undefined => {
    const { position } = engine.state;
    if (snapshotDirectory === undefined || writing !== undefined || position === last) return writing;
    last = position;
    writing = saveSnapshot(snapshotDirectory, position, encodeSnapshot(engine))
      .catch((error: unknown) => { report?.('a snapshot could not be written; a restart replays more', { position, error }); })
      .finally(() => { writing = undefined; });
    return writing;
  };
  return {
    afterStep(): void {
      if (engine.state.position - last >= snapshotEvery) void take();
    },
    async finish(): Promise<void> {
      await writing;
      await take();
    },
  };
}
