/** A chain in memory that takes, drops, mines and reorganises as it is told, with a node that lies, and a lane that knows only what that shows. */
import assert from 'node:assert/strict';
import { freshFees, type Fees } from '../../command/lane/fees.js';
import {
  answered, decide, replaced, opened, type BroadcastAnswer, type OpenTransaction, type OpenTransactionPolicy, type LaneTransaction, type View,
} from '../../command/lane/open-transactions.js';
import { decideNonces, isDoubtful, NO_MEMORY, type NonceMemory, type NoncePolicy, type FreeNonces } from '../../command/lane/nonces.js';
import type { TransactionEnding, HeldRequest } from '../../command/lane/requests.js';

export type LaneModelEvent
  = | { readonly kind: 'mine'; readonly fullness: number; readonly baseFee: bigint }
    | { readonly kind: 'drop'; readonly nonce: number }
    | { readonly kind: 'reorg'; readonly depth: number }
    | { readonly kind: 'restart' | 'ask' | 'swallow' }
    | { readonly kind: 'refuse'; readonly answer: BroadcastAnswer }
    /** The node counts wrongly at so many looks; at the final block, too, or not. */
    | { readonly kind: 'lie'; readonly by: number; readonly looks: number; readonly final: boolean };

/** What passes between two events. */
const STEP_MS = 400;

const OPEN_POLICY: OpenTransactionPolicy = {
  confirmations: 3, limits: { maxFeePerGas: 1_000n, minPriorityFeePerGas: 1n }, bumpAfterBlocks: 2, bumpAfterMs: 1_000, rebroadcastMs: 100,
  // No lie of these stories lasts as long.
  lostAfterMs: 20_000, backoff: { firstMs: 10, longestMs: 50 },
};
const NONCE_POLICY: NoncePolicy = { confirmations: 3, looks: 3, looksApartMs: 400, gapAfterMs: 2_000, maxInFlight: 4, maxOpen: 6 };

/** A transaction's hash contains its nonce and its number in the order of signing. */
export class LaneModel {
  private nowMs = 0;
  private baseFeePerGas = 5n;
  private refusal: BroadcastAnswer | 'swallowed' | undefined;
  private lie = { by: 0, looks: 0, final: false };
  private blocks: string[][] = [[]];
  private openTransactions: readonly OpenTransaction[] = [];
  private nonces: NonceMemory = NO_MEMORY;
  private nextNonce = 0;
  private asked = 0;
  private signatures = 0;
  /** What the lane has not come to, in order. */
  private waiting: number[] = [];
  private readonly pool = new Map<number, string>();
  private readonly offers = new Map<string, bigint>();
  /** The numbers of the requests, by the hashes of their attempts. */
  private readonly requests = new Map<string, number>();
  private readonly ended: number[] = [];

  /** Every request was mined once and reported once, and nothing is left. */
  checkAll(): void {
    const all = Array.from({ length: this.asked }, (_, number) => number);
    const mined = this.blocks.flat().flatMap((txHash) => this.requests.get(txHash) ?? []);
    assert.deepEqual([...mined].sort((a, b) => a - b), all);
    assert.deepEqual([...this.ended].sort((a, b) => a - b), all);
    assert.deepEqual([this.waiting, this.openTransactions], [[], []]);
  }

  apply(event: LaneModelEvent): void {
    this.nowMs += STEP_MS;
    switch (event.kind) {
      case 'mine': this.mine(event.fullness, event.baseFee); break;
      case 'drop': this.pool.delete(event.nonce); break;
      case 'reorg': this.reorganise(event.depth); break;
      case 'restart':
        this.openTransactions = this.openTransactions.map(({ transaction }) => opened(transaction, this.nowMs));
        this.nonces = NO_MEMORY;
        break;
      case 'refuse': this.refusal = event.answer; break;
      case 'swallow': this.refusal = 'swallowed'; break;
      case 'lie': this.lie = event; break;
      case 'ask': this.waiting.push(this.asked++);
    }
  }

  /** The lane looks, and does what it decides. */
  step(): void {
    const view = this.look();
    const { openTransactions, actions } = decide(this.openTransactions, view, OPEN_POLICY, this.nowMs);
    this.openTransactions = openTransactions;
    for (const action of actions) {
      switch (action.kind) {
        case 'replace':
          this.change(action.nonce, ({ transaction }) => this.replace(action.nonce, transaction, action.fees));
          this.broadcast(action.nonce);
          break;
        case 'broadcast': this.broadcast(action.nonce); break;
        case 'over': this.end(action.nonce, action.ending); break;
        case 'report':
      }
    }
    const records = { nextNonce: this.nextNonce, openTransactions: this.openTransactions };
    const { memory, places } = decideNonces(this.nonces, { view, records, policy: NONCE_POLICY, nowMs: this.nowMs });
    this.nonces = memory;
    this.send(places);
  }

  private look(): View {
    const lies = this.lie.looks > 0;
    this.lie = { ...this.lie, looks: Math.max(0, this.lie.looks - 1) };
    const told = (count: number, isLie: boolean) => Math.max(0, count + (isLie ? this.lie.by : 0));
    const receipts = new Map(this.blocks.flatMap((block, number) => (
      block.map((txHash) => [txHash, { txHash, block: number, succeeded: true }] as const))));
    const head = this.blocks.length - 1;
    const count = told(this.used(), lies);
    const finalCount = told(this.blocks.slice(0, Math.max(0, head - OPEN_POLICY.confirmations) + 1).flat().length, lies && this.lie.final);
    const doubtful = isDoubtful(count, this.nonces, { nextNonce: this.nextNonce, openTransactions: this.openTransactions });
    const proof = doubtful ? { finalCount, nodeCounts: [] } : undefined;
    return { head, count, proof, baseFeePerGas: this.baseFeePerGas, priorityFeePerGas: 2n, receipts };
  }

  private used(): number {
    return this.blocks.flat().length;
  }

  private mine(fullness: number, baseFee: bigint): void {
    this.baseFeePerGas = baseFee;
    const block: string[] = [];
    for (let nonce = this.used(); block.length < fullness; nonce++) {
      const txHash = this.pool.get(nonce);
      if (txHash === undefined || this.offerOf(txHash) < baseFee) break;
      block.push(txHash);
      this.pool.delete(nonce);
    }
    this.blocks.push(block);
  }

  /** As many empty blocks come as vanish; what vanishes is in no pool. */
  private reorganise(blocks: number): void {
    const depth = Math.min(blocks, this.blocks.length - 1);
    this.blocks = [...this.blocks.slice(0, this.blocks.length - depth), ...Array.from({ length: depth }, () => [])];
  }

  private send(places: FreeNonces): void {
    if (places.kind === 'none') return;
    const numbers = this.waiting.splice(0, places.kind === 'fill' ? places.nonces.length : places.count);
    const nonces = places.kind === 'fill' ? places.nonces : numbers.map((_, i) => places.first + i);
    const fees = freshFees({ baseFeePerGas: this.baseFeePerGas, priorityFeePerGas: 2n }, OPEN_POLICY.limits);
    for (const [i, nonce] of nonces.entries()) {
      assert.ok(!this.openTransactions.some(({ transaction }) => transaction.nonce === nonce), `nonce ${nonce} is on its way already`);
      const transaction = this.signed({ nonce, request: requestOf(numbers[i]), attempts: [] }, fees);
      this.openTransactions = [...this.openTransactions, opened(transaction, this.nowMs)].sort((a, b) => a.transaction.nonce - b.transaction.nonce);
      this.nextNonce = Math.max(this.nextNonce, nonce + 1);
    }
  }

  private end(nonce: number, ending: TransactionEnding): void {
    const { transaction } = this.openTransactions.find((open) => open.transaction.nonce === nonce)!;
    this.openTransactions = this.openTransactions.filter((open) => open.transaction.nonce !== nonce);
    const number = numberOf(transaction);
    if (number === undefined) return;
    if (ending.kind === 'mined') this.ended.push(number);
    // It went to a nonce that was used before: its asker asks again.
    else this.waiting.push(number);
  }

  private replace(nonce: number, transaction: LaneTransaction, fees: Fees): OpenTransaction {
    const open = this.openTransactions.find((other) => other.transaction.nonce === nonce)!;
    return replaced(open, this.signed(transaction, fees), this.nowMs);
  }

  private signed(transaction: LaneTransaction, fees: Fees): LaneTransaction {
    const txHash = `${transaction.nonce}.${this.signatures++}`;
    this.offers.set(txHash, fees.maxFeePerGas);
    const number = numberOf(transaction);
    if (number !== undefined) this.requests.set(txHash, number);
    return { ...transaction, attempts: [...transaction.attempts, { txHash, raw: '0x', fees, broadcast: false }] };
  }

  private broadcast(nonce: number): void {
    this.change(nonce, (open) => {
      const answer = this.answerTo(nonce, open.transaction.attempts.at(-1)!.txHash);
      return answered(open, answer, { policy: OPEN_POLICY, now: { block: this.blocks.length - 1, ms: this.nowMs } }).open;
    });
  }

  /** A node's: it keeps one transaction a nonce, and takes another for an eighth more. */
  private answerTo(nonce: number, txHash: string): BroadcastAnswer {
    const { refusal } = this;
    this.refusal = undefined;
    if (refusal === 'swallowed') return 'accepted';
    if (refusal !== undefined) return refusal;
    if (nonce < this.used()) return 'nonce too low';
    const rival = this.pool.get(nonce);
    if (rival !== undefined && rival !== txHash && this.offerOf(rival) * 9n > this.offerOf(txHash) * 8n) return 'underpriced';
    this.pool.set(nonce, txHash);
    return 'accepted';
  }

  private offerOf(txHash: string): bigint {
    return this.offers.get(txHash) ?? 0n;
  }

  private change(nonce: number, by: (open: OpenTransaction) => OpenTransaction): void {
    this.openTransactions = this.openTransactions.map((open) => open.transaction.nonce === nonce ? by(open) : open);
  }
}

function requestOf(number: number | undefined): HeldRequest | undefined {
  if (number === undefined) return undefined;
  return { id: `request ${number}`, purpose: 'settlement', to: '0x', data: '0x', gasLimit: 1n, note: number };
}

function numberOf({ request }: LaneTransaction): number | undefined {
  return request?.note as number | undefined;
}
