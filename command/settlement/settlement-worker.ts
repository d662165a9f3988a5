/**
 * The settlement worker: takes fills that the chain has not settled yet, in order, puts them into transactions, and hands these to
 * the sender. It never says that a fill is settled: the chain does, and the indexer records it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SubmitSettlement } from '../../engine/records/commands.js';
import type { Log } from '../../engine/log/log.js';
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { BATCH_LIMITS, composeBatch, limitsWithin, type BatchLimits } from './batch.js';
import type { Chain } from '../chain/chain.js';
import type { Report } from '../chain/report.js';
import type { Attempt, Ending, Sender, SentTransaction, TransactionRequest } from '../lane/sender.js';
import { encodeSettleBatch } from './settle-calldata.js';
import { NoSuchOrder, createSettledOrders } from './settled-orders.js';
import { QUEUE_RULES, SettlementQueue, type Passed, type QueueRules, type QueueStatus, type SettlementNote } from './settlement-queue.js';
import { UnsendableTransaction } from '../lane/signer.js';

/** What the worker asks of the running engine's state; all of one moment when asked in one turn. */
export interface SettlementView {
  /** The number that the next fill will get. */
  readonly nextFill: () => number;
  /** The chain's unsettled fills with numbers of `from` and higher, ascending. */
  readonly unsettled: (from: number) => Iterable<UnsettledFill>;
  /** The history has every fact of the blocks below this one. */
  readonly nextBlock: () => number;
  /** The latest position and the digest up to it; there is one. */
  readonly history: () => { readonly position: number; readonly digest: Uint8Array };
}

/** What the sender calls; a sender shared with others calls them for its other transactions too, which changes nothing. */
export interface SettlementHooks {
  /** Before each broadcast of an attempt: resolves when the history has it. */
  signed(attempt: Attempt, transaction: SentTransaction): Promise<void>;
  /** At final depth. */
  over(transaction: SentTransaction, ending: Ending): Promise<void>;
}

export interface SettlementOptions {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  readonly view: SettlementView;
  readonly log: Pick<Log, 'read'>;
  /** Resolves when the engine has computed the command's outcome. */
  readonly submit: (command: SubmitSettlement) => Promise<unknown>;
  /** Resolves when the history has got to the latest block that is final by now. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  /** Opens the sender, or rejects when the signal aborts before. The worker stops it when it ends. */
  readonly openSender: (hooks: SettlementHooks, signal: AbortSignal) => Promise<Sender>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly rules?: Partial<QueueRules>;
  readonly limits?: BatchLimits;
  readonly timings?: Partial<SettlementTimings>;
}

export interface SettlementTimings {
  readonly pollMs: number;
  /** After a failure: the first pause, doubled up to the longest. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** Transactions that are not over, at most. */
  readonly maxOpen: number;
  /** Transactions that the sender has not taken yet, at most. */
  readonly maxSending: number;
}

export const SETTLEMENT_TIMINGS: SettlementTimings = { pollMs: 25, retryMs: 250, maxRetryMs: 10_000, maxOpen: 256, maxSending: 16 };

export interface SettlementStatus extends QueueStatus {
  /** Fills that wait; counted up to 10,000. */
  readonly waiting: number;
  /** Since when, in milliseconds, the sender has not taken a batch; absent while it has none to take. */
  readonly sendingSinceMs?: number;
  /** What keeps the worker from going on since when; absent when nothing does. */
  readonly trouble?: { readonly text: string; readonly sinceMs: number };
}

export interface Settlement {
  /** Resolves when the worker has ended, after `signal`. Nothing else ends it. */
  readonly done: Promise<void>;
  status(): SettlementStatus;
}

/** Orders whose permits are known to be final; forgetting one costs some gas. */
const MAX_USED_PERMITS = 10_000;

/** Starts the worker. Whatever fails is told, and tried again with growing pauses. */
export function runSettlement(options: SettlementOptions): Settlement {
  const { view, signal, report, now } = options;
  const timings = { ...SETTLEMENT_TIMINGS, ...options.timings };
  const queue = new SettlementQueue(view.unsettled, { ...QUEUE_RULES, ...options.rules });
  const retry = createRetry(timings, { now, report });
  const worker = new Worker(options, { queue, timings, progressed: retry.succeeded });

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        pauseMs = await worker.step() ? 0 : timings.pollMs;
      } catch (error) {
        if (signal.aborted) break;
        pauseMs = retry.failed(error);
      }
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    await worker.stop();
  }

  return {
    done: run(),
    status() {
      queue.observe(view.nextFill(), now());
      return { ...queue.status(), waiting: queue.waiting(), ...worker.status(), ...retry.status() };
    },
  };
}

class Worker {
  private sender: Sender | undefined;
  private readonly batches: ReturnType<typeof createBatches>;
  /** What the sender has not taken yet, and since when. */
  private readonly sending = new Map<Promise<void>, number>();
  private readonly failures: unknown[] = [];
  /** Whether the history had the final blocks: an earlier process's transaction may have ended in one of them. */
  private begun = false;
  private catchingUp = false;
  private markRestored = (): void => undefined;
  private readonly restored = new Promise<void>((resolve) => { this.markRestored = resolve; });

  constructor(
    private readonly options: SettlementOptions,
    private readonly parts: { readonly queue: SettlementQueue; readonly timings: SettlementTimings; readonly progressed: () => void },
  ) {
    this.batches = createBatches(options);
  }

  private async signed({ txHash }: Attempt, transaction: SentTransaction): Promise<void> {
    const { chain, submit, now } = this.options;
    const note = noteOf(chain, transaction);
    if (note === undefined) return;
    await submit({ kind: 'SubmitSettlement', v: 1, at: now(), chainId: chain.chainId, txHash, fills: [...note.fills] });
  }

  private async over(transaction: SentTransaction, ending: Ending): Promise<void> {
    // The sender may begin before what it has on its way is taken over here.
    await this.restored;
    const note = noteOf(this.options.chain, transaction);
    if (note === undefined) return;
    this.parts.queue.over({ nonce: transaction.nonce, note }, ending, this.options.now());
    if (ending.kind === 'mined') this.hurry();
  }

  /** Whether there was something to do: there may be more. */
  async step(): Promise<boolean> {
    const { view, now, signal, catchUp } = this.options;
    const { queue, timings, progressed } = this.parts;
    this.sender ??= await this.open();
    if (this.failures.length > 0) throw this.failures.splice(0)[0];
    queue.observe(view.nextFill(), now());
    for (const passed of queue.pass(view.nextBlock(), now())) this.conclude(passed);
    if (this.sending.size >= timings.maxSending || this.sender.open().length + this.sending.size >= timings.maxOpen) return false;
    const due = queue.due(now());
    if (due.length === 0) {
      if (this.sending.size === 0) progressed();
      return false;
    }
    if (!this.begun) {
      await orAborted(catchUp(), signal);
      this.begun = true;
      return true;
    }
    try {
      const request = await this.batches.prepare(due, this.sender.blockGasLimit());
      if (signal.aborted) return false;
      this.send(this.sender, request, request.note);
    } catch (error) {
      if (!(error instanceof NoSuchOrder)) throw error;
      this.setAside(due, error);
    }
    return true;
  }

  status(): Pick<SettlementStatus, 'sendingSinceMs'> {
    const [sendingSinceMs] = this.sending.values();
    return sendingSinceMs === undefined ? {} : { sendingSinceMs };
  }

  async stop(): Promise<void> {
    await this.sender?.stop();
    await Promise.all(this.sending.keys());
  }

  private async open(): Promise<Sender> {
    const { chain, signal, now, openSender } = this.options;
    const hooks: SettlementHooks = {
      signed: (attempt, transaction) => this.signed(attempt, transaction), over: (transaction, ending) => this.over(transaction, ending),
    };
    const opened = await openSender(hooks, signal);
    const stop = () => { opened.stop().catch(() => undefined); };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.parts.queue.restore(opened.open().flatMap((transaction) => {
      const note = noteOf(chain, transaction);
      return note === undefined ? [] : [{ nonce: transaction.nonce, note }];
    }), now());
    this.markRestored();
    return opened;
  }

  private send(to: Sender, request: TransactionRequest, note: SettlementNote): void {
    const { queue, progressed } = this.parts;
    queue.take(note);
    const taken = to.send(request).then(({ nonce }) => {
      queue.sent(note, nonce);
      progressed();
    }, (error: unknown) => {
      if (error instanceof UnsendableTransaction) return void this.refused(note, error);
      queue.unsent(note, this.options.now());
      this.failures.push(error);
    }).finally(() => { this.sending.delete(taken); });
    this.sending.set(taken, this.options.now());
  }

  private refused(note: SettlementNote, { message }: UnsendableTransaction): void {
    const { chain: { chainId }, report, now } = this.options;
    const alone = this.parts.queue.unsendable(note, now());
    if (alone === 0) report('trouble', `chain ${chainId}: a batch of ${note.fills.length} fills cannot be sent and goes in smaller ones: ${message}`);
    if (alone === 1) report('alarm', `chain ${chainId}: fill ${note.fills[0]} cannot be sent even alone; it is tried again ever more rarely: ${message}`);
  }

  private setAside(due: readonly UnsettledFill[], { positions, message }: NoSuchOrder): void {
    const { chain: { chainId }, report, now } = this.options;
    const unfit = due.filter(({ buyNumber, sellNumber }) => positions.has(buyNumber) || positions.has(sellNumber));
    const fresh = this.parts.queue.setAside({ due: due.map(({ fill }) => fill), unfit: unfit.map(({ fill }) => fill) }, now());
    if (fresh.length === 0) return;
    report('alarm', `chain ${chainId}: fills ${fresh.join(', ')} cannot be settled and are tried again ever more rarely; the others go on: ${message}`);
  }

  /** Has the history get to the transaction's block now; a transaction that reverted says nothing by itself. */
  private hurry(): void {
    if (this.catchingUp) return;
    this.catchingUp = true;
    this.options.catchUp().catch(() => undefined).finally(() => { this.catchingUp = false; });
  }

  private conclude(passed: Passed): void {
    tell(passed, this.options.report, this.options.chain.chainId);
    if (passed.left.length === 0) this.batches.permitsUsed(passed.note.permits);
  }
}

/** Makes transactions of fills, and remembers which permits they need no longer have. */
function createBatches({ chain, view, log, now, limits = BATCH_LIMITS }: Pick<SettlementOptions, 'chain' | 'view' | 'log' | 'now' | 'limits'>) {
  const settledOrders = createSettledOrders(log);
  const used = new Set<number>();
  return {
    /** Of as many of the fills as fit. Throws LogUnavailable and NoSuchOrder. */
    async prepare(due: readonly UnsettledFill[], blockGasLimit: bigint | undefined): Promise<TransactionRequest & { readonly note: SettlementNote }> {
      const orders = await settledOrders.read(new Set(due.flatMap(({ buyNumber, sellNumber }) => [buyNumber, sellNumber])));
      const { fills, permits, gasLimit, content } = composeBatch({
        fills: due, orders, nowS: Math.floor(now() / 1_000), permitUsed: (number) => used.has(number),
        limits: blockGasLimit === undefined ? limits : limitsWithin(limits, blockGasLimit),
      });
      const data = encodeSettleBatch({ ...content, history: view.history() });
      return { to: chain.contracts.settlement, data, gasLimit: BigInt(gasLimit), note: { fills: fills.map(({ fill }) => fill), permits } };
    },
    /** A final transaction has had the permits of these orders. */
    permitsUsed(orderNumbers: readonly number[]): void {
      for (const number of orderNumbers) used.add(number);
      for (const number of used) {
        if (used.size <= MAX_USED_PERMITS) break;
        used.delete(number);
      }
    },
  };
}

/** The work's end, or a rejection as soon as the signal aborts. */
function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => { reject(signal.reason as Error); };
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort); });
  });
}

/** The note of a settlement transaction; undefined for one of somebody else's in the same lane. */
function noteOf({ contracts }: Pick<Chain, 'contracts'>, { request: { to, note } }: SentTransaction): SettlementNote | undefined {
  if (to.toLowerCase() !== contracts.settlement || typeof note !== 'object' || note === null) return undefined;
  const { fills, permits = [] } = note as Partial<Record<keyof SettlementNote, unknown>>;
  return areNumbers(fills) && fills.length > 0 && areNumbers(permits) ? { fills, permits } : undefined;
}

function areNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(Number.isSafeInteger);
}

function tell({ nonce, note: { fills }, ending, left, alone }: Passed, report: Report, chainId: number): void {
  if (left.length === 0) return;
  const what = `chain ${chainId}, transaction with nonce ${nonce}`;
  if (ending.kind === 'lost') {
    report('trouble', `${what}: another transaction has taken its place; its ${left.length} unsettled fills are sent again`);
  } else if (alone > 1) {
    report('alarm', `${what} (${ending.txHash}): fill ${left[0]} did not settle, for the ${alone}th time as the only one; it is tried again ever more rarely`);
  } else if (!ending.succeeded) {
    report('alarm', `${what} (${ending.txHash}) reverted as a whole; its ${fills.length} fills are tried again in smaller batches: `
    + 'has the key lost its operator role, or is the contract another one?');
  } else {
    report('trouble', `${what} (${ending.txHash}) left ${left.length} of ${fills.length} fills untouched; they are sent again in smaller batches`);
  }
}

/** Growing pauses after failures; each new failure's text is told once. */
function createRetry({ retryMs, maxRetryMs }: SettlementTimings, { now, report }: Pick<SettlementOptions, 'now' | 'report'>) {
  let failures = 0;
  let trouble: SettlementStatus['trouble'];
  return {
    succeeded(): void {
      if (trouble !== undefined) report('note', `settlement goes on after: ${trouble.text}`);
      failures = 0;
      trouble = undefined;
    },
    /** How long to wait, in milliseconds. */
    failed(error: unknown): number {
      const text = error instanceof Error ? error.message : String(error);
      if (trouble?.text !== text) {
        trouble = { text, sinceMs: now() };
        report('trouble', `settlement waits: ${text}`);
      }
      return Math.min(maxRetryMs, retryMs * 2 ** Math.min(failures++, 40));
    },
    status: (): Pick<SettlementStatus, 'trouble'> => trouble === undefined ? {} : { trouble },
  };
}
