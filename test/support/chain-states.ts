/** What the indexer and the settlement of a chain say of themselves while all is well: a test changes what it is about. */
import type { IndexerState } from '../../command/indexer/role-state.js';
import type { SettlementState } from '../../command/settlement/role-state.js';

export const followed: IndexerState = {
  chainId: 5, finalBlock: 17, lagBlocks: 0, reachable: true, stalled: false, failures: 0, lastError: null, sinceLookS: 0,
  stopped: null, resolutionProblem: null, contradictedMarkets: 0, anchorsPassedOver: 0,
};

export const settled: SettlementState = {
  chainId: 5, waitingFills: 0, sentFills: 0, oldestWaitingS: null, settlementProblem: null,
};
