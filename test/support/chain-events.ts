/** Facts of a chain, spread over a history of outcomes: every kind of event, often about the same few users, sometimes twice or absurd. */
import type { CommandOutcome as Recorded } from '../../engine/records/codec.js';
import type { Event } from '../../engine/records/events.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { createRandom, traderAddress, txHash } from './random-commands.js';

const NOBODY = `0x${'0'.repeat(40)}`;
/** Ids of transactions and assertions that the commands' own never are. */
const OURS = 0x10000000;

/** The same outcomes, some of them with events of a chain added; positions stay as they are. */
export function withChainEvents(outcomes: readonly Recorded[], seed: number): Recorded[] {
  const random = createRandom(seed);
  const below = (n: number) => random() % n;
  const markets: string[] = [];
  const fills: number[] = [];
  let issued = OURS;

  const facts: (() => Event[])[] = [
    () => [{
      type: 'SettlementSubmitted', v: 1, chainId: 1, txHash: txHash(below(4) === 0 ? issued : ++issued),
      fills: [...new Set(Array.from({ length: 1 + below(4) }, () => fills[below(fills.length)] ?? 0))],
    }],
    () => {
      const transfer = { type: 'SharesTransferred', v: 1, marketId: market(), from: user(), to: user(), txHash: txHash(++issued) } as const;
      const amount = below(9) === 0 ? String(2n ** 256n - BigInt(1 + below(9))) : String(below(60));
      const outcomes: readonly MarketOutcome[] = below(2) === 0 ? [0, 1] : [below(2) as MarketOutcome];
      return outcomes.map((outcome) => ({ ...transfer, outcome, amount }));
    },
    () => [{ type: 'PositionSynced', v: 1, marketId: market(), user: traderAddress(below(4)), yesShares: String(below(40)), noShares: String(below(40)) }],
    () => [{ type: 'PositionRedeemed', v: 1, marketId: market(), user: traderAddress(below(4)), payout: String(below(1_000)), txHash: txHash(++issued) }],
    () => [{
      type: 'ResolutionProposed', v: 1, marketId: market(), assertionId: txHash(OURS + below(20)), proposer: traderAddress(below(4)),
      outcome: below(2) as MarketOutcome, bond: String(2n ** 256n - 1n), assertionTime: below(2_000_000_000), expirationTime: below(2_000_000_000),
    }],
    () => [{ type: 'ResolutionDisputed', v: 1, marketId: market(), assertionId: txHash(OURS + below(20)), disputer: traderAddress(below(4)) }],
    () => [{ type: 'ResolutionRejected', v: 1, marketId: market(), assertionId: txHash(OURS + below(20)) }],
    () => [{ type: 'MarketResolved', v: 1, marketId: market(), winningOutcome: below(2) as MarketOutcome }],
    () => [{ type: 'MarketTokenized', v: 1, marketId: market(), yesToken: txHash(1), noToken: txHash(2) }],
    () => [{ type: 'NonceFloorRaised', v: 1, chainId: 1, trader: traderAddress(below(4)), belowNonce: String(below(9)) }],
    () => [{ type: 'ChainAdvanced', v: 1, chainId: 1, block: below(1_000), blockHash: txHash(3) }],
    () => [{ type: 'AnchorPassedOver', v: 1, chainId: 1, txHash: txHash(++issued), position: String(below(1_000)), digest: txHash(4) }],
  ];
  const market = () => markets[below(Math.min(3, markets.length))]!;
  const user = () => below(4) === 0 ? NOBODY : traderAddress(below(4));

  return outcomes.map(({ at, events }) => {
    for (const event of events) {
      if (event.type === 'MarketOpened') markets.unshift(event.marketId);
      else if (event.type === 'FillMatched') fills.push(event.fill);
    }
    const paid = events.some(({ type }) => type === 'PositionRedeemed');
    const added = markets.length === 0 || paid || below(3) > 0 ? [] : facts[below(facts.length)]!();
    return { at, events: [...events, ...added] };
  });
}
