/** The simulated chain: blocks on a tree of branches, one pool of transactions with fee rules, reorganisations, and who may see what. */
import { createHash } from 'node:crypto';
import { Transaction, getBytes } from 'ethers';
import type { SignerRecovery } from '../../../command/signing/recover.js';
import { START_MS, type VirtualTime } from '../world/time.js';
import { carryOutCall, readCall, type SimCall } from './calls.js';
import {
  CHAIN, copyContracts, emptyContracts, settleBatch, type Batch, type BatchReader, type ContractEvents, type ContractState, type ContractEffect,
  type SimLog, type SimMarket,
} from './contracts.js';
import type { Endowment } from './quick-contracts.js';
import type { MessageTools } from './token-contract.js';

/** A transaction that was signed and sent. */
export interface SimTransaction {
  readonly hash: string;
  readonly from: string;
  readonly nonce: number;
  readonly to: string;
  readonly gasLimit: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly batch: Batch | undefined;
  readonly call: SimCall | undefined;
}

export interface SimReceipt {
  readonly transactionHash: string;
  readonly blockNumber: number;
  readonly succeeded: boolean;
}

export interface PlacedLog extends SimLog {
  readonly logIndex: number;
  readonly txHash: string;
}

export interface SimBlock {
  readonly number: number;
  readonly hash: string;
  readonly timestamp: number;
  readonly baseFeePerGas: bigint;
  readonly transactions: readonly SimTransaction[];
  readonly effects: readonly { readonly effect: ContractEffect; readonly hash: string }[];
  readonly logs: readonly PlacedLog[];
  readonly receipts: ReadonlyMap<string, SimReceipt>;
  readonly state: ContractState;
  /** Transactions of each account so far. */
  readonly counts: ReadonlyMap<string, number>;
}

export type PoolAnswer = 'taken' | 'already known' | 'nonce too low' | 'replacement transaction underpriced' | 'max fee per gas less than block base fee';

/** 32 bytes for a name. */
const id = (name: string): string => `0x${createHash('sha256').update(name).digest('hex')}`;

export const BLOCK_GAS_LIMIT = 30_000_000n;
const FIRST_BASE_FEE = 1_000_000_000n;

export interface ChainParts {
  readonly time: VirtualTime;
  readonly recovery: SignerRecovery;
  readonly batches: BatchReader;
  readonly markets: ReadonlyMap<string, SimMarket>;
  readonly endowment: Endowment;
  readonly messages: MessageTools;
  readonly events: ContractEvents & { mined(block: SimBlock): void; reverted(txHash: string): void };
}

export class SimChain {
  /** The canonical branch: block n is at index n. */
  blocks: SimBlock[];
  /** The branch that the latest reorganisation has left. */
  left: SimBlock[] | undefined;
  /** By `sender nonce`. */
  readonly pool = new Map<string, SimTransaction>();
  private effects: { effect: ContractEffect; hash: string }[] = [];
  /** The next transactions of a sender to revert as a whole, and batches to be stopped. */
  reverts = 0;
  stops = 0;
  /** The base fee is at least this. */
  feeFloor = 0n;
  private readonly read = new Map<string, SimTransaction>();
  private made = 0;

  constructor(private readonly parts: ChainParts) {
    const state = emptyContracts();
    this.blocks = [this.blockAfter(undefined, { state, baseFeePerGas: FIRST_BASE_FEE })];
  }

  get head(): SimBlock { return this.blocks.at(-1) as SimBlock; }

  /** The block at which everything is final. */
  get final(): SimBlock | undefined { return this.blocks[this.head.number - CHAIN.confirmations]; }

  /** Somebody else than the relayer brings a call: it reverts silently when it comes too late. */
  bring(call: SimCall): void {
    this.act((state, timestamp) => {
      const done = carryOutCall(call, { ...this.parts, state, timestamp });
      return 'logs' in done ? done.logs : [];
    });
  }

  act(effect: ContractEffect): void { this.effects.push({ effect, hash: id(`deed ${this.made++}`) }); }

  /** Takes a signed transaction into the pool, as a node does. */
  send(raw: string): { readonly answer: PoolAnswer; readonly transaction: SimTransaction } {
    const transaction = this.decode(raw);
    const { hash, from, nonce, maxFeePerGas, maxPriorityFeePerGas } = transaction;
    const key = `${from} ${nonce}`;
    const rival = this.pool.get(key);
    const answer = ((): PoolAnswer => {
      if (rival?.hash === hash) return 'already known';
      if (nonce < (this.head.counts.get(from) ?? 0)) return 'nonce too low';
      if (maxFeePerGas < this.head.baseFeePerGas) return 'max fee per gas less than block base fee';
      const isRaised = (before: bigint, after: bigint) => after * 10n >= before * 11n;
      if (rival !== undefined && !(isRaised(rival.maxFeePerGas, maxFeePerGas) && isRaised(rival.maxPriorityFeePerGas, maxPriorityFeePerGas))) {
        return 'replacement transaction underpriced';
      }
      return 'taken';
    })();
    if (answer === 'taken') this.pool.set(key, transaction);
    return { answer, transaction };
  }

  decode(raw: string): SimTransaction {
    const known = this.read.get(raw);
    if (known !== undefined) return known;
    const { hash, unsignedHash, signature, nonce, to, data, gasLimit, maxFeePerGas, maxPriorityFeePerGas, chainId } = Transaction.from(raw);
    if (hash === null || signature === null || to === null || chainId !== BigInt(CHAIN.chainId)) throw new Error(`a transaction that no node takes: ${raw.slice(0, 40)}`);
    const signer = this.parts.recovery.recover(getBytes(unsignedHash), getBytes(signature.serialized));
    if (!signer.ok) throw new Error('a transaction without a signer');
    const transaction = {
      hash, from: signer.signer, nonce, to: to.toLowerCase(), gasLimit,
      maxFeePerGas: maxFeePerGas ?? 0n, maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n,
      batch: to.toLowerCase() === CHAIN.contracts.settlement ? this.parts.batches.read(data) : undefined,
      call: readCall(to.toLowerCase(), data),
    };
    this.read.set(raw, transaction);
    return transaction;
  }

  /** Makes the next block of what the pool and the traders have, `most` transactions at most. */
  mine(most = 100): SimBlock {
    const before = this.head;
    const baseFeePerGas = this.nextBaseFee(before);
    const counts = new Map(before.counts);
    const chosen: SimTransaction[] = [];
    const senders = [...new Set([...this.pool.values()].map(({ from }) => from))];
    for (const from of senders) {
      for (;;) {
        const next = this.pool.get(`${from} ${counts.get(from) ?? 0}`);
        if (next === undefined || next.maxFeePerGas < baseFeePerGas || chosen.length >= most) break;
        chosen.push(next);
        counts.set(from, next.nonce + 1);
      }
    }
    const block = this.blockAfter(before, {
      state: copyContracts(before.state), baseFeePerGas, transactions: chosen, effects: this.effects.splice(0),
    });
    this.blocks.push(block);
    this.clean();
    this.parts.events.mined(block);
    return block;
  }

  /** Replaces the latest blocks by one more than they were. Their transactions go back to the pool, or vanish where `drops` says so. */
  reorganise(depth: number, drops: (transaction: SimTransaction) => boolean): number {
    const count = Math.min(depth, CHAIN.confirmations, this.blocks.length - 2);
    if (count <= 0) return 0;
    const gone = this.blocks.slice(-count);
    this.left = this.blocks;
    this.blocks = this.blocks.slice(0, -count);
    for (const { transactions } of gone) {
      for (const transaction of transactions) if (!drops(transaction)) this.pool.set(`${transaction.from} ${transaction.nonce}`, transaction);
    }
    // Before those that wait for a block: a dispute is arbitrated after it was made.
    this.effects.unshift(...gone.flatMap(({ effects }) => effects));
    for (let i = 0; i <= count; i++) this.mine(this.parts.time.below(3));
    return count;
  }

  private clean(): void {
    for (const [key, { from, nonce }] of this.pool) if (nonce < (this.head.counts.get(from) ?? 0)) this.pool.delete(key);
  }

  private nextBaseFee({ baseFeePerGas, transactions }: SimBlock): bigint {
    const usual = transactions.length > 2 ? baseFeePerGas * 9n / 8n : baseFeePerGas * 7n / 8n;
    const least = this.feeFloor > FIRST_BASE_FEE / 10n ? this.feeFloor : FIRST_BASE_FEE / 10n;
    return usual < least ? least : usual;
  }

  private blockAfter(before: SimBlock | undefined, made: {
    state: ContractState; baseFeePerGas: bigint; transactions?: readonly SimTransaction[]; effects?: SimBlock['effects'];
  }): SimBlock {
    const { state, baseFeePerGas, transactions = [], effects = [] } = made;
    const number = (before?.number ?? -1) + 1;
    const hash = id(`block ${number} ${this.made++}`);
    const timestamp = this.timeAfter(before?.timestamp ?? 0);
    const counts = new Map(before?.counts ?? []);
    const receipts = new Map<string, SimReceipt>();
    const logs: PlacedLog[] = [];
    const place = (of: readonly SimLog[], txHash: string): void => { for (const log of of) logs.push({ ...log, txHash, logIndex: logs.length }); };
    for (const { effect, hash: txHash } of effects) place(effect(state, timestamp), txHash);
    for (const transaction of transactions) {
      counts.set(transaction.from, transaction.nonce + 1);
      const done = this.carryOut(transaction, state, timestamp);
      if (done !== undefined) place(done, transaction.hash);
      receipts.set(transaction.hash, { transactionHash: transaction.hash, blockNumber: number, succeeded: done !== undefined });
    }
    return { number, hash, timestamp, baseFeePerGas, transactions, effects, logs, receipts, state, counts };
  }

  /** Undefined when the transaction reverts. */
  private carryOut({ hash, batch, call }: SimTransaction, state: ContractState, timestamp: number): readonly SimLog[] | undefined {
    const { markets, events, time } = this.parts;
    if (batch === undefined && call === undefined) return [];
    if (this.reverts > 0) {
      this.reverts -= 1;
      events.reverted(hash);
      return undefined;
    }
    if (call !== undefined) {
      const told = (marketId: string, outcome: number): void => { events.resolved(marketId, outcome); };
      const done = carryOutCall(call, { ...this.parts, state, timestamp, told });
      return 'logs' in done ? done.logs : undefined;
    }
    if (batch === undefined) return [];
    const stops = this.stops > 0;
    if (stops) this.stops -= 1;
    return settleBatch(batch, { state, markets, timestamp, events, ...stops ? { stopsAt: time.below(batch.fills.length) } : {} });
  }

  /** What a call would do in the next block: why it would revert, if it would. */
  simulate(call: SimCall, { state, timestamp }: SimBlock): string | undefined {
    const done = carryOutCall(call, { ...this.parts, state: copyContracts(state), timestamp: this.timeAfter(timestamp) });
    return 'reverted' in done ? done.reverted : undefined;
  }

  /** The time of a block after one of this time, in Unix seconds. */
  timeAfter(timestamp: number): number {
    return Math.max(timestamp + 1, Math.floor((START_MS + this.parts.time.now()) / 1_000));
  }
}
