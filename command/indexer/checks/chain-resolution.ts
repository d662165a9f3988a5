/**
 * What the quick resolver says of a market's resolution, compared with what the engine decided. Pure: for indexer and
 * audit.
 */
import type { MarketOutcome } from '../../../engine/records/fields.js';
import type { QuickMarket } from '../../../engine/run/view.js';
import type { RawChainEvent } from '../../chain/block-range.js';
import type { ChainEventArgs } from '../chain-events.js';

/**
 * By what a quick market is resolved: prices in 1e-8 USD and their times of publication in Unix seconds, all decimal.
 */
export interface ResolutionTerms {
  readonly startPrice: string;
  readonly startPublishTime: string;
  readonly endPrice: string;
  readonly endPublishTime: string;
  readonly winningOutcome: number;
}

/** A QuickMarketResolved event, which comes right after the ConditionResolution that pays. */
export interface ChainResolution {
  readonly marketId: string;
  readonly terms: ResolutionTerms;
  readonly txHash: string;
  readonly block: number;
  readonly logIndex: number;
}

/** What the engine knows of a quick market's result; undefined where it does not know it yet. */
export type QuickDecision = Pick<QuickMarket['quick'], 'strike' | 'end' | 'outcome'>;

export interface OtherResolution {
  /** What is wrong, as the end of a sentence about the market. */
  readonly what: string;
  readonly onChain: unknown;
  readonly decided: unknown;
}

export function chainResolution(args: ChainEventArgs['QuickMarketResolved'], { txHash, block, logIndex }: RawChainEvent): ChainResolution {
  const { marketId, startPrice, startPublishTime, endPrice, endPublishTime, winningOutcome } = args;
  return {
    marketId, txHash, block, logIndex,
    terms: {
      startPrice: String(startPrice), startPublishTime: String(startPublishTime), endPrice: String(endPrice),
      endPublishTime: String(endPublishTime),
      winningOutcome: Number(winningOutcome),
    },
  };
}

/**
 * Undefined when the chain resolved a quick market by what the engine had decided. `paid` is the outcome that the
 * condition pays, `onChain` the resolver's event in the same block. A market that was resolved before the engine had
 * decided it is told, too: only the exchange's own decision makes it resolve a market, so somebody else did, by prices
 * that no history shows. Not for markets that are paid half to half.
 */
export function otherResolution(
  { paid, onChain, decided }: {
    readonly paid: MarketOutcome;
    readonly onChain: ChainResolution | undefined;
    readonly decided: QuickDecision;
  },
): OtherResolution | undefined {
  const { strike, end, outcome } = decided;
  const known = { ...pricedAt('start', strike), ...pricedAt('end', end), winningOutcome: outcome };
  if (onChain === undefined) return { what: 'was resolved without the prices that the quick resolver tells', onChain: { winningOutcome: paid }, decided: known };
  const { terms } = onChain;
  if (strike === undefined || end === undefined || outcome === undefined) {
    return { what: 'was resolved before the history had decided it', onChain: terms, decided: known };
  }
  const isSame = TERMS.every((name) => terms[name] === known[name]) && paid === outcome;
  return isSame ? undefined : { what: 'was resolved by other prices, or to another outcome, than the history decided', onChain: { ...terms, paid }, decided: known };
}

const TERMS = ['startPrice', 'startPublishTime', 'endPrice', 'endPublishTime', 'winningOutcome'] as const;

/** A price as a resolution names it: its time of publication is cut to whole seconds. */
function pricedAt(boundary: 'start' | 'end', observation: QuickDecision['strike']): Partial<ResolutionTerms> {
  if (observation === undefined) return {};
  const [price, time] = [String(BigInt(observation.price)), String(Math.floor(observation.publishedAt / 1_000))];
  return boundary === 'start' ? { startPrice: price, startPublishTime: time } : { endPrice: price, endPublishTime: time };
}
