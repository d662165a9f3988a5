/** Sends transactions of one key: signed and recorded before they are broadcast, replaced only at the same nonce, followed until final. */

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
  /** Takes the next nonce and signs; resolves when the transaction is recorded. Sending, replacing and following go on by themselves. */
  send(request: TransactionRequest): Promise<SentTransaction>;
  /** Stops following; what is recorded goes on at the next start. */
  stop(): Promise<void>;
}
