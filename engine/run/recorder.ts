/** Records the outcomes of a replica's steps in the log, or stands by while another engine records them. */
import { fittingRecords } from '../log/appender.js';
import { shorter } from '../log/tail.js';
import { BrokenSequence, LogUnavailable, WrongPosition, type Log, type NewRecord } from '../log/log.js';
import { encodeOutcome, writerIds } from './new-record.js';
import { decodeOutcome } from '../records/codec.js';
import { backoffMs, createBell, pause, retrying, type Bell } from '../waiting.js';
import type { Step } from './stepping.js';
import { HistoryDiffers } from './history-differs.js';
import type { StepSink } from './step-sink.js';

export interface Recorder extends StepSink {
  /** Whether another engine writes the outcomes at the moment. */
  readonly standby: boolean;
  /** Outcomes below this position are durable, as far as this engine knows. */
  readonly written: number;
  /** The engine that recorded has said that it has left: ends a standby at once. */
  takeOver(): void;
}

export interface RecorderOptions extends OutcomeWriterOptions {
  /**
   * Different for each start of each process. Part of the outcomes' ids, so that an engine never mistakes another
   * engine's records for its own.
   */
  readonly writerId: string;
}

/** The replica pauses when more outcomes, or more bytes of outcomes, wait for their append. */
const MAX_UNWRITTEN = 20_000;
const MAX_UNWRITTEN_BYTES = 64 * 1024 * 1024;

export function createRecorder({ writerId, ...options }: RecorderOptions): Recorder {
  const writer = createOutcomeWriter(options);
  const idOf = writerIds(`${writerId}:outcomes`);
  return {
    take(step) { writer.add(recordOf(step, idOf)); },
    async room() {
      if (writer.unwritten > MAX_UNWRITTEN || writer.unwrittenBytes() > MAX_UNWRITTEN_BYTES) await writer.drained();
      writer.throwIfFailed();
    },
    finish: () => writer.drained(),
    takeOver() { writer.takeOver(); },
    get standby() { return writer.standby; },
    get written() { return writer.written; },
  };
}

function recordOf({ position, text, digest }: Step, idOf: (position: number) => string): OutcomeRecord {
  return { id: idOf(position), data: encodeOutcome(text, digest), position, digest };
}

export interface OutcomeRecord extends NewRecord {
  readonly position: number;
  readonly digest: string;
}

export interface OutcomeWriter {
  /** Queues the next outcome. After the running append, all queued outcomes that fit go into the next one. */
  add(record: OutcomeRecord): void;
  /** Resolves when every added outcome is durable. Rejects when the writer has failed. */
  drained(): Promise<void>;
  throwIfFailed(): void;
  /** The number of outcomes that are not durable yet; `unwrittenBytes` gives their bytes. */
  readonly unwritten: number;
  unwrittenBytes(): number;
  /** The position after the last durable outcome that this writer knows. */
  readonly written: number;
  /** Whether another engine writes the outcomes. */
  readonly standby: boolean;
  /**
   * The engine that writes the outcomes has said that it has written its last: a writer that stands by goes on without
   * waiting for silence.
   */
  takeOver(): void;
}

export interface OutcomeWriterOptions {
  readonly log: Log;
  /** The position of the first outcome that will be added. */
  readonly from: number;
  /** A standby engine takes over when no outcome was written for this time. */
  readonly takeoverMs: number;
  readonly signal: AbortSignal;
  readonly report: (message: string, details: Record<string, unknown>) => void;
  /**
   * Called once, with the error after which the writer cannot write any more. The writer's other functions throw it
   * too.
   */
  readonly failed?: (error: Error) => void;
}

/**
 * Under load, the pause between appends, so that each takes more outcomes. Nobody waits for the append of an outcome.
 */
const GATHER_MS = 20;
/**
 * How often a standby engine checks whether the other one still writes, and how often an unavailable log is tried
 * again.
 */
const POLL_MS = 250;
/** The longest pause between two attempts while the log is unavailable. */
const LONGEST_PAUSE_MS = 4_000;

interface Writing {
  readonly options: OutcomeWriterOptions;
  queue: OutcomeRecord[];
  written: number;
  standby: boolean;
  /** Rings when an engine has said that it has left. */
  readonly left: Bell;
}

export function createOutcomeWriter(options: OutcomeWriterOptions): OutcomeWriter {
  const writing: Writing = { options, queue: [], written: options.from, standby: false, left: createBell() };
  let failure: Error | undefined;
  let working: Promise<void> | undefined;

  const start = (): void => {
    working = writeQueue(writing).catch((error: unknown) => {
      failure = error as Error;
      options.failed?.(failure);
    }).finally(() => {
      working = undefined;
      if (writing.queue.length > 0 && failure === undefined) start();
    });
  };
  return {
    add(record) {
      writing.queue.push(record);
      if (working === undefined && failure === undefined) start();
    },
    async drained() {
      while (working !== undefined) await working;
      this.throwIfFailed();
    },
    throwIfFailed() {
      if (failure !== undefined) throw failure;
    },
    get unwritten() { return writing.queue.length; },
    unwrittenBytes: () => writing.queue.reduce((bytes, { data }) => bytes + data.length, 0),
    get written() { return writing.written; },
    get standby() { return writing.standby; },
    takeOver() { writing.left.ring(); },
  };
}

async function writeQueue(writing: Writing): Promise<void> {
  const { signal } = writing.options;
  while (writing.queue.length > 0) {
    const batch = writing.queue.slice(0, fittingRecords(writing.queue));
    if (!await append(writing, batch)) {
      await standBy(writing);
      continue;
    }
    writing.queue = writing.queue.slice(batch.length);
    writing.written += batch.length;
    const waiting = writing.queue.length;
    if (waiting > 0 && fittingRecords(writing.queue) === waiting) await pause(GATHER_MS, signal);
  }
}

/**
 * Appends the batch; returns false when another engine's outcomes have its positions. When the result of an append is
 * unknown, the same batch is appended again, although more outcomes may be waiting by then: the log finds only the same
 * batch.
 */
async function append({ options, queue, written }: Writing, batch: readonly OutcomeRecord[]): Promise<boolean> {
  const { log, signal, report } = options;
  for (let failures = 1; ; failures++) {
    try {
      await log.append('outcomes', batch, written);
      if (failures > 1) report('the log takes outcomes again', { position: written, waiting: queue.length });
      return true;
    } catch (error) {
      if (error instanceof WrongPosition && error.actual > written) return false;
      if (error instanceof WrongPosition && error.actual < written) throw shorter('outcomes', { known: written, length: error.actual });
      if (!isUnavailable(error)) throw error;
    }
    if (failures === 1) report('the log is unavailable: outcomes wait to be written', { position: written, waiting: queue.length });
    // A log on a full disk refuses at once.
    await pause(backoffMs(failures, { firstMs: POLL_MS, longestMs: LONGEST_PAUSE_MS }), signal);
    signal.throwIfAborted();
  }
}

/**
 * Waits while the other engine writes. Returns when that engine has said that it has left and all that it wrote is
 * known here, or when it has written nothing for `takeoverMs`. A message that was not true does no harm: the next
 * append finds its position taken.
 */
async function standBy(writing: Writing): Promise<void> {
  const { left, options: { signal, report, takeoverMs } } = writing;
  const heardBefore = left.rung();
  writing.standby = true;
  report('another engine writes the outcomes: standing by', { position: writing.written });
  let length = await recordedLength(writing);
  let isFree = false;
  for (let silentMs = 0; silentMs < takeoverMs && !isFree; silentMs += POLL_MS) {
    await skipTo(writing, length);
    await left.wait(signal, POLL_MS);
    const hasLeft = left.rung() !== heardBefore;
    const now = await recordedLength(writing);
    if (now !== length || writing.queue.length === 0) silentMs = 0;
    length = now;
    if (!hasLeft) continue;
    await skipTo(writing, length);
    isFree = writing.written >= length;
  }
  await skipTo(writing, length);
  writing.standby = false;
  report(isFree ? 'the other engine has left: taking over' : 'the other engine has stopped writing: taking over', { position: writing.written });
}

/**
 * Drops the outcomes that the other engine has written, once their digest is equal to this engine's. Throws
 * HistoryDiffers.
 */
async function skipTo(writing: Writing, length: number): Promise<void> {
  const { log, signal } = writing.options;
  const skipped = Math.min(length - writing.written, writing.queue.length);
  const last = writing.queue[skipped - 1];
  if (last === undefined) return;
  const [record] = await withLog(() => log.read('outcomes', last.position, 1), signal);
  if (record === undefined) throw new BrokenSequence('outcomes', last.position, length);
  const { digest } = decodeOutcome(record.data);
  if (digest !== last.digest) {
    throw new HistoryDiffers({ position: last.position, recorded: digest, computed: last.digest });
  }
  writing.queue = writing.queue.slice(skipped);
  writing.written += skipped;
}

function recordedLength({ options: { log, signal } }: Writing): Promise<number> {
  return withLog(() => log.length('outcomes'), signal);
}

/** Repeats the work while the log is unavailable. Rejects when the signal aborts. */
function withLog<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return retrying(work, { backoff: { firstMs: POLL_MS, longestMs: POLL_MS }, signal, canPass: isUnavailable });
}

function isUnavailable(error: unknown): boolean {
  return error instanceof LogUnavailable;
}
