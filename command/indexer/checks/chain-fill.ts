/**
 * What the settlement contract says of a fill, compared with the fill that the engine matched under its number. Pure:
 * for indexer and audit.
 */
import type { FailFill, RecordTransfer } from '../../../engine/records/commands.js';
import type { ChainEventArgs } from '../chain-events.js';

/**
 * A fill's orders by their hashes, its price in ticks, its size in 1e-6 shares and its cost in 1e-6 of the collateral;
 * decimal.
 */
export interface FillTerms {
  readonly buyOrder: string;
  readonly sellOrder: string;
  readonly price: string;
  readonly size: string;
  readonly cost: string;
}

/** All that the contract says: FillFailed names the orders only. */
export type ChainFillTerms = Pick<FillTerms, 'buyOrder' | 'sellOrder'> & Partial<FillTerms>;

export interface ChainFill {
  readonly terms: ChainFillTerms;
  /**
   * The shares that the fill has moved, as a fact of the event that moved them: recorded only where FillSettled is not.
   */
  readonly moved: WithFact<RecordTransfer> | undefined;
}

type WithFact<C extends { readonly fact?: unknown }> = C & { readonly fact: NonNullable<C['fact']> };

export function settledTerms({ buyOrder, sellOrder, price, size, cost }: ChainEventArgs['FillSettled']): ChainFillTerms {
  return { buyOrder, sellOrder, price: String(price), size: String(size), cost: String(cost) };
}

export function failedTerms({ buyOrder, sellOrder }: ChainEventArgs['FillFailed']): ChainFillTerms {
  return { buyOrder, sellOrder };
}

export interface OtherTerms {
  readonly onChain: ChainFillTerms;
  /** Of the same terms. */
  readonly matched: Partial<FillTerms>;
}

/** Undefined when the contract's words are what was matched. */
export function otherTerms(onChain: ChainFillTerms, matched: Partial<FillTerms>): OtherTerms | undefined {
  const names = TERMS.filter((name) => onChain[name] !== undefined);
  if (names.every((name) => onChain[name] === matched[name])) return undefined;
  return { onChain, matched: Object.fromEntries(names.map((name) => [name, matched[name]])) };
}

const TERMS = ['buyOrder', 'sellOrder', 'price', 'size', 'cost'] as const;

/**
 * The commands that record a fill which is not the history's: the shares that moved, and that the history's own fill of
 * this number, if there is one, can never be settled, since the contract has used the number up. That is nobody's
 * fault, and no trader's other orders are pulled for it.
 */
export function passedOverFill(
  { at, fill, txHash, fact }: Pick<WithFact<FailFill>, 'at' | 'fill' | 'txHash' | 'fact'>, { moved }: Pick<ChainFill, 'moved'>,
): readonly (WithFact<RecordTransfer> | WithFact<FailFill>)[] {
  return [...moved === undefined ? [] : [moved], { kind: 'FailFill', v: 2, at, fill, txHash, reason: 'unknown', culprit: 'both', countDefault: true, fact }];
}
