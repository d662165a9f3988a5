/** Sends transactions of one key: signed and recorded before they are broadcast, replaced only at the same nonce, followed until final. */
import { createKeccak256 } from '../signing/keccak.js';
import type { Chain, Rpc } from '../chain/chain.js';
import type { Outbox } from './outbox.js';
import type { Report } from '../chain/report.js';
import { SenderRun } from './sender-run.js';
import { checkRequest, createSigner } from './signer.js';

/** What the caller wants done. */
export interface TransactionRequest {
  readonly to: string;
  readonly data: string;
  readonly gasLimit: bigint;
  /** The caller's own JSON about the transaction, kept with it and handed back after a restart. */
  readonly note: unknown;
}

/** One signed form of a transaction; a fee bump makes another one with the same nonce. */
export interface Attempt {
  readonly txHash: string;
  readonly raw: string;
}

/** A transaction on its way: one nonce, one or more attempts, the latest last. */
export interface SentTransaction {
  /** Dense within the sender's lane of a chain. */
  readonly nonce: number;
  readonly request: TransactionRequest;
  readonly attempts: readonly Attempt[];
}

/** How a transaction ended, at final depth. `lost`: its nonce was used by a transaction that this sender does not know. */
export type Ending
  = | { readonly kind: 'mined'; readonly txHash: string; readonly block: number; readonly succeeded: boolean }
    | { readonly kind: 'lost' };

export interface Sender {
  /** The key's address. */
  readonly address: string;
  /** Transactions that are not over, by nonce: those of earlier processes too. */
  open(): readonly SentTransaction[];
  /** A block's gas when the chain was looked at last; undefined before that. */
  blockGasLimit(): bigint | undefined;
  /**
   * Takes the next nonce and signs; resolves when the transaction is recorded. Sending, replacing and following go on by
   * themselves. Waits while the chain or the outbox is away and while too many are in flight; requests keep their order. Throws
   * UnsendableTransaction and SenderStopped: then nothing was recorded, unless the outbox broke off just then and the sender was
   * stopped before it could look; open() of the next one tells.
   */
  send(request: TransactionRequest): Promise<SentTransaction>;
  /** Stops following; what is recorded goes on at the next start. */
  stop(): Promise<void>;
}

export interface SenderOptions {
  readonly chain: Pick<Chain, 'chainId' | 'confirmations'>;
  readonly rpc: Rpc;
  /** 32 bytes, as 0x and 64 hex digits. */
  readonly privateKey: string;
  readonly store: Outbox;
  /** Milliseconds, not going back. */
  readonly now: () => number;
  readonly report: Report;
  /**
   * Awaited after an attempt is recorded and before it is broadcast, at least once for each attempt: also after a restart, for
   * those that are not known to be broadcast. A failure holds the broadcast back; it is called again.
   */
  readonly signed: (attempt: Attempt, transaction: SentTransaction) => Promise<void>;
  /** Awaited when a transaction has ended, at final depth; called again until it has resolved and that is recorded. */
  readonly over: (transaction: SentTransaction, ending: Ending) => Promise<void>;
  /** Gives up standing by while another process holds the lane. */
  readonly signal?: AbortSignal;
  /** Wei for a unit of gas that no transaction exceeds. Default 500 gwei. */
  readonly maxFeePerGas?: bigint;
  /** Default 1 wei. */
  readonly minPriorityFeePerGas?: bigint;
  /** Default 2^24 (EIP-7825); the chain's block gas limit counts too. */
  readonly maxGasLimit?: bigint;
  /** Recorded and not mined. Default 16. */
  readonly maxInFlight?: number;
  /** Not over. Default 1,000. */
  readonly maxOpen?: number;
  /** How often the chain is looked at. Default 1 s. */
  readonly pollMs?: number;
  /** Default 30 s. */
  readonly bumpAfterMs?: number;
  /** Default 15 s. */
  readonly rebroadcastMs?: number;
  /** Default 60 s. */
  readonly lostAfterMs?: number;
  /** Waits after failures in a row. Default 250 ms to 30 s. */
  readonly backoffMs?: readonly number[];
}

/**
 * Restores what is open from the store, then goes on with it. Resolves when this process holds the key's lane; the chain need not
 * answer. Throws OutboxUnavailable, the signal's reason, and an error for a key that is none.
 */
export async function createSender(options: SenderOptions): Promise<Sender> {
  const { privateKey, ...rest } = options;
  const { chain: { chainId }, signal, maxGasLimit = 1n << 24n } = rest;
  const run = new SenderRun(rest, createSigner({ chainId, privateKey, keccak256: await createKeccak256() }));
  await run.hold(signal);
  const done = run.keepRunning();
  return {
    address: run.address,
    open: () => run.open(),
    blockGasLimit: () => run.blockGasLimit,
    async send(request) {
      checkRequest(request, maxGasLimit);
      return await run.enqueue(request);
    },
    async stop() {
      run.stop();
      await done;
    },
  };
}
