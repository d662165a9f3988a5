/** The types that a lane and its users share: requests, their statuses, and the port of a user. */
import type { StandBy } from '../../engine/reactor.js';
import { errorText } from '../../engine/report.js';

/** The transaction that a user asks for. */
export interface TransactionRequest {
  readonly to: string;
  readonly data: string;
  readonly gasLimit: bigint;
  /** The user's own JSON about the transaction: stored with the request and returned with its status. */
  readonly note: unknown;
}

/**
 * What requests are for. One process at a time owns a purpose on a chain; only the owner asks, lists and forgets its
 * requests.
 */
export type Purpose = 'settlement' | 'relay' | 'keeper' | 'quick_market';

/** A request as a user asks for it. */
export interface LaneRequest extends TransactionRequest {
  /** A UUID that the user chose. Asking again with the same id changes nothing. */
  readonly id: string;
  /** Requests with a higher priority go first; with the same priority, in the order of asking. Default 0. */
  readonly priority?: number;
}

/** A request as the lane reads it. */
export interface HeldRequest extends LaneRequest {
  readonly purpose: Purpose;
}

/** One signed form of a transaction. A replacement with higher fees is another attempt. */
export interface Attempt {
  readonly txHash: string;
  readonly raw: string;
}

/** How a transaction ended, at final depth. `lost`: its nonce was used by a transaction that the lane does not know. */
export type TransactionEnding
  = | { readonly kind: 'mined'; readonly txHash: string; readonly block: number; readonly succeeded: boolean }
    | { readonly kind: 'lost' };

export type RequestStatus
  /** The lane has not taken it yet. */
  = | { readonly kind: 'waiting' }
    /** It is signed and recorded; the lane follows it until it has ended. */
    | { readonly kind: 'sent' }
    /** It can never be sent, and was not. */
    | { readonly kind: 'refused'; readonly reason: string }
    | { readonly kind: 'ended'; readonly ending: TransactionEnding };

/** A request as its user sees it. */
export interface TrackedRequest {
  readonly id: string;
  readonly note: unknown;
  readonly status: RequestStatus;
  /** The hashes of its attempts, the latest last. */
  readonly txHashes: readonly string[];
  /** When it was asked, in milliseconds since the Unix epoch, by the database's clock. */
  readonly askedAtMs: number;
}

/** The state that a lane publishes. */
export interface PublishedLaneState {
  /** The key's address, in lower-case hex. */
  readonly address: string;
  /** The block gas limit at the last look at the chain; undefined before the first. */
  readonly blockGasLimit: bigint | undefined;
  /**
   * What stops the lane at present, and since when, in milliseconds since the Unix epoch; undefined when nothing does.
   */
  readonly problem: { readonly text: string; readonly sinceMs: number } | undefined;
  /**
   * When a process that works on the lane last published this state, in milliseconds since the Unix epoch, by the
   * database's clock.
   */
  readonly seenAtMs: number;
}

/** Whose requests a user asks for. */
export interface LaneUserKey {
  readonly chainId: number;
  /** The name of the lane's key. */
  readonly key: string;
  readonly purpose: Purpose;
}

export type OpenLaneUser = (whose: LaneUserKey) => LaneUser;

/** Requests of one purpose on one chain, which one process owns at a time. */
export interface LaneUser {
  /**
   * Resolves when this process alone owns the purpose on the chain; stands by while another one does. Throws
   * OutboxUnavailable when Postgres cannot be reached, and the signal's reason.
   */
  hold(standBy: StandBy): Promise<HeldLaneUser>;
}

/**
 * The owner's side of a lane. The ownership belongs to the database session: once a call has thrown OutboxUnavailable,
 * all later calls do. To find out whether that call took effect, hold again and list the requests.
 */
export interface HeldLaneUser {
  /** Resolves when the requests are durable. Requests with a known id change nothing. */
  ask(requests: readonly LaneRequest[]): Promise<void>;
  /**
   * The requests that the lane changed since the last call, oldest first, without forgotten ones; at the first call all
   * requests.
   */
  changes(): Promise<readonly TrackedRequest[]>;
  /** All requests that are not forgotten, in the order of asking. */
  list(): Promise<readonly TrackedRequest[]>;
  /**
   * Forgets requests that were refused or have ended: they are not listed any more, and their data is deleted. Others
   * do not change.
   */
  forget(ids: readonly string[]): Promise<void>;
  /** The lane's last published state; undefined when no lane has ever worked on the key. */
  state(): Promise<PublishedLaneState | undefined>;
  /**
   * Resolves when the lane changed something since the last changes(), after `timeoutMs`, or when the signal aborts. A
   * wake-up may be lost.
   */
  wait(signal: AbortSignal, timeoutMs: number): Promise<'rung' | 'timeout' | 'aborted'>;
  /** Gives up the ownership. */
  close(): Promise<void>;
}

/** The request can never be sent. */
export class UnsendableTransaction extends Error {
  constructor(detail: string) {
    super(`this transaction would block all later ones: ${detail}`);
    this.name = 'UnsendableTransaction';
  }
}

/**
 * Postgres cannot be reached, refused a statement or closed the connection. Hold again to find out whether the last
 * call took effect.
 */
export class OutboxUnavailable extends Error {
  constructor(cause: unknown) {
    super(`the outbox is not available: ${errorText(cause)}`, { cause });
    this.name = 'OutboxUnavailable';
  }
}
