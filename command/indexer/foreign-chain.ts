/** The error that ends the recording of a chain, and what its text says of transactions. */
import type { Chain, Rpc } from '../chain/chain.js';

/** The chain contradicts the history. The history is never rewritten, so nothing more of this chain can be recorded. */
export class ForeignChain extends Error {
  constructor({ chainId }: Chain, what: string, remedy: string) {
    super(`chain ${chainId} contradicts the history: ${what}. Nothing was rewritten, and nothing more of this chain is recorded. ${remedy}`);
    this.name = 'ForeignChain';
  }
}

/** The sender's address, or a text when the node does not tell: that must not keep the indexer from stopping. */
export async function senderOf(txHash: string, rpc: Rpc): Promise<string> {
  const unknown = 'an unknown sender';
  try {
    const transaction = await rpc.request<{ readonly from?: unknown } | null>('eth_getTransactionByHash', [txHash]);
    return typeof transaction?.from === 'string' ? transaction.from : unknown;
  } catch {
    return unknown;
  }
}

/** The error names this many further transactions; the others are only counted. */
const MAX_NAMED = 20;

/** A sentence that names the other transactions of `places` which do the same; empty when there is none. */
export function othersText(
  txHash: string, places: readonly { readonly txHash: string; readonly block: number }[],
): string {
  const further = [...new Set(places.map((each) => each.txHash))].filter((each) => each !== txHash);
  if (further.length === 0) return '';
  const rest = further.length > MAX_NAMED ? ` and ${further.length - MAX_NAMED} more` : '';
  return ` So do, in the blocks up to ${places.at(-1)?.block}: ${further.slice(0, MAX_NAMED).join(', ')}${rest}.`;
}
