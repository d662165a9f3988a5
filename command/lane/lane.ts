/**
 * Sends the transactions of one key: signs and records each request before it is broadcast, and follows it until it is
 * final.
 */
import { startReactor, type Reactor, type StandBy } from '../../engine/reactor.js';
import type { ReportLevel } from '../../engine/report.js';
import { createKeccak256 } from '../signing/typed-data.js';
import { broadcast, lookAt, type LaneView } from './chain-view.js';
import { freshFees, type Fees } from './fees.js';
import { answered, decide, replaced, opened, type OpenTransaction, type OpenTransactionPolicy, type LaneTransaction } from './open-transactions.js';
import { LANE_POLICY, type Lane, type LaneOptions, type LanePolicy, type LaneStatus } from './lane-options.js';
import { decideNonces, doubtOf, isDoubtful, NO_MEMORY, type NonceMemory, type NonceRecords, type FreeNonces } from './nonces.js';
import { purposesOf, type HeldLane, type NonceEnding } from './outbox.js';
import { OutboxUnavailable, UnsendableTransaction, type HeldRequest } from './requests.js';
import { checkRequest, createSigner, type Payload, type Signer } from './signer.js';

/**
 * Starts a lane. It stands by while another process holds it, then continues with what the outbox has recorded.
 * Failures are reported and retried. Throws an error for an invalid private key; the error does not show the key.
 */
export async function createLane({ privateKey, policy, signal, ...options }: LaneOptions): Promise<Lane> {
  const signer = createSigner({ chainId: options.chain.chainId, privateKey, keccak256: await createKeccak256() });
  const run = new LaneRun({ ...options, policy: { ...LANE_POLICY, ...policy } }, signer);
  const stop = (): void => { run.stop(); };
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted === true) stop();
  const done = run.done.finally(() => signal?.removeEventListener('abort', stop));
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

/**
 * More than an empty transaction needs, since some chains add the cost of its bytes on another chain as gas. Unused gas
 * is not paid for.
 */
const FILLER_GAS = 200_000n;

/**
 * An earlier address of the key's name, with its open transactions. They cannot be signed again, so their fees stay the
 * same.
 */
interface Former {
  readonly address: string;
  readonly held: HeldLane;
  openTransactions: readonly OpenTransaction[];
}

/** The running lane. It does one round after the other, and nothing in parallel. */
class LaneRun {
  private readonly reactor: Reactor<HeldLane>;
  private readonly who: string;
  private openTransactions: readonly OpenTransaction[] = [];
  private nextNonce = 0;
  private nonces: NonceMemory = NO_MEMORY;
  private former: Former[] = [];
  private blockGasLimit: bigint | undefined;
  /** Hashes of the attempts that were announced. */
  private readonly announced = new Set<string>();
  /** The last refusal by a node; undefined when none is open. */
  private refusal: string | undefined;
  private published = { text: '', atMs: -Infinity };
  private readonly stopping = new AbortController();
  private readonly openPolicy: OpenTransactionPolicy;

  constructor(private readonly options: RunOptions, private readonly signer: Signer) {
    const { chain: { confirmations }, policy: { maxFeePerGas, minPriorityFeePerGas } } = options;
    this.openPolicy = { ...options.policy, confirmations, limits: { maxFeePerGas, minPriorityFeePerGas } };
    this.who = `lane ${signer.address} of chain ${options.chain.chainId}`;
    this.reactor = this.run();
  }

  /** Resolves when the lane has stopped. */
  get done(): Promise<void> {
    return this.reactor.done;
  }

  status(): LaneStatus {
    return {
      address: this.signer.address, holds: this.reactor.held() !== undefined, open: this.openTransactions.length,
      blockGasLimit: this.blockGasLimit,
      problem: this.problem(),
    };
  }

  stop(): void {
    this.stopping.abort(new Error('the lane has stopped'));
  }

  /**
   * Rounds until the lane stops: failures are reported and retried, since recorded transactions must not be abandoned.
   */
  private run(): Reactor<HeldLane> {
    const { signal } = this.stopping;
    const { policy: { backoff, pollMs, idlePollMs }, report } = this.options;
    /** How often the bell had rung when the round began: what rings during it is not to be waited for. */
    let rung: number;
    return startReactor<HeldLane>({
      hold: (standBy) => this.hold(standBy),
      round: async (held) => {
        rung = held.bell.rung();
        await this.round(held);
      },
      rest: async (held) => {
        await this.publish(held);
        if (held.bell.rung() === rung) {
          await held.bell.wait(signal, this.isIdle() ? Math.max(pollMs, idlePollMs) : pollMs);
        }
      },
      release: (held) => held.close(),
      isLoss: (error) => error instanceof OutboxUnavailable,
      failed: (held) => this.publish(held),
      backoff, who: this.who, report, signal,
    });
  }

  /** Takes the lane and reads its open transactions. */
  private async hold(standBy: StandBy): Promise<HeldLane> {
    const { outbox, chain: { chainId }, key, now } = this.options;
    const { address } = this.signer;
    const held = await outbox.hold({ chainId, key, address }, standBy);
    try {
      const { open, nextNonce, formerAddresses, earlier } = await held.load();
      if (earlier > 0 && nextNonce === 0) {
        this.report('warn', `${earlier} transactions of an earlier version (schema sender) are not over: they may still be mined, and their users ask for them again`);
      }
      this.former = [];
      for (const former of formerAddresses) {
        const left = held.former(former);
        const openTransactions = (await left.load()).open.map((transaction) => opened(transaction, now()));
        this.former.push({ address: former, held: left, openTransactions });
        this.report('info', `follows ${openTransactions.length} transactions of ${former}, which had the key's name before`);
      }
      this.openTransactions = open.map((transaction) => opened(transaction, now()));
      this.nextNonce = nextNonce;
      this.published = { text: '', atMs: -Infinity };
      return held;
    } catch (error) {
      await held.close();
      throw error;
    }
  }

  private async round(held: HeldLane): Promise<void> {
    held.check();
    const { rpc, chain: { confirmations }, now } = this.options;
    const view = await lookAt(rpc, {
      address: this.signer.address, openTransactions: this.openTransactions, confirmations,
      isDoubtful: (count) => isDoubtful(count, this.nonces, this.records()),
    });
    this.blockGasLimit = view.blockGasLimit;
    const { openTransactions, actions } = decide(this.openTransactions, view, this.openPolicy, now());
    this.openTransactions = openTransactions;
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
    await this.broadcastAll(
      held, this.openTransactions.filter(({ transaction }) => due.has(transaction.nonce)), view.head,
    );
    for (const former of this.former) await this.follow(former);
    this.former = this.former.filter(({ openTransactions: left }) => left.length > 0);
  }

  /** Nothing is under way, and nothing has to be found out about the nonces. */
  private isIdle(): boolean {
    return this.openTransactions.length === 0 && this.former.length === 0 && this.problem() === undefined;
  }

  private async follow(former: Former): Promise<void> {
    const { rpc, chain: { confirmations }, now } = this.options;
    const policy = { ...this.openPolicy, bumpAfterBlocks: Infinity };
    const isDoubtful = (): boolean => former.openTransactions.some(({ unexplained }) => unexplained !== undefined);
    const view = await lookAt(
      rpc, { address: former.address, openTransactions: former.openTransactions, confirmations, isDoubtful },
    );
    const { openTransactions, actions } = decide(former.openTransactions, view, policy, now());
    former.openTransactions = openTransactions;
    for (const action of actions) {
      const open = former.openTransactions.find(({ transaction }) => action.kind !== 'report' && transaction.nonce === action.nonce);
      const attempt = open?.transaction.attempts.at(-1);
      if (action.kind === 'report' || open === undefined || attempt === undefined) continue;
      const { nonce } = action;
      if (action.kind === 'over') {
        await former.held.markOver([{ nonce, ending: action.ending }], purposesOf([open.transaction]));
        former.openTransactions = former.openTransactions.filter((other) => other !== open);
      } else {
        await this.announce(open);
        const { answer } = await broadcast(rpc, attempt.raw);
        const after = answered(open, answer, { policy, now: { block: view.head, ms: now() } });
        former.openTransactions = former.openTransactions.map((other) => other === open ? after.open : other);
      }
    }
  }

  private records(): NonceRecords {
    return { nextNonce: this.nextNonce, openTransactions: this.openTransactions };
  }

  private places(view: LaneView): FreeNonces {
    const { chain: { confirmations }, policy, now } = this.options;
    const { memory, places, reports } = decideNonces(this.nonces, {
      view, records: this.records(), policy: { ...policy, confirmations }, nowMs: now(),
    });
    this.nonces = memory;
    for (const { level, text } of reports) this.report(level, text);
    return places;
  }

  private async replace(held: HeldLane, { nonce, fees }: { nonce: number; fees: Fees }): Promise<void> {
    for (const open of this.openTransactions.filter(({ transaction }) => transaction.nonce === nonce)) {
      const { transaction } = open;
      const attempt = {
        ...this.signer.sign({ nonce, request: this.payloadOf(transaction), fees }), fees, broadcast: false,
      };
      await held.recordAttempt(transaction, attempt);
      this.put(replaced(open, { ...transaction, attempts: [...transaction.attempts, attempt] }, this.options.now()));
    }
  }

  private async conclude(held: HeldLane, ended: readonly NonceEnding[]): Promise<void> {
    const nonces = new Set(ended.map(({ nonce }) => nonce));
    const over = this.openTransactions.filter(({ transaction }) => nonces.has(transaction.nonce))
      .map(({ transaction }) => transaction);
    await held.markOver(ended.map(({ nonce, ending }) => ({ nonce, ending })), purposesOf(over));
    this.openTransactions = this.openTransactions.filter(({ transaction }) => !nonces.has(transaction.nonce));
    for (const { attempts } of over) for (const { txHash } of attempts) this.announced.delete(txHash);
    for (const { nonce, ending } of ended) {
      const isFiller = over.some((transaction) => transaction.nonce === nonce && transaction.request === undefined);
      if (ending.kind !== 'lost' || isFiller) continue;
      this.report('alert', `nonce ${nonce} was used by a transaction that this lane does not know: is its key used elsewhere?`);
    }
  }

  /** Signs and records transactions at the places. Returns their nonces. */
  private async recordNew(held: HeldLane, places: FreeNonces, view: LaneView): Promise<readonly number[]> {
    if (places.kind === 'none' || (places.kind === 'fill' && places.nonces.length === 0)) return [];
    const most = places.kind === 'fill' ? places.nonces.length : places.count;
    const requests = await this.sendable(held, { most, blockGasLimit: view.blockGasLimit });
    const nonces = places.kind === 'fill' ? places.nonces : requests.map((_, i) => places.first + i);
    if (nonces.length === 0) return [];
    const fees = freshFees(view, this.openPolicy.limits);
    const transactions = nonces.map((nonce, i): LaneTransaction => {
      const request = requests[i];
      return { nonce, request, attempts: [{
        ...this.signer.sign({ nonce, request: this.payloadOf({ request }), fees }), fees, broadcast: false,
      }] };
    });
    await held.record(transactions);
    this.nextNonce = Math.max(this.nextNonce, ...nonces.map((nonce) => nonce + 1));
    const added = transactions.map((transaction) => opened(transaction, this.options.now()));
    this.openTransactions = [...this.openTransactions, ...added]
      .sort((a, b) => a.transaction.nonce - b.transaction.nonce);
    return nonces;
  }

  /** The next requests that can be sent. Requests that can never be sent are refused. */
  private async sendable(
    held: HeldLane, { most, blockGasLimit }: { most: number; blockGasLimit: bigint },
  ): Promise<readonly HeldRequest[]> {
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

  /**
   * Announces the attempts, then broadcasts them. When an announcement fails, its attempt and all later nonces wait.
   */
  private async broadcastAll(
    held: HeldLane, openTransactions: readonly OpenTransaction[], head: number,
  ): Promise<void> {
    const { rpc, now } = this.options;
    const told = await Promise.allSettled(openTransactions.map((open) => this.announce(open)));
    const failure = told.find((result) => result.status === 'rejected');
    const ready = failure === undefined ? openTransactions : openTransactions.slice(0, told.indexOf(failure));
    const accepted: string[] = [];
    try {
      for (const open of ready) {
        // Each broadcast can take as long as the nodes' timeouts; recorded transactions are broadcast at the next
        // start.
        if (this.stopping.signal.aborted) break;
        const attempt = open.transaction.attempts.at(-1);
        if (attempt === undefined) continue;
        const { answer, detail } = await broadcast(rpc, attempt.raw);
        const after = answered(open, answer, { policy: this.openPolicy, now: { block: head, ms: now() } });
        if (after.alert !== undefined) {
          this.refusal = `${after.alert} (${detail})`;
          this.report('alert', this.refusal);
        }
        this.put(after.open);
        if (!attempt.broadcast && (answer === 'accepted' || answer === 'nonce too low')) accepted.push(attempt.txHash);
      }
    } finally {
      if (this.openTransactions.every(({ refusals }) => refusals === 0)) this.refusal = undefined;
      if (accepted.length > 0) await this.markBroadcast(held, accepted);
    }
    if (failure !== undefined) throw failure.reason;
  }

  private async announce({ transaction: { request, attempts } }: OpenTransaction): Promise<void> {
    const attempt = attempts.at(-1);
    if (attempt === undefined || request === undefined || attempt.broadcast || this.announced.has(attempt.txHash)) {
      return;
    }
    await this.options.announce({ txHash: attempt.txHash, raw: attempt.raw }, request);
    this.announced.add(attempt.txHash);
  }

  private async markBroadcast(held: HeldLane, txHashes: readonly string[]): Promise<void> {
    await held.markBroadcast(txHashes);
    this.openTransactions = this.openTransactions.map((open) => {
      const { transaction } = open;
      if (!transaction.attempts.some(({ txHash }) => txHashes.includes(txHash))) return open;
      const attempts = transaction.attempts
        .map((attempt) => txHashes.includes(attempt.txHash) ? { ...attempt, broadcast: true } : attempt);
      return { ...open, transaction: { ...transaction, attempts } };
    });
  }

  private put(open: OpenTransaction): void {
    this.openTransactions = this.openTransactions
      .map((other) => other.transaction.nonce === open.transaction.nonce ? open : other);
  }

  private problem(): string | undefined {
    return this.reactor.problem() ?? this.refusal ?? doubtOf(this.nonces);
  }

  /**
   * Publishes the state after each change and from time to time, so that users see that a process works on the lane.
   */
  private async publish(held: HeldLane): Promise<void> {
    const { policy: { publishMs }, now } = this.options;
    const { blockGasLimit } = this;
    const problem = this.problem();
    const text = `${blockGasLimit} ${problem}`;
    if (text === this.published.text && now() - this.published.atMs < publishMs) return;
    await held.publish({ blockGasLimit, problem });
    this.published = { text, atMs: now() };
  }

  private report(level: ReportLevel, text: string): void {
    this.options.report(level, `${this.who}: ${text}`);
  }
}
