/** What is asked of a lane and what it tells: the vocabulary that a lane and its users share, and the port of a user. */

/** What the asker wants done. */
export interface TransactionRequest {
  readonly to: string;
  readonly data: string;
  readonly gasLimit: bigint;
  /** The asker's own JSON about the transaction: kept with the request and handed back with its status. */
  readonly note: unknown;
}

/** Who asks: each purpose has one owner, who alone asks, lists and forgets its requests on a chain. */
export type Purpose = 'settlement' | 'relay' | 'quick_market';

/** A request as it is asked. */
export interface LaneRequest extends TransactionRequest {
  /** A UUID that the asker chose: the same id again is the same request and changes nothing. */
  readonly id: string;
  /** Higher ones go first, then the order of asking. Default 0. */
  readonly priority?: number;
}

/** A request as the lane has it. */
export interface HeldRequest extends LaneRequest {
  readonly purpose: Purpose;
}

/** One signed form of a transaction; raised fees make another one. */
export interface Attempt {
  readonly txHash: string;
  readonly raw: string;
}

/** How a transaction ended, at final depth. `lost`: its nonce was used by a transaction that the lane does not know. */
export type Ending
  = | { readonly kind: 'mined'; readonly txHash: string; readonly block: number; readonly succeeded: boolean }
    | { readonly kind: 'lost' };

export type RequestStatus
  /** The lane has not come to it. */
  = | { readonly kind: 'waiting' }
    /** It is signed and recorded, and followed until it has ended. */
    | { readonly kind: 'sent' }
    /** It can never become a transaction; nothing was sent. */
    | { readonly kind: 'refused'; readonly reason: string }
    | { readonly kind: 'ended'; readonly ending: Ending };

/** A request as its asker sees it. */
export interface TrackedRequest {
  readonly id: string;
  readonly note: unknown;
  readonly status: RequestStatus;
  /** The hashes of its attempts, the latest last. */
  readonly txHashes: readonly string[];
  /** When it was asked, in milliseconds since the Unix epoch, by the database's clock. */
  readonly askedAtMs: number;
}

/** What a lane publishes of itself. */
export interface LaneState {
  /** The key's address, in lower-case hex. */
  readonly address: string;
  /** A block's gas when the chain was looked at last; undefined before that. */
  readonly blockGasLimit: bigint | undefined;
  /** What keeps the lane from going on, and since when, in milliseconds since the Unix epoch; undefined when nothing does. */
  readonly trouble: { readonly text: string; readonly sinceMs: number } | undefined;
  /** When a process last said that it works on the lane, in milliseconds since the Unix epoch, by the database's clock. */
  readonly seenAtMs: number;
}

/** Requests of one purpose on one chain, which one process owns at a time. */
export interface LaneUser {
  /**
   * Resolves when this process alone owns the purpose on the chain; stands by while another one does. Throws OutboxUnavailable when
   * Postgres cannot be reached, and the signal's reason.
   */
  hold(signal: AbortSignal): Promise<HeldLaneUser>;
}

/**
 * The owner's side of a lane. The ownership belongs to the session that writes: once a call has thrown OutboxUnavailable all later ones
 * do, and whether that call was carried out is found by holding and listing anew.
 */
export interface HeldLaneUser {
  /** Resolves when the requests are durable. Those whose ids are known already change nothing. */
  ask(requests: readonly LaneRequest[]): Promise<void>;
  /** The requests that the lane has changed since the last call and that are not forgotten, oldest first; at the first call all of them. */
  changes(): Promise<readonly TrackedRequest[]>;
  /** All requests that are not forgotten, in the order of asking. */
  list(): Promise<readonly TrackedRequest[]>;
  /** Gives up requests that were refused or have ended: they are not listed any more, and their bytes go. Others stay as they are. */
  forget(ids: readonly string[]): Promise<void>;
  /** Undefined when no lane has ever worked on the key. */
  state(): Promise<LaneState | undefined>;
  /** Resolves when the lane has told something since the last changes(), after `timeoutMs`, or when the signal aborts. A wake-up may be lost. */
  wait(signal: AbortSignal, timeoutMs: number): Promise<'rung' | 'timeout' | 'aborted'>;
  /** Lets another process own it. */
  close(): Promise<void>;
}

/** The request can never become a transaction. */
export class UnsendableTransaction extends Error {
  constructor(detail: string) {
    super(`this transaction would block all that come after it: ${detail}`);
    this.name = 'UnsendableTransaction';
  }
}

/** Postgres cannot be reached, refused, or has broken off: whether the last call was carried out is found by holding anew. */
export class OutboxUnavailable extends Error {
  constructor(cause: unknown) {
    super(`the outbox is not available: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'OutboxUnavailable';
  }
}
