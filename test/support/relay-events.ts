/** Events of a relayer, spread over a history of outcomes: requests that are submitted, replaced, ended in every way, and asked again. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Event, RelayRequested } from '../../engine/records/events.js';
import { relayActions } from './random-relays.js';
import { createRandom, traderAddress, txHash } from './random-commands.js';

/** Ids of requests and transactions that nobody else uses. */
const OURS = 0x20000000;

/** The same outcomes, some of them with an event of a relayer added. Its users and markets are those that are paid. */
export function withRelayEvents(outcomes: readonly CommandOutcome[], seed: number): CommandOutcome[] {
  const random = createRandom(seed ^ 0x7e1a);
  const below = (n: number) => random() % n;
  const markets: string[] = [];
  const open = new Map<string, RelayRequested>();
  const eventOf = (): Event => {
    const requestId = txHash(OURS + below(30));
    const relay = open.get(requestId);
    if (relay === undefined) {
      const requested: RelayRequested = {
        type: 'RelayRequested', v: 1, requestId, chainId: 1, action: relayActions[below(relayActions.length)]!, owner: traderAddress(below(4)),
        claims: Array.from({ length: below(4) }, () => (
          { marketId: markets[below(Math.min(3, markets.length))]!, payout: String(below(1_000)), winningOutcome: below(2) === 0 ? 0 : 1 })),
      };
      open.set(requestId, requested);
      return requested;
    }
    const hash = txHash(OURS + below(1_000));
    if (below(2) === 0) return { ...relay, type: 'RelaySubmitted', txHash: hash };
    open.delete(requestId);
    const results = Array.from({ length: Math.max(1, below(4)) }, () => (
      { succeeded: below(2) === 0, reason: below(2) === 0 ? null : 'a "reason" with \\ and \u0000' }));
    return { ...relay, type: 'RelayEnded', txHash: below(3) === 0 ? null : hash, results };
  };
  return outcomes.map(({ at, events }) => {
    for (const event of events) if (event.type === 'MarketOpened') markets.unshift(event.marketId);
    return { at, events: markets.length === 0 || below(3) > 0 ? events : [...events, eventOf()] };
  });
}
