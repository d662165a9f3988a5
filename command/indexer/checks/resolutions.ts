/**
 * Compares the resolutions of quick markets on the chain with what the engine decided. They count all the same: the
 * chain has paid by them.
 */
import type { ChainCursor, EngineView } from '../../../engine/run/view.js';
import type { Report } from '../../../engine/report.js';
import type { Fact, FactCommand, Facts } from '../facts.js';
import { otherResolution, type QuickDecision } from './chain-resolution.js';

export interface ResolutionCheck {
  readonly chain: { readonly chainId: number };
  readonly cursor: () => ChainCursor | undefined;
  readonly view: Pick<EngineView, 'quickMarket'>;
  /** Resolves when `view` includes every command that was in the log at the call. */
  readonly caughtUp: () => Promise<void>;
}

type Resolve = Extract<FactCommand, { readonly kind: 'ResolveMarket' }>;

export interface Contradicted {
  /** Compares what a range has, and raises an alert for each market that is new. */
  look(found: Pick<Facts, 'facts' | 'resolutions'>): Promise<void>;
  /** A text for each market since the start. */
  texts(): readonly string[];
}

/** Gathers the contradicted resolutions of a chain, however often its blocks are read. */
export function gatherContradicted(check: ResolutionCheck & { readonly report: Report }): Contradicted {
  const known = new Map<string, string>();
  return {
    async look(found) {
      for (const [marketId, text] of await contradictedResolutions(found, check)) {
        if (!known.has(marketId)) check.report('alert', text);
        known.set(marketId, text);
      }
    },
    texts: () => [...known.values()],
  };
}

/**
 * A text by market id for each resolution that contradicts the engine's own decision, or that came before there was
 * one. Resolutions before the history's cursor were compared when they were recorded: the engine does not keep what it
 * decided of them.
 */
export async function contradictedResolutions(
  { facts, resolutions }: Pick<Facts, 'facts' | 'resolutions'>, { chain: { chainId }, cursor, view, caughtUp }: ResolutionCheck,
): Promise<ReadonlyMap<string, string>> {
  const opened = new Set(facts.flatMap(({ command }) => command.kind === 'OpenMarket' && command.quick !== undefined ? [command.marketId] : []));
  const newDecision = (marketId: string) => opened.has(marketId) ? UNDECIDED : undefined;
  const decisionOf = (marketId: string): QuickDecision | undefined => (
    view.quickMarket(marketId)?.quick ?? newDecision(marketId));
  const resolves = facts.flatMap(({ command }: Fact): Resolve[] => command.kind === 'ResolveMarket' ? [command] : []);
  if (resolves.some(({ marketId }) => isOpen(decisionOf(marketId)))) await caughtUp();
  const { nextBlock, nextLog } = cursor() ?? { nextBlock: 0, nextLog: 0 };
  const found = new Map<string, string>();
  for (const { marketId, winningOutcome: paid, fact: { block, logIndex } } of resolves) {
    const decided = decisionOf(marketId);
    if (decided === undefined || block < nextBlock || (block === nextBlock && logIndex < nextLog)) continue;
    const onChain = resolutions.find((each) => each.marketId === marketId && each.block === block);
    const other = otherResolution({ paid, onChain, decided });
    if (other === undefined) continue;
    const by = onChain === undefined ? '' : ` by transaction ${onChain.txHash}`;
    const instead = `${JSON.stringify(other.onChain)}, where the history has ${JSON.stringify(other.decided)}`;
    found.set(marketId, `chain ${chainId}, block ${block}, event ${logIndex}: the quick market ${marketId} ${other.what}${by}: ${instead}. `
    + 'The chain has paid by it, so it is recorded. Is the key for quick markets used elsewhere, or was the history restored from an old copy? '
    + 'Take the operator role at the quick resolver from the sender before more markets are resolved');
  }
  return found;
}

const UNDECIDED: QuickDecision = { strike: undefined, end: undefined, outcome: undefined };

function isOpen(decision: QuickDecision | undefined): boolean {
  return decision !== undefined && decision.outcome === undefined;
}
