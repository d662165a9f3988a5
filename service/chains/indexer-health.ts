/** The health of a chain's indexer: for readiness, metrics and alarms. */
import type { Chain } from '../../command/chain/chain.js';
import type { IndexerStatus } from '../../command/indexer/indexer.js';
import type { IndexerHealth } from '../status/readiness.js';
import type { Beginning } from './chain-access.js';

export interface IndexerHealthParts {
  readonly chain: Pick<Chain, 'chainId' | 'passOverAnchors'>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Undefined until the chain has been reached. */
  readonly indexer: () => IndexerStatus | undefined;
  readonly beginning: () => Beginning;
}

const MAX_TEXT = 500;

/** A function that returns the current health. Times without a success count from the creation of the function. */
export function createIndexerHealth({ chain, now, indexer: indexerStatus, beginning }: IndexerHealthParts): () => IndexerHealth {
  const { chainId, passOverAnchors = [] } = chain;
  const startedMs = now();
  return () => {
    const indexer = indexerStatus();
    const begin = beginning();
    const failures = Math.max(indexer?.failures ?? 0, begin.failures);
    const stopped = begin.stopped ?? indexer?.stopped ?? null;
    const { finalBlock = -1, contradicted = [] } = indexer ?? {};
    const sinceMs = now() - (indexer?.lookedAtMs ?? startedMs);
    return {
      chainId, finalBlock: finalBlock < 0 ? null : finalBlock, lagBlocks: indexer?.lagBlocks ?? 0,
      reachable: indexer?.latestBlock !== undefined && failures === 0 && stopped === null, stalled: indexer?.stalled ?? false, failures,
      lastError: textOf(indexer?.lastError ?? begin.lastError), sinceLookS: secondsOf(sinceMs), stopped,
      resolutionTrouble: troubleOf(contradicted), contradictedMarkets: contradicted.length, anchorsPassedOver: passOverAnchors.length,
    };
  };
}

/** The first text, and how many more there are. */
function troubleOf([first, ...others]: readonly string[]): string | null {
  if (first === undefined) return null;
  return others.length === 0 ? first : `${first}. So were ${others.length} more`;
}

/** A text for an answer: at most 500 characters, null for undefined. */
export function textOf(text: string | undefined): string | null {
  return text?.slice(0, MAX_TEXT) ?? null;
}

/** Milliseconds as whole seconds, at least 0, since clocks may be set back. */
export function secondsOf(ms: number): number {
  return Math.max(0, Math.round(ms / 1_000));
}
