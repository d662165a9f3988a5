/** Sends the transactions of one key: what users ask for is signed and recorded before it is broadcast, and followed until it is final. */
import { pause } from '../../engine/waiting.js';
import type { Chain } from '../chain/chain.js';
import type { Report } from '../chain/report.js';
import { createKeccak256 } from '../signing/keccak.js';
import { broadcast, lookAt, type LaneRpc, type LaneView } from './chain-view.js';
import { freshFees, type Fees } from './fees.js';
import { answered, decide, replaced, takeOff, type Flight, type FlightPolicy, type LaneTransaction } from './flights.js';
import { decideNonces, doubtOf, isDoubtful, NO_MEMORY, type NonceMemory, type NonceRecords, type Places } from './nonces.js';
import { purposesOf, type HeldLane, type NonceEnding, type Outbox } from './outbox.js';
import { OutboxUnavailable, UnsendableTransaction, type Attempt, type HeldRequest } from './requests.js';
import { checkRequest, createSigner, type Payload, type Signer } from './signer.js';

export interface LaneOptions {
  readonly chain: Pick<Chain, 'chainId' | 'confirmations'>;
  readonly rpc: LaneRpc;
  /** The key's name, by which requests ask for it. */
  readonly key: string;
  /** 32 bytes, as 0x and 64 hex digits. */
  readonly privateKey: string;
  readonly outbox: Outbox;
  /**
   * Awaited after an attempt is recorded and before it is broadcast, at least once for each attempt: also after a restart, for those that
   * are not known to be broadcast. A failure holds the broadcast back, and those behind it; it is called again.
   */
  readonly announce: (attempt: Attempt, request: HeldRequest) => Promise<void>;
  /** Milliseconds, not going back. */
  readonly now: () => number;
  readonly report: Report;
  /** Ends the lane like stop(). */
  readonly signal?: AbortSignal;
  readonly policy?: Partial<LanePolicy>;
}

/** Prices in wei for a unit of gas, times in milliseconds. */
export interface LanePolicy {
  /** No transaction ever offers more. */
  readonly maxFeePerGas: bigint;
  readonly minPriorityFeePerGas: bigint;
  /** The chain's block gas limit counts too. */
  readonly maxGasLimit: bigint;
  /** Recorded and not mined. */
  readonly maxInFlight: number;
  /** Not over. */
  readonly maxOpen: number;
  /** How often the chain is looked at. */
  readonly pollMs: number;
  /** Blocks without it after which an attempt is replaced; */
  readonly bumpAfterBlocks: number;
  /** and the least time. */
  readonly bumpAfterMs: number;
  readonly rebroadcastMs: number;
  /** A nonce that another transaction used is given up after this time, and `confirmations` blocks. */
  readonly lostAfterMs: number;
  /** A nonce that the chain wants and that is not on its way is filled after this time. */
  readonly gapAfterMs: number;
  /** A transaction count that nobody has recorded is believed after so many looks that agree, */
  readonly looks: number;
  /** so far apart. */
  readonly looksApartMs: number;
  /** Waits after failures in a row; the last one repeats. */
  readonly backoffMs: readonly number[];
  /** How often a lane that is well says so. */
  readonly publishMs: number;
}

/** 2^24 gas is EIP-7825's limit for a transaction. */
export const LANE_POLICY: LanePolicy = {
  maxFeePerGas: 500_000_000_000n, minPriorityFeePerGas: 1n, maxGasLimit: 1n << 24n, maxInFlight: 16, maxOpen: 1_000, pollMs: 1_000,
  bumpAfterBlocks: 5, bumpAfterMs: 15_000, rebroadcastMs: 15_000, lostAfterMs: 60_000, gapAfterMs: 60_000, looks: 3, looksApartMs: 1_000,
  backoffMs: [250, 500, 1_000, 2_000, 5_000, 10_000, 30_000], publishMs: 5_000,
};

export interface LaneStatus {
  /** Lower-case hex. */
  readonly address: string;
  /** Whether this process works on the lane; another one may. */
  readonly holds: boolean;
  /** Transactions that are not over. */
  readonly open: number;
  /** A block's gas when the chain was looked at last; undefined before that. */
  readonly blockGasLimit: bigint | undefined;
  /** What keeps the lane from going on; undefined when nothing does. */
  readonly trouble: string | undefined;
}

export interface Lane {
  /** The key's address, in lower-case hex. */
  readonly address: string;
  /** Resolves when the lane has ended, after stop() or its signal. Nothing else ends it. */
  readonly done: Promise<void>;
  status(): LaneStatus;
  /** Stops following; what is recorded goes on at the next start. */
  stop(): Promise<void>;
}

/**
 * Starts a lane. It stands by while another process holds it, and takes what is recorded from the outbox; whatever fails is reported and
 * tried again. Throws an error for a key that is none, which does not show the key.
 */
export async function createLane({ privateKey, policy, signal, ...options }: LaneOptions): Promise<Lane> {
  const signer = createSigner({ chainId: options.chain.chainId, privateKey, keccak256: await createKeccak256() });
  const run = new LaneRun({ ...options, policy: { ...LANE_POLICY, ...policy } }, signer);
  const stop = (): void => { run.stop(); };
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted === true) stop();
  const done = run.keepRunning().finally(() => signal?.removeEventListener('abort', stop));
  return {
    address: signer.address, done,
    status: () => run.status(),
    async stop() {
      stop();
      await done;
    },
  };
}

interface RunOptions extends Omit<LaneOptions, 'privateKey' | 'policy' | 'signal'> {
  readonly policy: LanePolicy;
}

/** More than an empty transaction needs: some chains count the price of its bytes on another chain as gas. What is not used is not paid. */
const FILLER_GAS = 200_000n;

/** One round at a time, and nothing beside it. */
class LaneRun {
  private held: HeldLane | undefined;
  private flights: readonly Flight[] = [];
  private nextNonce = 0;
  private nonces: NonceMemory = NO_MEMORY;
  private blockGasLimit: bigint | undefined;
  /** Hashes of attempts that the history has. */
  private readonly announced = new Set<string>();
  /** What a node has refused and why; undefined when nothing is refused. */
  private refusal: string | undefined;
  private failure: string | undefined;
  private published = { text: '', atMs: -Infinity };
  private readonly stopping = new AbortController();
  private readonly flightPolicy: FlightPolicy;

  constructor(private readonly options: RunOptions, private readonly signer: Signer) {
    const { chain: { confirmations }, policy: { maxFeePerGas, minPriorityFeePerGas } } = options;
    this.flightPolicy = { ...options.policy, confirmations, limits: { maxFeePerGas, minPriorityFeePerGas } };
  }

  status(): LaneStatus {
    return {
      address: this.signer.address, holds: this.held !== undefined, open: this.flights.length, blockGasLimit: this.blockGasLimit, trouble: this.trouble(),
    };
  }

  stop(): void {
    this.stopping.abort(new Error('the lane has stopped'));
  }

  /** Resolves when the lane has stopped. Whatever fails is reported and tried again: recorded transactions must not be left. */
  async keepRunning(): Promise<void> {
    const { signal } = this.stopping;
    const { policy: { backoffMs, pollMs } } = this.options;
    let failures = 0;
    while (!signal.aborted) {
      const rung = this.held?.bell.rung();
      try {
        const held = await this.round();
        failures = 0;
        if (this.failure !== undefined) this.report('note', 'goes on');
        this.failure = undefined;
        await this.publish(held);
        if (held.bell.rung() === rung) await held.bell.wait(signal, pollMs);
      } catch (error) {
        if (signal.aborted) break;
        await this.failed(error);
        await pause(backoffMs[Math.min(failures++, backoffMs.length - 1)] ?? 0, signal);
      }
    }
    await this.held?.close();
    this.held = undefined;
  }

  /** The same failure is reported once in a row. */
  private async failed(error: unknown): Promise<void> {
    const text = error instanceof Error ? error.message : String(error);
    if (text !== this.failure) this.report('trouble', text);
    this.failure = text;
    try {
      if (this.held !== undefined && !(error instanceof OutboxUnavailable)) return await this.publish(this.held);
    } catch {
      // Then the outbox is away, too, and held anew.
    }
    const lost = this.held;
    this.held = undefined;
    await lost?.close();
  }

  /** Takes the lane and reads what is open. */
  private async hold(): Promise<HeldLane> {
    const { outbox, chain: { chainId }, key, now } = this.options;
    const { address } = this.signer;
    const held = await outbox.hold({ chainId, key, address }, {
      signal: this.stopping.signal, standingBy: () => { this.report('note', 'another process holds the lane; standing by'); },
    });
    try {
      const { open, nextNonce, foreign } = await held.load();
      for (const other of foreign) {
        this.report('alarm', `${other.open} transactions of the address ${other.address}, which had the key's name ${key} before, are not over: they are `
        + 'followed only while the lane runs with that key');
      }
      this.flights = open.map((transaction) => takeOff(transaction, now()));
      this.nextNonce = nextNonce;
      this.published = { text: '', atMs: -Infinity };
      return this.held = held;
    } catch (error) {
      await held.close();
      throw error;
    }
  }

  private async round(): Promise<HeldLane> {
    const held = this.held ?? await this.hold();
    held.check();
    const { rpc, chain: { confirmations }, now } = this.options;
    const view = await lookAt(rpc, {
      address: this.signer.address, flights: this.flights, confirmations, isDoubtful: (count) => isDoubtful(count, this.nonces, this.records()),
    });
    this.blockGasLimit = view.blockGasLimit;
    const { flights, actions } = decide(this.flights, view, this.flightPolicy, now());
    this.flights = flights;
    const due = new Set<number>();
    const ended: NonceEnding[] = [];
    for (const action of actions) {
      switch (action.kind) {
        case 'report': this.report(action.level, action.text); break;
        case 'over': ended.push(action); break;
        case 'broadcast': due.add(action.nonce); break;
        case 'replace':
          await this.replace(held, action);
          due.add(action.nonce);
      }
    }
    if (ended.length > 0) await this.conclude(held, ended);
    for (const nonce of await this.recordNew(held, this.places(view), view)) due.add(nonce);
    await this.launch(held, this.flights.filter(({ transaction }) => due.has(transaction.nonce)), view.head);
    return held;
  }

  private records(): NonceRecords {
    return { nextNonce: this.nextNonce, flights: this.flights };
  }

  private places(view: LaneView): Places {
    const { chain: { confirmations }, policy, now } = this.options;
    const { memory, places, reports } = decideNonces(this.nonces, { view, records: this.records(), policy: { ...policy, confirmations }, nowMs: now() });
    this.nonces = memory;
    for (const { level, text } of reports) this.report(level, text);
    return places;
  }

  private async replace(held: HeldLane, { nonce, fees }: { nonce: number; fees: Fees }): Promise<void> {
    for (const flight of this.flights.filter(({ transaction }) => transaction.nonce === nonce)) {
      const { transaction } = flight;
      const attempt = { ...this.signer.sign({ nonce, request: this.payloadOf(transaction), fees }), fees, broadcast: false };
      await held.recordAttempt(transaction, attempt);
      this.put(replaced(flight, { ...transaction, attempts: [...transaction.attempts, attempt] }, this.options.now()));
    }
  }

  private async conclude(held: HeldLane, ended: readonly NonceEnding[]): Promise<void> {
    const nonces = new Set(ended.map(({ nonce }) => nonce));
    const over = this.flights.filter(({ transaction }) => nonces.has(transaction.nonce)).map(({ transaction }) => transaction);
    await held.markOver(ended.map(({ nonce, ending }) => ({ nonce, ending })), purposesOf(over));
    this.flights = this.flights.filter(({ transaction }) => !nonces.has(transaction.nonce));
    for (const { attempts } of over) for (const { txHash } of attempts) this.announced.delete(txHash);
    for (const { nonce, ending } of ended) {
      const isFiller = over.some((transaction) => transaction.nonce === nonce && transaction.request === undefined);
      if (ending.kind !== 'lost' || isFiller) continue;
      this.report('alarm', `nonce ${nonce} was used by a transaction that this lane does not know: is its key used elsewhere?`);
    }
  }

  /** Signs and records what is asked for the places. Returns the nonces. */
  private async recordNew(held: HeldLane, places: Places, view: LaneView): Promise<readonly number[]> {
    if (places.kind === 'none' || (places.kind === 'fill' && places.nonces.length === 0)) return [];
    const requests = await this.sendable(held, { most: places.kind === 'fill' ? places.nonces.length : places.count, blockGasLimit: view.blockGasLimit });
    const nonces = places.kind === 'fill' ? places.nonces : requests.map((_, i) => places.first + i);
    if (nonces.length === 0) return [];
    const fees = freshFees(view, this.flightPolicy.limits);
    const transactions = nonces.map((nonce, i): LaneTransaction => {
      const request = requests[i];
      return { nonce, request, attempts: [{ ...this.signer.sign({ nonce, request: this.payloadOf({ request }), fees }), fees, broadcast: false }] };
    });
    await held.record(transactions);
    this.nextNonce = Math.max(this.nextNonce, ...nonces.map((nonce) => nonce + 1));
    const added = transactions.map((transaction) => takeOff(transaction, this.options.now()));
    this.flights = [...this.flights, ...added].sort((a, b) => a.transaction.nonce - b.transaction.nonce);
    return nonces;
  }

  /** The next requests that can become transactions; the others before them are refused. */
  private async sendable(held: HeldLane, { most, blockGasLimit }: { most: number; blockGasLimit: bigint }): Promise<readonly HeldRequest[]> {
    for (;;) {
      const requests = await held.waiting(most);
      const refusals = requests.flatMap((request) => {
        const reason = this.reasonAgainst(request, blockGasLimit);
        return reason === undefined ? [] : [{ request, reason }];
      });
      if (refusals.length === 0) return requests;
      await held.refuse(refusals);
    }
  }

  private reasonAgainst(request: HeldRequest, blockGasLimit: bigint): string | undefined {
    try {
      checkRequest(request, this.options.policy.maxGasLimit);
      if (request.gasLimit <= blockGasLimit) return undefined;
      return new UnsendableTransaction(`its gas limit ${request.gasLimit} is above the chain's block gas limit ${blockGasLimit}`).message;
    } catch (error) {
      if (error instanceof UnsendableTransaction) return error.message;
      throw error;
    }
  }

  private payloadOf({ request }: Pick<LaneTransaction, 'request'>): Payload {
    return request ?? { to: this.signer.address, data: '0x', gasLimit: FILLER_GAS };
  }

  /** Tells the history of attempts that it may not know, then broadcasts; those behind one that it did not take wait with it. */
  private async launch(held: HeldLane, flights: readonly Flight[], head: number): Promise<void> {
    const { rpc, now } = this.options;
    const told = await Promise.allSettled(flights.map((flight) => this.announce(flight)));
    const failure = told.find((result) => result.status === 'rejected');
    const ready = failure === undefined ? flights : flights.slice(0, told.indexOf(failure));
    const taken: string[] = [];
    try {
      for (const flight of ready) {
        // Each may take as long as a node may be silent; what is recorded is broadcast at the next start.
        if (this.stopping.signal.aborted) break;
        const attempt = flight.transaction.attempts.at(-1);
        if (attempt === undefined) continue;
        const { answer, detail } = await broadcast(rpc, attempt.raw);
        const after = answered(flight, answer, { policy: this.flightPolicy, now: { block: head, ms: now() } });
        if (after.alarm !== undefined) {
          this.refusal = `${after.alarm} (${detail})`;
          this.report('alarm', this.refusal);
        }
        this.put(after.flight);
        if (!attempt.broadcast && (answer === 'taken' || answer === 'nonce too low')) taken.push(attempt.txHash);
      }
    } finally {
      if (this.flights.every(({ refusals }) => refusals === 0)) this.refusal = undefined;
      if (taken.length > 0) await this.markBroadcast(held, taken);
    }
    if (failure !== undefined) throw failure.reason;
  }

  private async announce({ transaction: { request, attempts } }: Flight): Promise<void> {
    const attempt = attempts.at(-1);
    if (attempt === undefined || request === undefined || attempt.broadcast || this.announced.has(attempt.txHash)) return;
    await this.options.announce({ txHash: attempt.txHash, raw: attempt.raw }, request);
    this.announced.add(attempt.txHash);
  }

  private async markBroadcast(held: HeldLane, txHashes: readonly string[]): Promise<void> {
    await held.markBroadcast(txHashes);
    this.flights = this.flights.map((flight) => {
      const { transaction } = flight;
      if (!transaction.attempts.some(({ txHash }) => txHashes.includes(txHash))) return flight;
      const attempts = transaction.attempts.map((attempt) => txHashes.includes(attempt.txHash) ? { ...attempt, broadcast: true } : attempt);
      return { ...flight, transaction: { ...transaction, attempts } };
    });
  }

  private put(flight: Flight): void {
    this.flights = this.flights.map((other) => other.transaction.nonce === flight.transaction.nonce ? flight : other);
  }

  private trouble(): string | undefined {
    return this.failure ?? this.refusal ?? doubtOf(this.nonces);
  }

  /** When something has changed, and from time to time, so that users know that a process works on the lane. */
  private async publish(held: HeldLane): Promise<void> {
    const { policy: { publishMs }, now } = this.options;
    const { blockGasLimit } = this;
    const trouble = this.trouble();
    const text = `${blockGasLimit} ${trouble}`;
    if (text === this.published.text && now() - this.published.atMs < publishMs) return;
    await held.publish({ blockGasLimit, trouble });
    this.published = { text, atMs: now() };
  }

  private report(level: 'note' | 'trouble' | 'alarm', text: string): void {
    this.options.report(level, `lane ${this.signer.address} of chain ${this.options.chain.chainId}: ${text}`);
  }
}
