/** Records the outcomes of a replica's steps in the log, or stands by while another engine records them. */
import { encodeOutcome } from '../records/codec.js';
import { writerIds } from '../records/writer-ids.js';
import type { Step } from './engine.js';
import { createOutcomeWriter, type OutcomeRecord, type OutcomeWriterOptions } from './outcome-writer.js';
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
  /** Different for each start of each process. Part of the outcomes' ids, so that an engine never mistakes another engine's records for its own. */
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
