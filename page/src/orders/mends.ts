/** What an account lacks for an order, and what one click of its owner mends. */
import { Side } from '../../../client/src/vocabulary.js';
import { missingOf, setsOf, type SharesOfMarket, type Shortage } from './payoff.js';

/** `permit`: the exchange may take stablecoin. `approve`: it may move shares. */
export type Mend
  = { readonly kind: 'permit' } | { readonly kind: 'approve' } | { readonly kind: 'funds' }
    | { readonly kind: 'split' | 'merge'; readonly amount: bigint };

export interface Lack {
  readonly side: Side;
  /** The refusal that the order would get. */
  readonly refusal: Shortage & { readonly code: string };
  /** Of the order's market. */
  readonly shares: SharesOfMarket;
  /** Whether the stack gives test money. */
  readonly hasTestMoney: boolean;
}

/** Nothing where no click helps: then the refusal's own words are all that there is to say. */
export function mendsFor({ side, refusal, shares, hasTestMoney }: Lack): readonly Mend[] {
  if (refusal.code === 'insufficient_allowance') return [{ kind: side === Side.Buy ? 'permit' : 'approve' }];
  if (refusal.code !== 'insufficient_balance') return [];
  const missing = missingOf(refusal);
  if (side === Side.Sell) return missing === 0n ? [] : [{ kind: 'split', amount: missing }];
  const sets = setsOf(shares);
  const merged = sets < missing ? sets : missing;
  return [
    ...merged === 0n ? [] : [{ kind: 'merge', amount: merged } as const],
    ...hasTestMoney ? [{ kind: 'funds' } as const] : [],
  ];
}
