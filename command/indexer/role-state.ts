/** What a chain's indexer says of itself. */
import * as field from '../../engine/records/answer-fields.js';
import { Type, type Static } from '../../engine/records/schema-types.js';
import { shortText, wholeSeconds, type StateTable } from '../../engine/state-table.js';
import type { StartAttempts } from '../chain/chain-access.js';
import type { Chain } from '../chain/chain.js';
import type { IndexerStatus } from './indexer.js';

const schema = Type.Object({
  chainId: field.ChainId,
  finalBlock: field.orNull(field.integer('Number of the block.'),
    'The last final block of the chain; null while there is none, as before the chain has answered.'),
  lagBlocks: field.integer('Number of final blocks that the history does not have yet.'),
  reachable: Type.Boolean({
    description: 'Whether the last request to the chain succeeded. While the chain is unreachable, orders are accepted and fills wait.',
  }),
  failures: field.integer('Number of requests to the chain that failed in a row.'),
  lastError: field.orNull(Type.String(),
    'Why the last request failed, or which blocks a node that answers has lost; null when nothing is wrong.'),
  sinceLookS: field.integer('Seconds since a request succeeded, or since the start.'),
  stalled: Type.Boolean({ description: 'The chain has had no new block for too long.' }),
  stopped: field.orNull(Type.String(), 'Why the chain is not recorded any more; null while it is recorded.'),
  resolutionProblem: field.orNull(Type.String(),
    'Which quick market the chain has resolved otherwise than the exchange decided, since the process started; null when none.'),
  contradictedMarkets: field.integer('Number of quick markets that the chain has resolved otherwise than the exchange decided, '
    + 'since the process started.'),
  anchorsPassedOver: field.integer('Number of transactions whose anchors the chain\'s settings pass over.'),
});

/** The texts may name hosts, but never hold a secret. */
export type IndexerState = Static<typeof schema>;

/** A chain that is unreachable or late is not a reason: orders can be taken, and their fills wait. */
export const indexerState: StateTable<IndexerState> = {
  labels: { chain: ({ chainId }) => chainId },
  shows: { part: 'chains', schema },
  rows: [
    {
      name: 'exchange_chain_lag_blocks', help: 'Number of final blocks that the history does not have yet',
      value: ({ lagBlocks }) => lagBlocks,
      alerts: [{
        name: 'ExchangeChainLag', severity: 'warning', when: { above: 100 }, forS: 300,
        means: 'The history is {value} final blocks behind chain {chain}.',
        todo: 'Where exposure is checked, orders may be refused. Look at the indexer and its nodes.',
      }],
    },
    {
      name: 'exchange_chain_reachable', help: '1 when the last request to the chain succeeded',
      value: ({ reachable }) => reachable ? 1 : 0, cause: ({ lastError }) => lastError ?? 'its nodes do not answer',
      alerts: [{
        name: 'ExchangeChainUnreachable', severity: 'critical', when: { is: 0 }, forS: 120,
        means: 'Chain {chain} cannot be reached.', todo: 'Orders go on, fills wait. Look at the nodes of rpcUrls.',
        // The indexer tells both itself.
        selfLogged: ({ stalled, stopped }) => stalled || stopped !== null,
      }],
    },
    {
      name: 'exchange_chain_failed_looks', help: 'Number of requests to the chain that failed in a row',
      value: ({ failures }) => failures,
    },
    {
      name: 'exchange_chain_since_look_seconds', help: 'Time since a request to the chain succeeded, or since the start',
      value: ({ sinceLookS }) => sinceLookS,
    },
    {
      name: 'exchange_chain_stalled', help: '1 when the chain has had no new block for too long',
      value: ({ stalled }) => stalled ? 1 : 0,
      alerts: [{
        name: 'ExchangeChainStalled', severity: 'warning', when: { is: 1 }, forS: 60, selfLogged: () => true,
        means: 'Chain {chain} has no new blocks.', todo: 'Fills wait. Look whether the nodes or the chain stand still.',
      }],
    },
    {
      name: 'exchange_chain_stopped', help: '1 when the chain contradicts history or settings and is not followed any more',
      value: ({ stopped }) => stopped === null ? 0 : 1,
      notReady: {
        when: 'the chain is not followed any more',
        reasons: ({ chainId, stopped }) => stopped === null ? [] : [`chain ${chainId} is not followed any more: ${stopped}`],
      },
      alerts: [{
        name: 'ExchangeChainStopped', severity: 'critical', when: { is: 1 }, forS: 0, selfLogged: () => true,
        means: 'Chain {chain} is not recorded any more.',
        todo: 'It contradicts the history or the settings. The alert in the log of the indexer says what to compare: '
          + 'docs/chain.md, "Facts".',
      }],
    },
    {
      name: 'exchange_chain_resolutions_contradicted',
      help: 'Number of quick markets that the chain has resolved otherwise than the exchange decided',
      value: ({ contradictedMarkets }) => contradictedMarkets,
      notReady: { when: 'above 0', reasons: ({ resolutionProblem }) => resolutionProblem === null ? [] : [resolutionProblem] },
      alerts: [{
        name: 'ExchangeQuickMarketsContradicted', severity: 'critical', when: { above: 0 }, forS: 0, selfLogged: () => true,
        means: 'Chain {chain} has resolved {value} quick markets otherwise than the exchange decided.',
        todo: 'The key for quick markets may have leaked: take its role away. Which markets, and by what: '
          + 'the alert in the log of the indexer, and docs/prices.md, "Quick markets".',
      }],
    },
    {
      name: 'exchange_chain_anchors_passed_over',
      help: 'Number of transactions whose anchors the chain\'s settings pass over',
      value: ({ anchorsPassedOver }) => anchorsPassedOver,
    },
  ],
};

export interface IndexerStateParts {
  readonly chain: Pick<Chain, 'chainId' | 'passOverAnchors'>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Undefined until the chain has been reached. */
  readonly indexer: () => IndexerStatus | undefined;
  readonly startAttempts: () => StartAttempts;
}

/** A function that returns the current state. Times without a success count from the creation of the function. */
export function createIndexerState(
  { chain: { chainId, passOverAnchors = [] }, now, indexer: statusOf, startAttempts }: IndexerStateParts,
): () => IndexerState {
  const startedMs = now();
  return () => {
    const indexer = statusOf();
    const begin = startAttempts();
    const failures = Math.max(indexer?.failures ?? 0, begin.failures);
    const stopped = begin.stopped ?? indexer?.stopped ?? null;
    const { finalBlock = -1, contradicted = [] } = indexer ?? {};
    return {
      chainId, finalBlock: finalBlock < 0 ? null : finalBlock, lagBlocks: indexer?.lagBlocks ?? 0,
      reachable: indexer?.latestBlock !== undefined && failures === 0 && stopped === null,
      stalled: indexer?.stalled ?? false, failures, stopped,
      lastError: shortText(indexer?.lastError ?? begin.lastError),
      sinceLookS: wholeSeconds(now() - (indexer?.lookedAtMs ?? startedMs)),
      resolutionProblem: problemOf(contradicted), contradictedMarkets: contradicted.length,
      anchorsPassedOver: passOverAnchors.length,
    };
  };
}

/** The first text, and how many more there are. */
function problemOf([first, ...others]: readonly string[]): string | null {
  if (first === undefined) return null;
  return others.length === 0 ? first : `${first}. So were ${others.length} more`;
}
