/** Where the signer of a single order is recovered: on the main thread, or in the thread of batches while orders queue and there is a core for it. */
import { availableParallelism } from 'node:os';
import type { SignerRecovery } from '../signing/recover.js';
import type { RecoveryThread } from '../signing/recovery-thread.js';

/** More orders than a commit carries at half the load wait for the log: then they wait for the main thread. */
const QUEUE = 8;

export interface RecoveryByLoadParts {
  readonly recovery: SignerRecovery;
  readonly thread: RecoveryThread | undefined;
  /** How many orders wait for the log. */
  readonly queued: () => number;
  /** Default: those that the process may use. */
  readonly cores?: number | undefined;
}

/** Undefined where the main thread always recovers: on a single core, of which the thread would take its time. */
export function recoveryByLoad({ recovery, thread, queued, cores = availableParallelism() }: RecoveryByLoadParts): RecoveryThread['recover'] | undefined {
  if (thread === undefined || cores < 2) return undefined;
  // What comes after an order that waits for the thread waits, too: it would be placed before it.
  return (digest, signature) => (queued() < QUEUE && thread.waiting() === 0 ? recovery : thread).recover(digest, signature);
}
