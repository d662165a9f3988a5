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
  // The engine's own objects: it writes prices and outcome into them, and lets go of them when the market is resolved.
  const open = new Map<string, QuickDecision>();
  function follow(marketId: string): void {
    const quick = view.quickMarket(marketId)?.quick;
    if (quick !== undefined) open.set(marketId, quick);
  }
  for (const { marketId } of view.markets()) follow(marketId);
  return {
    ended(command, events) {
      for (const event of events) if (event.type === 'MarketOpened' && event.quick !== null) follow(event.marketId);
      if (command.kind !== 'ResolveMarket' && command.kind !== 'HalveMarket') return null;
      const decided = open.get(command.marketId);
      if (decided === undefined || view.quickMarket(command.marketId) !== undefined) return null;
      open.delete(command.marketId);
      const { strike, end, outcome } = decided;
      return { strike, end, outcome };
    },
  };
}
