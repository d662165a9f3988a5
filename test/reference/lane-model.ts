/** A chain in memory that takes, drops, mines, forgets and reorganises as it is told, and a sender's lane that knows only what it shows. */
import assert from 'node:assert/strict';
import { freshFees, type Fees } from '../../command/lane/fees.js';
import {
  answered, decide, nextNonce, replaced, room, takeOff, type BroadcastAnswer, type Flight, type LanePolicy, type View,
} from '../../command/lane/lane.js';
import type { OutboxTransaction } from '../../command/lane/outbox.js';

export type Happening
  = | { readonly kind: 'mine'; readonly fullness: number; readonly baseFee: bigint }
    | { readonly kind: 'drop'; readonly nonce: number }
    | { readonly kind: 'reorg'; readonly depth: number }
    | { readonly kind: 'restart' | 'send' }
    | { readonly kind: 'refuse'; readonly answer: BroadcastAnswer };

/** What passes between two happenings. */
const STEP_MS = 400;

/** A transaction's hash is its nonce and the number of the attempt. */
export class LaneModel {
  private nowMs = 0;
  private baseFeePerGas = 5n;
  private refusal: BroadcastAnswer | undefined;
  private blocks: string[][] = [[]];
  private flights: readonly Flight[] = [];
  private recordedNonces = 0;
  private readonly pool = new Map<number, string>();
  private readonly offers = new Map<string, bigint>();
  private readonly over: number[] = [];

  constructor(private readonly policy: LanePolicy) {}

  minedNonces(): number[] {
    return this.blocks.flat().map((txHash) => Number(txHash.split('.')[0]));
  }

  overNonces(): readonly number[] {
    return this.over;
  }

  sentNonces(): number[] {
    return Array.from({ length: this.recordedNonces }, (_, i) => i);
  }

  happen(happening: Happening): void {
    this.nowMs += STEP_MS;
    switch (happening.kind) {
      case 'mine': this.mine(happening.fullness, happening.baseFee); break;
      case 'drop': this.pool.delete(happening.nonce); break;
      case 'reorg': this.reorganise(happening.depth); break;
      case 'restart': this.flights = this.flights.map(({ transaction }) => takeOff(transaction, this.nowMs)); break;
      case 'refuse': this.refusal = happening.answer; break;
      case 'send': this.send();
    }
  }

  /** The sender looks, and does what it decides. */
  step(): void {
    const receipts = new Map(this.blocks.flatMap((block, number) => (
      block.map((txHash) => [txHash, { txHash, block: number, succeeded: true }] as const))));
    const view: View = { head: this.blocks.length - 1, count: this.used(), baseFeePerGas: this.baseFeePerGas, priorityFeePerGas: 2n, receipts };
    const decision = decide(this.flights, view, this.policy, this.nowMs);
    this.flights = decision.flights;
    for (const action of decision.actions) {
      switch (action.kind) {
        case 'replace':
          this.change(action.nonce, ({ transaction }) => this.record(action.nonce, transaction, action.fees));
          this.broadcast(action.nonce);
          break;
        case 'broadcast': this.broadcast(action.nonce); break;
        case 'over':
          assert.equal(action.ending.kind, 'mined');
          this.over.push(action.nonce);
          this.flights = this.flights.filter(({ transaction }) => transaction.nonce !== action.nonce);
          break;
        case 'report':
      }
    }
  }

  private used(): number {
    return this.blocks.flat().length;
  }

  private mine(fullness: number, baseFee: bigint): void {
    this.baseFeePerGas = baseFee;
    const block: string[] = [];
    for (let nonce = this.used(); block.length < fullness; nonce++) {
      const txHash = this.pool.get(nonce);
      if (txHash === undefined || this.offers.get(txHash)! < baseFee) break;
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

  private send(): void {
    const view = { count: this.used() };
    if (room(this.flights, view, this.policy) === 0) return;
    const fees = freshFees({ baseFeePerGas: this.baseFeePerGas, priorityFeePerGas: 2n }, this.policy.limits);
    const nonce = nextNonce(this.recordedNonces, view);
    const request = { to: '0x', data: '0x', gasLimit: 1n, note: null };
    this.flights = [...this.flights, takeOff(this.signed({ nonce, request, attempts: [] }, fees), this.nowMs)];
    this.recordedNonces += 1;
  }

  private record(nonce: number, transaction: OutboxTransaction, fees: Fees): Flight {
    const flight = this.flights.find((other) => other.transaction.nonce === nonce)!;
    return replaced(flight, this.signed(transaction, fees), this.nowMs);
  }

  private signed(transaction: OutboxTransaction, fees: Fees): OutboxTransaction {
    const txHash = `${transaction.nonce}.${transaction.attempts.length}`;
    this.offers.set(txHash, fees.maxFeePerGas);
    return { ...transaction, attempts: [...transaction.attempts, { txHash, raw: '0x', fees, broadcast: false }] };
  }

  private broadcast(nonce: number): void {
    this.change(nonce, (flight) => {
      const answer = this.answerTo(nonce, flight.transaction.attempts.at(-1)!.txHash);
      return answered(flight, answer, { policy: this.policy, nowMs: this.nowMs }).flight;
    });
  }

  /** A node's: it keeps one transaction a nonce, and takes another for an eighth more. */
  private answerTo(nonce: number, txHash: string): BroadcastAnswer {
    const { refusal } = this;
    this.refusal = undefined;
    if (refusal !== undefined) return refusal;
    if (nonce < this.used()) return 'nonce too low';
    const rival = this.pool.get(nonce);
    if (rival !== undefined && rival !== txHash && this.offers.get(rival)! * 9n > this.offers.get(txHash)! * 8n) return 'underpriced';
    this.pool.set(nonce, txHash);
    return 'taken';
  }

  private change(nonce: number, by: (flight: Flight) => Flight): void {
    this.flights = this.flights.map((flight) => flight.transaction.nonce === nonce ? by(flight) : flight);
  }
}
