/** How a chain, its indexer and its settlement are: one answer for health, metrics and alarms. */
import type { IndexerStatus } from '../../command/indexer/indexer.js';
import type { SettlementStatus } from '../../command/settlement/settlement-worker.js';
import type { ChainState } from '../roles/health.js';

export interface ChainStatusParts {
  readonly chainId: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Undefined until the chain has been reached. */
  readonly indexer: () => IndexerStatus | undefined;
  /** Counts up to 10,000 fills. Undefined until the history has got to the chain's final blocks. */
  readonly settlement: () => SettlementStatus | undefined;
  /** Whether this process settles the chain. */
  readonly sends: () => boolean;
  /** The chain's unsettled fills. */
  readonly unsettled: () => Iterable<unknown>;
  readonly beginning: () => Beginning;
}

/** What came of the tries to begin with a chain. */
export interface Beginning {
  /** In a row, and the last one's reason. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** Why there are no further ones. */
  readonly stopped?: string | undefined;
}

const COUNTED = 10_000;
/** Fills are not counted again before. */
const REMEMBERED_MS = 1_000;
const MAX_TEXT = 500;

/** A function that gives the state of the moment; the fills' part may be a second old. Times count from when it was made. */
export function createChainStatus(parts: ChainStatusParts): () => ChainState {
  const { chainId, now, indexer: indexerStatus, beginning } = parts;
  const startedMs = now();
  const fills = fillsOf(parts);
  return () => {
    const indexer = indexerStatus();
    const begin = beginning();
    const failures = Math.max(indexer?.failures ?? 0, begin.failures);
    const stopped = begin.stopped ?? indexer?.stopped ?? null;
    const sinceMs = now() - (indexer?.lookedAtMs ?? startedMs);
    const { oldestSinceMs, ...counts } = fills();
    return {
      chainId, finalBlock: indexer?.finalBlock ?? null, lagBlocks: indexer?.lagBlocks ?? 0,
      reachable: indexer?.latestBlock !== undefined && failures === 0 && stopped === null, stalled: indexer?.stalled ?? false, failures,
      lastError: textOf(indexer?.lastError ?? begin.lastError), sinceLookS: seconds(sinceMs), ...counts,
      oldestWaitingS: oldestSinceMs === undefined ? null : seconds(now() - oldestSinceMs), stopped,
    };
  };
}

interface Fills extends Pick<ChainState, 'waitingFills' | 'sentFills' | 'settlementTrouble'> {
  readonly oldestSinceMs: number | undefined;
}

function fillsOf({ now, settlement, sends, unsettled }: ChainStatusParts): () => Fills {
  /** Since when there have been unsettled fills and no settlement: until then none is concluded. */
  let unsettledSinceMs: number | undefined;
  let remembered: { readonly atMs: number; readonly fills: Fills } | undefined;

  function read(): Fills {
    const status = settlement();
    if (status !== undefined) {
      // An outbox that cannot be reached is trouble; a process that stands by leaves the fills to another one.
      const standsBy = !sends() && status.trouble === undefined;
      return {
        waitingFills: status.waiting, sentFills: status.inHand, settlementTrouble: textOf(status.trouble?.text),
        oldestSinceMs: standsBy ? undefined : status.oldestWaitingSinceMs,
      };
    }
    let waitingFills = 0;
    const rest = unsettled()[Symbol.iterator]();
    while (waitingFills < COUNTED && rest.next().done !== true) waitingFills++;
    if (waitingFills > 0) unsettledSinceMs ??= now();
    return { waitingFills, sentFills: 0, settlementTrouble: null, oldestSinceMs: unsettledSinceMs };
  }

  return () => {
    const atMs = now();
    if (remembered === undefined || atMs < remembered.atMs || atMs - remembered.atMs >= REMEMBERED_MS) remembered = { atMs, fills: read() };
    return remembered.fills;
  };
}

function textOf(text: string | undefined): string | null {
  return text?.slice(0, MAX_TEXT) ?? null;
}

/** Clocks may be set back. */
function seconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1_000));
}
