/** What an operator is told of settlement transactions that have left fills unsettled, and of the likely cause. */
import type { Report } from '../../engine/report.js';
import type { Passed } from './settlement-queue.js';

/** Tells of a transaction that is over and has left fills unsettled. `settled`: what another one has settled on the chain. */
export function tellOf(
  { id, note: { fills }, ending, left: unsettled, alone }: Passed, settled: ReadonlySet<number>,
  { report, chainId }: { readonly report: Report; readonly chainId: number },
): void {
  const what = `chain ${chainId}, settlement request ${id}`;
  const left = unsettled.filter((fill) => !settled.has(fill));
  if (left.length < unsettled.length) {
    report('alarm', `${what}: another transaction has settled or failed ${unsettled.length - left.length} of its fills, and the history has not come `
    + 'to it: they are not sent again. Does somebody else have the operator role?');
  }
  if (left.length === 0) return;
  if (ending.kind === 'lost') {
    report('trouble', `${what}: another transaction used its nonce; its ${left.length} unsettled fills are sent again`);
  } else if (alone > 1) {
    report('alarm', `${what} (${ending.txHash}): fill ${left[0]} was alone and did not settle, ${alone} times in a row; it is tried again with growing pauses`);
  } else if (!ending.succeeded) {
    report('alarm', `${what} (${ending.txHash}) reverted as a whole; its ${fills.length} fills are tried again in smaller batches: `
    + 'has the key lost its operator role, or is this the wrong contract?');
  } else if (left.length === fills.length) {
    report('alarm', `${what} (${ending.txHash}) succeeded and left all its ${fills.length} fills untouched, and none is settled; transactions go one at a time until one does not: `
    + 'is the collateral paused, or does it refuse the settlement contract?');
  } else {
    report('trouble', `${what} (${ending.txHash}) did not reach ${left.length} of its ${fills.length} fills; they are sent again in smaller batches`);
  }
}
