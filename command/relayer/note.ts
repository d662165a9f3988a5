/**
 * What the lane's outbox keeps with a relayed transaction: enough to announce its attempts and to judge its ending
 * after a restart.
 */
import { createHash } from 'node:crypto';
import type { SubmitRelay } from '../../engine/records/commands.js';
import type { RelayAction } from '../../engine/records/fields.js';
import type { Goal } from './goals.js';

export interface RelayNote {
  readonly requestId: string;
  readonly action: RelayAction;
  readonly owner: string;
  readonly goals: readonly Goal[];
  /** The nonces that the transaction uses up: the id of their space, and the number in decimal digits. */
  readonly nonces: readonly (readonly [space: string, nonce: string])[];
  /** The newest block when the request was taken. */
  readonly fromBlock: number;
  /**
   * What the transaction takes of the owner's collateral, in units of 1e-6, in decimal digits; absent where it takes
   * none.
   */
  readonly collateral?: string;
}

/** The note that the outbox returned; undefined when it is not a relay's. */
export function readRelayNote(note: unknown): RelayNote | undefined {
  if (typeof note !== 'object' || note === null) return undefined;
  const { requestId, action, goals, nonces } = note as Partial<RelayNote>;
  return typeof requestId === 'string' && typeof action === 'string' && Array.isArray(goals) && Array.isArray(nonces) ? note as RelayNote : undefined;
}

/**
 * The command for one attempt of a relayed request; `at` in milliseconds since the Unix epoch. Throws for a note that
 * is not a relay's.
 */
export function relaySubmissionOf(
  note: unknown, { chainId, txHash, at }: { chainId: number; txHash: string; at: number },
): SubmitRelay {
  const relay = readRelayNote(note);
  if (relay === undefined) throw new Error(`the request of transaction ${txHash} is not a relay's: its note names no request`);
  return { kind: 'SubmitRelay', v: 1, at, requestId: relay.requestId, chainId, txHash };
}

/**
 * The lane's id of a request, a UUID. The position of its RequestRelay makes it another one when the same request comes
 * again after it has ended without effect.
 */
export function laneIdOf({ requestId, position }: { requestId: string; position: number }): string {
  const hex = createHash('sha256').update(`relay:${requestId}:${position}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}
