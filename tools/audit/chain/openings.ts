/** Markets and tokens that the engine knows already, though the chain's event that opened them was not compared yet. */
import type { RecordedFact } from './recorded-facts.js';

export interface Openings {
  recorded(fact: RecordedFact): void;
  compared(facts: readonly RecordedFact[]): void;
  /** Whether the opening of this market or token was compared, if there is one. */
  isCompared(id: string): boolean;
}

export function createOpenings(pending: readonly RecordedFact[]): Openings {
  const waiting = new Set<string>();
  function recorded({ command, rejected }: RecordedFact): void {
    if (command.kind !== 'OpenMarket' || rejected !== null) return;
    for (const id of namesOf(command)) waiting.add(id);
  }
  pending.forEach(recorded);
  return {
    recorded,
    compared(facts) {
      for (const { command } of facts) if (command.kind === 'OpenMarket') for (const id of namesOf(command)) waiting.delete(id);
    },
    isCompared: (id) => !waiting.has(id),
  };
}

function namesOf({ marketId, tokens }: Extract<RecordedFact['command'], { kind: 'OpenMarket' }>): string[] {
  return [marketId, ...tokens === undefined ? [] : [tokens.yes, tokens.no]];
}
