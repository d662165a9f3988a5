/** The state of a market as a word: open, expired, proposed, disputed, resolved. */
import type { Market } from '../../client/src/answers.js';
import type { Message } from '../../client/src/client.js';

export type MarketState = NonNullable<Market['state']>;

export const STATES: readonly MarketState[] = ['open', 'expired', 'proposed', 'disputed', 'resolved'];

const LOOKS: Readonly<Record<MarketState, string>> = {
  open: 'badge good', expired: 'badge', proposed: 'badge wait', disputed: 'badge bad', resolved: 'badge',
};

export function StateBadge({ state }: { readonly state: MarketState | undefined }) {
  return state === undefined ? null : <span class={LOOKS[state]}>{state}</span>;
}

/** The state after a message of the channel `markets`; undefined for a message that changes none. */
export function stateAfter(message: Message): MarketState | undefined {
  switch (message.type) {
    case 'opened': return 'open';
    case 'expired': return 'expired';
    case 'proposed': return 'proposed';
    case 'disputed': return 'disputed';
    // An assertion that was not upheld: another one may be proposed.
    case 'rejected': return 'expired';
    case 'resolved': case 'halved': return 'resolved';
    default: return undefined;
  }
}
