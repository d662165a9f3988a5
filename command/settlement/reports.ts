/** What an operator reads about settlement requests that have left fills unsettled, and about the likely cause. */
import type { Report } from '../../engine/report.js';
import type { TransactionEnding } from '../lane/requests.js';

/** A transaction that is over. */
export interface OverTransaction {
  /** The request's id. */
  readonly id: string;
  readonly fills: readonly number[];
  readonly ending: TransactionEnding;
  /** Its fills that the history does not have as settled or failed. */
  readonly unsettled: readonly number[];
  /** Those of them that another transaction has settled or failed on the chain. */
  readonly settled: ReadonlySet<number>;
  /** How often in a row the fill has come back as the only one of its transaction; 0 for a larger batch. */
  readonly alone: number;
}

/** Reports a transaction that is over and has left fills unsettled. */
export function reportLeft(
  { id, fills, ending, unsettled, settled, alone }: OverTransaction,
  { report, chainId }: { readonly report: Report; readonly chainId: number },
): void {
  const what = `chain ${chainId}, settlement request ${id}`;
  const left = unsettled.filter((fill) => !settled.has(fill));
  if (left.length < unsettled.length) {
    report('alert', `${what}: another transaction has settled or failed ${unsettled.length - left.length} of its fills, and the history has not come `
    + 'to it: they are not sent again. Does somebody else have the operator role?');
  }
  if (left.length === 0) return;
  if (ending.kind === 'lost') {
    report('warn', `${what}: another transaction used its nonce; its ${left.length} unsettled fills are sent again`);
  } else if (alone > 1) {
    report('alert', `${what} (${ending.txHash}): fill ${left[0]} was alone and did not settle, ${alone} times in a row; it is tried again with growing pauses`);
  } else if (!ending.succeeded) {
    report('alert', `${what} (${ending.txHash}) reverted as a whole; its ${fills.length} fills are tried again in smaller batches: `
    + 'has the key lost its operator role, or is this the wrong contract?');
  } else if (left.length === fills.length) {
    report('alert', `${what} (${ending.txHash}) succeeded and left all its ${fills.length} fills untouched, and none is settled; transactions go one at a time until one does not: `
    + 'is the collateral paused, or does it refuse the settlement contract?');
  } else {
    report('warn', `${what} (${ending.txHash}) did not reach ${left.length} of its ${fills.length} fills; they are sent again in smaller batches`);
  }
}

/**
 * Reports a request that the lane has refused. `alone`: how often in a row its only fill has come back; 0 for a larger
 * batch.
 */
export function reportRefused(
  { fills, reason, alone }: { readonly fills: readonly number[]; readonly reason: string; readonly alone: number },
  { report, chainId }: { readonly report: Report; readonly chainId: number },
): void {
  if (alone === 0) report('warn', `chain ${chainId}: a batch of ${fills.length} fills cannot be sent; its fills go in smaller batches: ${reason}`);
  if (alone === 1) report('alert', `chain ${chainId}: fill ${fills[0]} cannot be sent even alone; it is tried again with growing pauses: ${reason}`);
}

/** Reports fills for which no transaction can be made; none when there are none. */
export function reportMissing(
  { fills, message }: { readonly fills: readonly number[]; readonly message: string },
  { report, chainId }: { readonly report: Report; readonly chainId: number },
): void {
  if (fills.length === 0) return;
  report('alert', `chain ${chainId}: fills ${fills.join(', ')} cannot be settled and are tried again with growing pauses; `
  + `other fills go on: ${message}`);
}
