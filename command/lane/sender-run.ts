/** Carries out what a sender's lane decides: looks at the chain, records, tells the caller, broadcasts; again and again. */
import { freshFees, type Fees } from './fees.js';
import { answered, decide, hasGap, nextNonce, replaced, room, takeOff, type Flight, type LanePolicy } from './lane.js';
import { broadcast, lookAt, type LaneView } from './lane-view.js';
import { OutboxUnavailable, type HeldLane, type OutboxTransaction } from './outbox.js';
import type { Ending, SenderOptions, SentTransaction, TransactionRequest } from './sender.js';
import { UnsendableTransaction, type Signer } from './signer.js';

/** The sender was stopped before it came to the request. */
export class SenderStopped extends Error {
  constructor() {
    super('the sender has stopped: send the transaction again when it runs');
    this.name = 'SenderStopped';
  }
}

/** A request that is not recorded yet. */
interface Waiting {
  readonly request: TransactionRequest;
  readonly resolve: (transaction: SentTransaction) => void;
  readonly reject: (error: Error) => void;
  /** Set while it is unknown whether this attempt of it was recorded. */
  txHash: string | undefined;
}

interface Ended { readonly nonce: number; readonly ending: Ending }

/** One round at a time: nothing here runs beside it but the caller's `over`. */
export class SenderRun {
  /** As last seen. */
  blockGasLimit: bigint | undefined;
  private held: HeldLane | undefined;
  private flights: readonly Flight[] = [];
  private recordedNonces = 0;
  private readonly waiting: Waiting[] = [];
  /** Hashes of attempts that the caller has recorded. */
  private readonly announced = new Set<string>();
  /** Nonces that the caller is being told the end of, and those that it was told. */
  private readonly ending = new Map<number, Promise<void>>();
  private readonly ended: Ended[] = [];
  private gapSinceMs: number | undefined;
  private lastTrouble: string | undefined;
  private readonly stopping = new AbortController();
  private woken = false;
  private wake: () => void = () => undefined;
  private readonly policy: LanePolicy;
  private readonly pollMs: number;

  constructor(private readonly options: Omit<SenderOptions, 'privateKey'>, private readonly signer: Signer) {
    const {
      chain, maxFeePerGas = 500_000_000_000n, minPriorityFeePerGas = 1n, maxInFlight = 16, maxOpen = 1_000, pollMs = 1_000, bumpAfterMs = 30_000,
      rebroadcastMs = 15_000, lostAfterMs = 60_000, backoffMs = [250, 500, 1_000, 2_000, 5_000, 10_000, 30_000],
    } = options;
    this.pollMs = pollMs;
    this.policy = {
      confirmations: chain.confirmations, limits: { maxFeePerGas, minPriorityFeePerGas }, bumpAfterMs, rebroadcastMs, lostAfterMs, backoffMs,
      maxInFlight, maxOpen,
    };
  }

  get address(): string {
    return this.signer.address;
  }

  open(): readonly SentTransaction[] {
    return this.flights.map(({ transaction }) => sent(transaction));
  }

  enqueue(request: TransactionRequest): Promise<SentTransaction> {
    return new Promise((resolve, reject) => {
      if (this.stopping.signal.aborted) return void reject(new SenderStopped());
      this.waiting.push({ request, resolve, reject, txHash: undefined });
      this.workHasCome();
    });
  }

  stop(): void {
    this.stopping.abort(new SenderStopped());
    this.wake();
  }

  /** Takes the lane and reads what is open. Requests whose recording broke off may be among it. */
  async hold(signal: AbortSignal = this.stopping.signal): Promise<void> {
    const { store, chain: { chainId } } = this.options;
    const { address } = this.signer;
    const held = await store.hold({ chainId, address }, {
      signal, standingBy: () => { this.report('note', 'another process holds the lane; standing by'); },
    });
    try {
      const { open, recordedNonces } = await held.load();
      for (const waiting of [...this.waiting]) {
        if (waiting.txHash === undefined) continue;
        const found = await held.find(waiting.txHash);
        if (found !== undefined) this.recorded(waiting, found);
        waiting.txHash = undefined;
      }
      this.flights = open.map((transaction) => takeOff(transaction, this.options.now()));
      this.recordedNonces = recordedNonces;
      this.held = held;
    } catch (error) {
      await held.close();
      throw error;
    }
  }

  /** Resolves when the sender has stopped. Whatever fails is reported and tried again: recorded transactions must not be left. */
  async keepRunning(): Promise<void> {
    let failures = 0;
    while (!this.stopping.signal.aborted) {
      try {
        await this.round();
        failures = 0;
        if (this.lastTrouble !== undefined) this.report('note', 'goes on');
        this.lastTrouble = undefined;
        await this.rest(this.pollMs, { untilWork: true });
      } catch (error) {
        if (error instanceof OutboxUnavailable) {
          await this.held?.close();
          this.held = undefined;
        }
        if (this.stopping.signal.aborted) break;
        this.trouble(error);
        await this.rest(this.policy.backoffMs[Math.min(failures++, this.policy.backoffMs.length - 1)] ?? 0, { untilWork: false });
      }
    }
    for (const { reject } of this.waiting.splice(0)) reject(new SenderStopped());
    await Promise.all(this.ending.values());
    await this.markOver().catch((error: unknown) => { this.trouble(error); });
    await this.held?.close();
  }

  private async round(): Promise<void> {
    if (this.held === undefined) await this.hold();
    this.held!.check();
    await this.markOver();
    const { rpc, chain: { confirmations }, now } = this.options;
    const view = await lookAt(rpc, { address: this.signer.address, flights: this.flights, confirmations });
    this.blockGasLimit = view.blockGasLimit;
    const { flights, actions } = decide(this.flights, view, this.policy, now());
    this.flights = flights;
    const due = new Set<number>();
    for (const action of actions) {
      switch (action.kind) {
        case 'report': this.report(action.level, action.text); break;
        case 'over': this.tellOver(action); break;
        case 'broadcast': due.add(action.nonce); break;
        case 'replace':
          await this.replace(action.nonce, action.fees);
          due.add(action.nonce);
      }
    }
    if (!this.heedGap(view)) {
      for (const nonce of await this.recordWaiting(view)) due.add(nonce);
    }
    await this.launch(this.flights.filter(({ transaction }) => due.has(transaction.nonce)));
  }

  private async replace(nonce: number, fees: Fees): Promise<void> {
    const flight = this.flights.find(({ transaction }) => transaction.nonce === nonce)!;
    const { request, attempts } = flight.transaction;
    const attempt = { ...this.signer.sign({ nonce, request, fees }), fees, broadcast: false };
    await this.held!.recordAttempt(nonce, attempt);
    this.put(replaced(flight, { ...flight.transaction, attempts: [...attempts, attempt] }, this.options.now()));
  }

  /** Gives as many waiting requests as may be in flight their nonces, and records them together. Returns the nonces. */
  private async recordWaiting(view: LaneView): Promise<number[]> {
    for (const waiting of this.waiting.filter(({ request }) => request.gasLimit > view.blockGasLimit)) {
      this.waiting.splice(this.waiting.indexOf(waiting), 1);
      waiting.reject(new UnsendableTransaction(`its gas limit ${waiting.request.gasLimit} is above the chain's block gas limit ${view.blockGasLimit}`));
    }
    const taken = this.waiting.slice(0, room(this.flights, view, this.policy));
    if (taken.length === 0) return [];
    const fees = freshFees(view, this.policy.limits);
    const first = nextNonce(this.recordedNonces, view);
    const transactions = taken.map((waiting, i): OutboxTransaction => {
      const nonce = first + i;
      const attempt = this.signer.sign({ nonce, request: waiting.request, fees });
      waiting.txHash = attempt.txHash;
      return { nonce, request: waiting.request, attempts: [{ ...attempt, fees, broadcast: false }] };
    });
    await this.held!.record(transactions);
    this.recordedNonces = first + taken.length;
    this.flights = [...this.flights, ...transactions.map((transaction) => takeOff(transaction, this.options.now()))];
    taken.forEach((waiting, i) => { this.recorded(waiting, transactions[i]!); });
    return transactions.map(({ nonce }) => nonce);
  }

  private recorded(waiting: Waiting, transaction: OutboxTransaction): void {
    this.waiting.splice(this.waiting.indexOf(waiting), 1);
    waiting.resolve(sent(transaction));
  }

  /** Tells the caller of attempts that it may not know, then broadcasts; those behind one that it did not record wait with it. */
  private async launch(flights: readonly Flight[]): Promise<void> {
    const told = await Promise.allSettled(flights.map((flight) => this.announce(flight)));
    const failure = told.find((result) => result.status === 'rejected');
    const ready = failure === undefined ? flights : flights.slice(0, told.indexOf(failure));
    const taken: string[] = [];
    try {
      for (const flight of ready) {
        // Each may take as long as a node may be silent; what is recorded is broadcast at the next start.
        if (this.stopping.signal.aborted) break;
        const { txHash, raw, broadcast: known } = flight.transaction.attempts.at(-1)!;
        const { answer, detail } = await broadcast(this.options.rpc, raw);
        const after = answered(flight, answer, { policy: this.policy, nowMs: this.options.now() });
        if (after.alarm !== undefined) this.report('alarm', `${after.alarm} (${detail})`);
        this.put(after.flight);
        if (!known && (answer === 'taken' || answer === 'nonce too low')) taken.push(txHash);
      }
    } finally {
      if (taken.length > 0) await this.markBroadcast(taken);
    }
    if (failure !== undefined) throw failure.reason;
  }

  private async announce({ transaction }: Flight): Promise<void> {
    const { txHash, raw, broadcast: known } = transaction.attempts.at(-1)!;
    if (known || this.announced.has(txHash)) return;
    await this.options.signed({ txHash, raw }, sent(transaction));
    this.announced.add(txHash);
  }

  private async markBroadcast(txHashes: readonly string[]): Promise<void> {
    await this.held!.markBroadcast(txHashes);
    this.flights = this.flights.map((flight) => {
      const { transaction } = flight;
      if (!transaction.attempts.some(({ txHash }) => txHashes.includes(txHash))) return flight;
      const attempts = transaction.attempts.map((attempt) => txHashes.includes(attempt.txHash) ? { ...attempt, broadcast: true } : attempt);
      return { ...flight, transaction: { ...transaction, attempts } };
    });
  }

  /** Beside the rounds: the caller may take its time, and may send. */
  private tellOver({ nonce, ending }: Ended): void {
    if (this.ending.has(nonce)) return;
    const { transaction } = this.flights.find((flight) => flight.transaction.nonce === nonce)!;
    if (ending.kind === 'lost') this.report('alarm', `nonce ${nonce} was used by a transaction that this sender does not know: is its key used elsewhere?`);
    const telling = (async () => { await this.options.over(sent(transaction), ending); })();
    this.ending.set(nonce, telling.then(() => {
      this.ended.push({ nonce, ending });
      this.workHasCome();
    }, (error: unknown) => {
      this.ending.delete(nonce);
      this.trouble(error);
    }));
  }

  /** Marks what the caller was told of. */
  private async markOver(): Promise<void> {
    const ended = [...this.ended];
    if (ended.length === 0 || this.held === undefined) return;
    await this.held.markOver(ended);
    this.ended.splice(0, ended.length);
    for (const { nonce } of ended) {
      const flight = this.flights.find(({ transaction }) => transaction.nonce === nonce);
      for (const { txHash } of flight?.transaction.attempts ?? []) this.announced.delete(txHash);
      this.ending.delete(nonce);
    }
    this.flights = this.flights.filter(({ transaction }) => !ended.some(({ nonce }) => nonce === transaction.nonce));
  }

  /** No new nonce is taken while the chain wants an earlier one that is over; a node that lags shows that for a while, too. */
  private heedGap(view: LaneView): boolean {
    const before = this.gapSinceMs;
    if (!hasGap(this.flights, this.recordedNonces, view)) {
      this.gapSinceMs = undefined;
      return false;
    }
    const nowMs = this.options.now();
    this.gapSinceMs ??= nowMs;
    if (before !== undefined && before !== Infinity && nowMs - before >= this.policy.lostAfterMs) {
      this.report('alarm', `the chain wants nonce ${view.count}, which was final: it was reorganised beyond ${this.policy.confirmations} blocks or `
      + 'replaced; nothing new is sent');
      this.gapSinceMs = Infinity;
    }
    return true;
  }

  private put(flight: Flight): void {
    this.flights = this.flights.map((other) => other.transaction.nonce === flight.transaction.nonce ? flight : other);
  }

  private workHasCome(): void {
    this.woken = true;
    this.wake();
  }

  /** Until the time is over or the sender stops; or until work has come, that of the round before included. */
  private async rest(ms: number, { untilWork }: { untilWork: boolean }): Promise<void> {
    const isOver = (): boolean => this.stopping.signal.aborted || (untilWork && this.woken);
    if (!isOver()) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.wake = () => {
          if (!isOver()) return;
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.wake = () => undefined;
    this.woken = false;
  }

  /** The same trouble is reported once in a row. */
  private trouble(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (text !== this.lastTrouble) this.report('trouble', text);
    this.lastTrouble = text;
  }

  private report(level: 'note' | 'trouble' | 'alarm', text: string): void {
    this.options.report(level, `chain ${this.options.chain.chainId}, sender ${this.signer.address}: ${text}`);
  }
}

function sent({ nonce, request, attempts }: OutboxTransaction): SentTransaction {
  return { nonce, request, attempts: attempts.map(({ txHash, raw }) => ({ txHash, raw })) };
}
