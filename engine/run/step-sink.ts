/** What a replica hands its steps to: the recorder, which writes their outcomes, or the checker, which compares them with those recorded. */
import type { Step } from './engine.js';

export interface StepSink {
  /** Takes the steps that the history had no outcome for when the replica started: each once, in order. */
  take(step: Step): void;
  /** Resolves when further steps may be taken. Awaited between two batches of commands. */
  room(): Promise<void>;
  /** Resolves when everything that was taken is dealt with, after a stop. Rejects when it cannot be. */
  finish(): Promise<void>;
}
