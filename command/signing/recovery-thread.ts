/** Recovers the signers of many signatures in a thread of its own, so that the main thread has its time for the rest of the work. */
import { Worker } from 'node:worker_threads';
import { errorText, type Report } from '../../engine/report.js';
import { DIGEST_BYTES, READY, SIGNED_BYTES, type RecoveryMessage } from './recovery-messages.js';
import type { Recovery, SignerRecovery } from './recover.js';

export interface RecoveryThread {
  /**
   * As SignerRecovery.recover, for a signature of 65 bytes. What comes in one turn of the event loop, from however many
   * requests, is sent together, and answered in its order: later, or at once, by the calling thread, while the thread
   * starts, when it has failed, and when MOST_WAITING signatures wait for it.
   */
  recover(digest: Uint8Array, signature: Uint8Array): Recovery | Promise<Recovery>;
  /** Ends the thread. The calling thread recovers what still waits, and all that comes later. */
  stop(): Promise<void>;
}

/** The calling thread goes on to recover beside the thread instead of letting anybody wait longer than some 50 ms for it. */
const MOST_WAITING = 1_000;

interface Waiting {
  readonly digest: Uint8Array;
  readonly signature: Uint8Array;
  readonly resolve: (recovery: Recovery) => void;
}

const PROGRAM = new URL('./recovery-worker.js', import.meta.url);

/** The thread begins with the first signature: many processes never get a batch, or a queue. */
export function createRecoveryThread({ recover }: SignerRecovery, report: Report, program = PROGRAM): RecoveryThread {
  let worker: Worker | undefined;
  let isReady = false;
  let isStopped = false;
  let gathered: Waiting[] = [];
  let sent: (readonly Waiting[])[] = [];
  let waiting = 0;

  function start(): Worker {
    const started = new Worker(program);
    started.on('message', (message: RecoveryMessage) => {
      if (message === READY) isReady = true;
      else answer(message);
    });
    started.once('error', (error) => {
      report('warn', `the thread that recovers signers has failed (${errorText(error)}): the main thread recovers them until the next start`);
    });
    started.once('exit', ended);
    return started;
  }

  function answer(recoveries: readonly Recovery[]): void {
    const [answered = []] = sent.splice(0, 1);
    waiting -= answered.length;
    for (const [i, recovery] of recoveries.entries()) answered[i]?.resolve(recovery);
  }

  function ended(): void {
    isReady = false;
    const left = [...sent.flat(), ...gathered];
    [sent, gathered, waiting] = [[], [], 0];
    for (const { digest, signature, resolve } of left) resolve(recover(digest, signature));
  }

  function send(): void {
    if (gathered.length === 0) return;
    const bytes = new Uint8Array(gathered.length * SIGNED_BYTES);
    for (const [i, { digest, signature }] of gathered.entries()) {
      bytes.set(digest, i * SIGNED_BYTES);
      bytes.set(signature, i * SIGNED_BYTES + DIGEST_BYTES);
    }
    worker?.postMessage(bytes);
    sent.push(gathered);
    gathered = [];
  }

  return {
    recover(digest, signature) {
      if (!isStopped) worker ??= start();
      if (!isReady || waiting >= MOST_WAITING) return recover(digest, signature);
      if (gathered.length === 0) setImmediate(send);
      waiting += 1;
      return new Promise((resolve) => { gathered.push({ digest, signature, resolve }); });
    },
    async stop() {
      isStopped = true;
      await worker?.terminate();
    },
  };
}
