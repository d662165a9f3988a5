/** The error that ends the recording of a chain. */
import type { Chain } from '../chain/chain.js';

/** The chain contradicts the history. The history is never rewritten, so nothing more of this chain can be recorded. */
export class ForeignChain extends Error {
  constructor({ chainId }: Chain, what: string, remedy: string) {
    super(`chain ${chainId} contradicts the history: ${what}. Nothing was rewritten, and nothing more of this chain is recorded. ${remedy}`);
    this.name = 'ForeignChain';
  }
}
