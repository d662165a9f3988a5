/**
 * The note of a settlement request, and the command that records each attempt in the history before it is broadcast.
 */
import type { SubmitSettlement } from '../../engine/records/commands.js';

/** What a settlement transaction carries: its fills in order, and the numbers of the orders whose permits it uses. */
export interface SettlementNote {
  readonly fills: readonly number[];
  readonly permits: readonly number[];
}

/** The note that the outbox returned, checked; undefined when it is not a settlement's. */
export function readNote(note: unknown): SettlementNote | undefined {
  if (typeof note !== 'object' || note === null) return undefined;
  const { fills, permits = [] } = note as Partial<Record<keyof SettlementNote, unknown>>;
  return areNumbers(fills) && fills.length > 0 && areNumbers(permits) ? { fills, permits } : undefined;
}

/**
 * The command for one attempt of a settlement request; `at` in milliseconds since the Unix epoch. Throws for a note
 * that is not a settlement's.
 */
export function submissionOf(
  note: unknown, { chainId, txHash, at }: { chainId: number; txHash: string; at: number },
): SubmitSettlement {
  const settlement = readNote(note);
  if (settlement === undefined) throw new Error(`the request of transaction ${txHash} is not a settlement: its note names no fills`);
  return { kind: 'SubmitSettlement', v: 1, at, chainId, txHash, fills: [...settlement.fills] };
}

function areNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(Number.isSafeInteger);
}
