/** Hands recorded commands to the signature threads in batches, never more than they can keep up with. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { OrderDomain } from '../../../command/signing/typed-data.js';
import type { Difference } from '../difference.js';
import type { PlacedFault, SignatureAnswer, SignatureBatch, SignatureThreadData } from './messages.js';

export interface SignaturePool {
  readonly threads: number;
  /** Copies the command's bytes. */
  add(position: number, bytes: Uint8Array, chainId: number | undefined): void;
  /** Resolves when more may be added; undefined when more may be added at once. Rejects when a thread has failed. */
  room(): Promise<void> | undefined;
  /** Resolves when everything that was added is checked, with the difference at the lowest position. */
  drain(): Promise<Difference | undefined>;
  /** A difference that has been found so far. */
  readonly found: Difference | undefined;
  close(): Promise<void>;
}

const BATCH_COMMANDS = 256;
const BATCH_BYTES = 256 * 1_024;
/** Batches on their way per thread: while one is worked on, others wait. */
const AHEAD = 3;

/** All cores but the one that replays; one where there is only one. */
export function usualThreads(): number {
  return Math.max(1, availableParallelism() - 1);
}

export function createSignaturePool(domains: readonly OrderDomain[], threads = usualThreads()): SignaturePool {
  const workerData: SignatureThreadData = { domains };
  const free: SignatureBatch[] = [];
  let filling = emptyBatch();
  let count = 0;
  let bytesUsed = 0;
  let out = 0;
  let fault: PlacedFault | undefined;
  let failure: Error | undefined;
  let wake: () => void = () => undefined;
  const failed = (error: Error): void => {
    failure ??= error;
    wake();
  };
  const answered = ({ batch, fault: found }: SignatureAnswer): void => {
    out--;
    free.push(batch);
    if (found !== undefined && (fault === undefined || found.position < fault.position)) fault = found;
    wake();
  };
  const workers = Array.from({ length: threads }, () => startThread(workerData, { answered, failed }));

  function send(): void {
    if (count === 0) return;
    const [first, ...others] = workers;
    if (first === undefined) throw new Error('there is no signature thread');
    const worker = others.reduce((least, each) => each.out() < least.out() ? each : least, first);
    const { data, ends, positions, chains } = filling;
    worker.send({ data, ends, positions, chains, count });
    out++;
    filling = free.pop() ?? emptyBatch();
    count = 0;
    bytesUsed = 0;
  }

  async function waitUntil(isMet: () => boolean): Promise<void> {
    while (!isMet()) {
      if (failure !== undefined) throw failure;
      await new Promise<void>((resolve) => { wake = resolve; });
    }
    if (failure !== undefined) throw failure;
  }

  const differenceOf = () => fault === undefined ? undefined : forged(fault);
  return {
    threads,
    add(position, bytes, chainId = -1) {
      if (count === BATCH_COMMANDS || bytesUsed + bytes.length > filling.data.length) send();
      if (bytes.length > filling.data.length) filling = emptyBatch(bytes.length);
      filling.data.set(bytes, bytesUsed);
      bytesUsed += bytes.length;
      filling.ends[count] = bytesUsed;
      filling.positions[count] = position;
      filling.chains[count] = chainId;
      count++;
    },
    room: () => failure === undefined && out < threads * AHEAD ? undefined : waitUntil(() => out < threads * AHEAD),
    async drain() {
      send();
      await waitUntil(() => out === 0);
      return differenceOf();
    },
    get found() { return differenceOf(); },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

function startThread(workerData: SignatureThreadData, { answered, failed }: {
  readonly answered: (answer: SignatureAnswer) => void; readonly failed: (error: Error) => void;
}) {
  const thread = new Worker(new URL('./worker.js', import.meta.url), { workerData });
  let out = 0;
  let closing = false;
  thread.on('message', (answer: SignatureAnswer) => {
    out--;
    answered(answer);
  });
  thread.on('error', failed);
  thread.on('exit', () => { if (!closing) failed(new Error('a signature thread ended')); });
  return {
    /** How many batches it has not answered yet. */
    out: () => out,
    send(batch: SignatureBatch): void {
      const { data, ends, positions, chains } = batch;
      out++;
      thread.postMessage(batch, [data.buffer, ends.buffer, positions.buffer, chains.buffer]);
    },
    async close(): Promise<void> {
      closing = true;
      await thread.terminate();
    },
  };
}

function emptyBatch(bytes = BATCH_BYTES): SignatureBatch {
  return {
    data: new Uint8Array(Math.max(bytes, BATCH_BYTES)), ends: new Uint32Array(BATCH_COMMANDS), positions: new Float64Array(BATCH_COMMANDS),
    chains: new Float64Array(BATCH_COMMANDS), count: 0,
  };
}

function forged({ kind, position, subject, what, expected, found }: PlacedFault): Difference {
  const isOrder = kind === 'PlaceOrder';
  return {
    check: isOrder ? 'orderSignatures' : 'cancelSignatures', place: { position },
    what: `the ${subject} at position ${position} is not signed as it must be: ${what}`,
    means: 'The exchange checks every signature before it records the command. So this one was forged in the history, or the signing domain that the audit used is not the one it was made in.',
    expected, found,
  };
}
