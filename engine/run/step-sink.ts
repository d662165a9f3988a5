/**
 * The receiver of a replica's steps: the recorder, which writes their outcomes, or the checker, which compares them
 * with recorded ones.
 */
import type { Step } from './stepping.js';

export interface StepSink {
  /** Takes every step that had no recorded outcome when the replica started: each once, in order. */
  take(step: Step): void;
  /** Resolves when further steps may be taken. Awaited between two batches of commands. */
  room(): Promise<void>;
  /**
   * After a stop: resolves when every step that was taken is written or compared. Rejects when that is not possible.
   */
  finish(): Promise<void>;
}
