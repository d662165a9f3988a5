/** What the history had decided of each quick market when the chain resolved it: with the resolution the engine forgets that. */
import type { QuickDecision } from '../../../command/indexer/checks/told-resolution.js';
import type { Command } from '../../../engine/records/commands.js';
import type { Event } from '../../../engine/records/events.js';
import type { EngineView } from '../../../engine/run/view.js';

export interface QuickDecisions {
  /** The decision that a record which the engine has just taken ends; null for a record that ends none. */
  ended(command: Command, events: readonly Event[]): QuickDecision | null;
}

/** Begins with the unresolved markets of the engine's state, which a checkpoint may have restored. */
export function createQuickDecisions(view: Pick<EngineView, 'markets' | 'quickMarket'>): QuickDecisions {
  const open = new Map<string, QuickDecision>();
  function follow(marketId: string): void {
    const quick = view.quickMarket(marketId)?.quick;
    if (quick !== undefined) open.set(marketId, quick);
  }
  for (const { marketId } of view.markets()) follow(marketId);
  return {
    ended(command, events) {
      // The view gives copies: what an event changes is read again.
      for (const event of events) if (changesDecision(event)) follow(event.marketId);
      if (command.kind !== 'ResolveMarket' && command.kind !== 'HalveMarket') return null;
      const decided = open.get(command.marketId);
      if (decided === undefined || view.quickMarket(command.marketId) !== undefined) return null;
      open.delete(command.marketId);
      const { strike, end, outcome } = decided;
      return { strike, end, outcome };
    },
  };
}

type Deciding = Extract<Event, { readonly type: 'MarketOpened' | 'StrikePriceSet' | 'EndPriceSet' | 'QuickMarketDecided' }>;

function changesDecision(event: Event): event is Deciding {
  switch (event.type) {
    case 'MarketOpened': return event.quick !== null;
    case 'StrikePriceSet': case 'EndPriceSet': case 'QuickMarketDecided': return true;
    default: return false;
  }
}
