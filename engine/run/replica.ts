/**
 * The replica follows the recorded commands and steps the engine with each, so it knows every outcome as soon as the
 * command is in the log. With a recorder it also writes the outcomes. Without one it compares them with the outcomes
 * that another process writes. Below are the outcomes as they are computed, for the code that waits for one.
 */
import { decodeOutcome, type CommandOutcome } from '../records/codec.js';
import { fewerCommands, rangeOf, replaced } from '../log/tail.js';
import { BrokenSequence, LogUnavailable, RecordsLost, type Log } from '../log/log.js';
import { createChecker } from './checker.js';
import { createEngine } from './engine.js';
import type { Engine, Step } from './stepping.js';
import { BriefMap, retrying, steady } from '../waiting.js';
import { HistoryDiffers } from './history-differs.js';
import { createRecorder, type Recorder } from './recorder.js';
import { loadOwnSnapshot } from './own-snapshot.js';
import { newestSnapshot } from './snapshot-files.js';
import { createSnapshotTaker, type SnapshotTaker } from './snapshot-taker.js';
import type { SnapshotWriter } from './snapshot-thread.js';
import type { StepSink } from './step-sink.js';
import { viewOf, type EngineView } from './view.js';

export interface Replica {
  /** The engine's state, read-only. Only the replica changes the state, between two turns of the event loop. */
  readonly view: EngineView;
  /**
   * The outcome of the command at a position: now, or as soon as the engine has computed it. `id` is that of the
   * command's record: who has written one gives it, and never gets the outcome of another one. Rejects when the replica
   * has stopped, and with RecordsLost, which also ends the replica, when the position has another record.
   */
  outcomeOf(position: number, id?: string): Promise<CommandOutcome>;
  /** Calls `listener` with every later step, in order, in the same turn of the event loop as the step. */
  onStep(listener: (step: Step) => void): void;
  /**
   * Resolves when the engine has decided every command that was in the log at the start. Rejects when the replica ends
   * before that.
   */
  readonly caughtUp: Promise<void>;
  /** Whether `caughtUp` has resolved. */
  readonly ready: boolean;
  /** The recorder's state; undefined for a replica that does not record. */
  readonly recording: Pick<Recorder, 'standby' | 'written' | 'takeOver'> | undefined;
  /** Settles when the replica has ended: resolves after `signal` has aborted, otherwise rejects with the error. */
  readonly done: Promise<void>;
}

export interface ReplicaOptions {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Present: this replica records outcomes, or stands by while another one records them. */
  readonly record?: { readonly writerId: string; readonly takeoverMs?: number };
  /** The folder for snapshots; absent: no snapshots are read or written. */
  readonly snapshotDirectory?: string;
  /** Commands between two snapshots. */
  readonly snapshotEvery?: number;
  /**
   * Writes the snapshots that fall due once the replica has caught up. Absent: the engine stops for each, until it is
   * copied.
   */
  readonly snapshotWriter?: SnapshotWriter;
  /** Commands between two reports of how far the start is; by default some seconds' worth. */
  readonly progressEvery?: number;
  readonly report?: (message: string, details: Record<string, unknown>) => void;
}

/** A standby engine takes over when no outcome was written for this time. */
const TAKEOVER_MS = 5_000;

/**
 * Restores the newest snapshot of this history, replays the later commands, and continues live, with the same code for
 * replay and live. Throws RecordsLost when the log has fewer commands than outcomes, or than a snapshot includes.
 */
export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { log, snapshotDirectory, report = () => undefined } = options;
  const { commands, recorded } = await lengthsOf(options);
  const restored = snapshotDirectory === undefined
    ? undefined
    : await loadOwnSnapshot(log, { folder: snapshotDirectory, recorded });
  const engine = createEngine(restored?.state, restored?.digest);
  report('replica starts', { position: engine.state.position, commands, recorded, snapshot: restored !== undefined });
  const failing = new AbortController();
  const signal = AbortSignal.any([options.signal, failing.signal]);
  const outcomes = createCommandOutcomes(log, failed);
  outcomes.begin(recorded);
  function failed(error: Error): void {
    failing.abort(error);
    outcomes.close(error, { hasFailed: true });
  }
  const recorder = options.record === undefined
    ? undefined
    : createRecorder({ log, from: recorded, report, signal, failed, takeoverMs: TAKEOVER_MS, ...options.record });
  const sink = recorder
    ?? createChecker({ log, signal, failed, report: (level, text) => { report(text, { level }); } });
  const listeners: ((step: Step) => void)[] = [];
  const catchUp = createCatchUp(engine, commands, { ...options, report });
  const snapshots = createSnapshotTaker(engine, {
    folder: snapshotDirectory, every: options.snapshotEvery, report, beside: options.snapshotWriter, isLive: catchUp.isOver,
  });
  const done = runToEnd(() => follow({
    engine, log, sink, recorded, signal, snapshots,
    stepped(step, id) {
      outcomes.publish(step, id);
      for (const listener of listeners) listener(step);
    },
    batchDone() {
      outcomes.batchDone();
      catchUp.look();
    },
  }), {
    stopped: options.signal, failure: failing.signal,
    ended(reason, hasFailed) {
      outcomes.close(reason, { hasFailed });
      catchUp.end(reason);
    },
    // The next start finds by it what the log has lost, and refuses to go on without that. A stop may come before the
    // loss is noticed, and before the last outcomes are written.
    snapshot: () => snapshots.finish(),
  });
  done.catch(() => undefined);
  return {
    view: viewOf(engine), caughtUp: catchUp.caughtUp, recording: recorder, done,
    outcomeOf: (position, id) => outcomes.outcomeOf(position, id),
    onStep: (listener) => { listeners.push(listener); },
    get ready() { return catchUp.isOver(); },
  };
}

/**
 * Resolves when the work has ended after a stop. Rejects with the failure, or with the error that the work threw. Takes
 * the last snapshot also where the log has failed and not the engine.
 */
async function runToEnd(work: () => Promise<void>, { stopped, failure, ended, snapshot }: {
  readonly stopped: AbortSignal; readonly failure: AbortSignal;
  readonly ended: (reason: Error, hasFailed: boolean) => void; readonly snapshot: () => Promise<void>;
}): Promise<void> {
  try {
    await work();
    failure.throwIfAborted();
    ended(new Error('the engine has stopped'), false);
  } catch (error) {
    ended(error as Error, !stopped.aborted);
    if (error === stopped.reason || error instanceof LogUnavailable || error instanceof RecordsLost) await snapshot();
    if (!stopped.aborted) throw error;
  }
}

/** Tells when the engine has decided every command that was in the log at the start. */
function createCatchUp(
  { state }: Engine, length: number,
  { report, progressEvery = 500_000 }: Required<Pick<ReplicaOptions, 'report'>> & Pick<ReplicaOptions, 'progressEvery'>,
) {
  let over = false;
  let reported = state.position;
  let look = (): void => undefined;
  let end: (reason: Error) => void = () => undefined;
  const caughtUp = new Promise<void>((resolve, reject) => {
    look = () => {
      if (over) return;
      if (state.position - reported >= progressEvery) {
        reported = state.position;
        report('replica reads the history', { position: reported, commands: length });
      }
      if (state.position < length) return;
      over = true;
      resolve();
    };
    end = reject;
  });
  caughtUp.catch(() => undefined);
  look();
  return { caughtUp, look, end, isOver: () => over };
}

interface Following {
  readonly engine: Engine;
  readonly log: Log;
  readonly sink: StepSink;
  /** Length of the outcomes at the start. */
  readonly recorded: number;
  readonly signal: AbortSignal;
  readonly snapshots: SnapshotTaker;
  /** Called with every step that had no recorded outcome at the start, and with the id of its command's record. */
  readonly stepped: (step: Step, id: string) => void;
  readonly batchDone: () => void;
}

/** A log that is away while one record is read does not end the replica: following it waits for it, too. */
const AWAY = steady(250);

async function follow({
  engine, log, sink, recorded, signal, snapshots, stepped, batchDone,
}: Following): Promise<void> {
  for await (const batch of log.follow('commands', engine.state.position, signal)) {
    // The recorder may have failed since the batch was read: nothing of it may be published then.
    if (signal.aborted) break;
    for (const record of batch) {
      if (record.position !== engine.state.position) throw new BrokenSequence('commands', engine.state.position, record.position);
      const step = engine.step(record.data);
      if (step.position === recorded - 1) {
        await retrying(
          () => compare(log, step), { backoff: AWAY, signal, canPass: (error) => error instanceof LogUnavailable },
        );
      }
      if (step.position >= recorded) {
        sink.take(step);
        stepped(step, record.id);
      }
      if (engine.state.position >= snapshots.dueAt) snapshots.takeDue();
    }
    batchDone();
    await sink.room();
  }
  await sink.finish();
  await snapshots.finish();
}

/**
 * The lengths at the start. Throws RecordsLost when there are fewer commands than something that was made from them has
 * seen.
 */
async function lengthsOf({ log, snapshotDirectory }: ReplicaOptions): Promise<{
  readonly commands: number;
  readonly recorded: number;
}> {
  // In this order: what a snapshot or an outcome includes is a command in the log before.
  const snapshot = snapshotDirectory === undefined ? -1 : await newestSnapshot(snapshotDirectory);
  const recorded = await log.length('outcomes');
  const commands = await log.length('commands');
  if (commands < recorded) throw fewerCommands({ commands, outcomes: recorded });
  if (commands < snapshot) {
    throw new RecordsLost(
      `its store has ${commands} commands, and the newest snapshot in ${snapshotDirectory} includes ${snapshot}, so ${rangeOf(commands, snapshot)}`,
      '; where there is no newer copy, empty that folder to go on without them');
  }
  return { commands, recorded };
}

async function compare(log: Log, { position, digest: computed }: Step): Promise<void> {
  const [record] = await log.read('outcomes', position, 1);
  if (record === undefined) return;
  const { digest: recorded } = decodeOutcome(record.data);
  if (recorded !== computed) throw new HistoryDiffers({ position, recorded, computed });
}

/**
 * At least so many of the latest outcomes are kept in memory, and those of the newest batch: who wrote a command may ask after its batch was
 * decided. Not many more, so that they die young.
 */
const KEPT = 256;

export interface CommandOutcomes {
  /** Outcomes before this position are in the log; outcomes from this position on are published. */
  begin(position: number): void;
  /** `id`: that of the command's record. */
  publish(step: Step, id: string): void;
  /** What was published until now may be forgotten, but for the latest. */
  batchDone(): void;
  /**
   * The outcome of the command at a position: now, or as soon as the engine has computed it. With `id`, only if the
   * command's record has that id. Rejects with RecordsLost when another one is at the position, when the engine has
   * stopped, and with LogUnavailable when the outcome is computed but is neither in memory nor recorded yet.
   */
  outcomeOf(position: number, id?: string): Promise<CommandOutcome>;
  /**
   * The engine has stopped: rejects every waiting promise with `reason`. After a failure, every later question too,
   * also for what is known.
   */
  close(reason: Error, options: { readonly hasFailed: boolean }): void;
}

interface Waiter {
  readonly id: string | undefined;
  readonly resolve: (outcome: CommandOutcome) => void;
  readonly reject: (reason: Error) => void;
}

/** `lost` is called when a position has another command than the one that was written there. */
export function createCommandOutcomes(log: Log, lost: (error: Error) => void = () => undefined): CommandOutcomes {
  let [before, latest] = [createRun(0), createRun(0)];
  const waiting = new BriefMap<number, Waiter[]>();
  let closed: { readonly reason: Error; readonly hasFailed: boolean } | undefined;
  let next = 0;

  const otherCommand = (position: number): Error => {
    const error = replaced('commands', position);
    lost(error);
    return error;
  };
  const oldOutcome = async (position: number, id: string | undefined): Promise<CommandOutcome> => {
    if (id !== undefined && !await isRecorded(log, position, id)) throw otherCommand(position);
    return recordedOutcome(log, position);
  };
  return {
    begin(position) {
      latest = createRun(position);
      next = position;
    },
    publish({ position, outcome }, recordId) {
      latest.add({ outcome, recordId });
      next = position + 1;
      const waiters = waiting.take(position);
      if (waiters === undefined) return;
      for (const { id, resolve, reject } of waiters) {
        if (id === undefined || id === recordId) resolve(outcome);
        else reject(otherCommand(position));
      }
    },
    batchDone() {
      if (latest.length() >= KEPT) [before, latest] = [latest, createRun(next)];
    },
    outcomeOf(position, id) {
      if (closed?.hasFailed === true) return Promise.reject(closed.reason);
      const published = latest.at(position) ?? before.at(position);
      if (published !== undefined) {
        return id === undefined || id === published.recordId
          ? Promise.resolve(published.outcome)
          : Promise.reject(otherCommand(position));
      }
      if (position < next) return oldOutcome(position, id);
      if (closed !== undefined) return Promise.reject(closed.reason);
      return new Promise((resolve, reject) => {
        const waiters = waiting.get(position);
        if (waiters === undefined) waiting.set(position, [{ id, resolve, reject }]);
        else waiters.push({ id, resolve, reject });
      });
    },
    close(reason, { hasFailed }) {
      closed ??= { reason, hasFailed };
      for (const waiters of waiting.takeAll()) for (const { reject } of waiters) reject(reason);
    },
  };
}

interface Published {
  readonly outcome: CommandOutcome;
  readonly recordId: string;
}

/** Outcomes that follow each other, from a position on. */
function createRun(first: number) {
  const published: Published[] = [];
  return {
    length: () => published.length,
    at: (position: number) => published[position - first],
    add(each: Published): void { published.push(each); },
  };
}

/** Whether the command at a position, which the engine decided long ago, is the record with this id. */
async function isRecorded(log: Log, position: number, id: string): Promise<boolean> {
  const [record] = await log.read('commands', position, 1);
  return record?.id === id;
}

async function recordedOutcome(log: Log, position: number): Promise<CommandOutcome> {
  const [record] = await log.read('outcomes', position, 1);
  if (record === undefined) {
    throw new LogUnavailable(false, { cause: new Error(`outcome ${position} is computed but not recorded yet: no engine records outcomes`) });
  }
  const { at, events } = decodeOutcome(record.data);
  return { at, events };
}
