/** What health, metrics and alarms say of a chain: away, never reached, given up, and fills that wait. */
import assert from 'node:assert/strict';
import type { Report } from '../../engine/report.js';
import type { IndexerStatus } from '../../command/indexer/indexer.js';
import type { SettlementStatus } from '../../command/settlement/settlement-worker.js';
import { createAwayAlarm, createWaitingAlarm } from '../../service/chains/chain-alarms.js';
import { createIndexerHealth, type IndexerHealthParts } from '../../service/chains/indexer-health.js';
import { createSettlementHealth, type SettlementHealthParts } from '../../service/chains/settlement-health.js';
import type { IndexerHealth, SettlementHealth } from '../../service/status/readiness.js';

type ChainState = IndexerHealth & SettlementHealth;

const START_MS = 1_000_000;

const following: IndexerStatus = {
  chainId: 5, latestBlock: 20, finalBlock: 17, nextBlock: 16, lagBlocks: 2, rangeBlocks: 1_000, contradicted: [], stalled: false,
  lookedAtMs: START_MS + 7_000,
  failures: 0, lastError: undefined, stopped: undefined,
};
const settling: SettlementStatus = {
  transactions: 1, inHand: 3, troubled: 0, slow: false, holds: true, waiting: 4, oldestWaitingSinceMs: START_MS - 50_000,
};

describe('service: a chain\'s status', () => {
  function statusOf(changes: Partial<IndexerHealthParts & SettlementHealthParts>) {
    let nowMs = START_MS;
    const parts = {
      chain: { chainId: 5 }, chainId: 5, now: () => nowMs, indexer: () => following, settlement: () => settling, waiting: () => 0,
      beginning: () => ({ failures: 0 }), ...changes,
    };
    const [indexer, settlement] = [createIndexerHealth(parts), createSettlementHealth(parts)];
    return (afterMs: number): ChainState => {
      nowMs = START_MS + afterMs;
      return { ...indexer(), ...settlement() };
    };
  }

  const wellAt9s: ChainState = {
    chainId: 5, finalBlock: 17, lagBlocks: 2, reachable: true, stalled: false, failures: 0, lastError: null, sinceLookS: 2, waitingFills: 4,
    sentFills: 3, oldestWaitingS: 59, settlementTrouble: null, stopped: null, resolutionTrouble: null, contradictedMarkets: 0, anchorsPassedOver: 0,
  };

  it('is that of its indexer and its settlement', () => {
    assert.deepEqual(statusOf({})(9_000), wellAt9s);
  });

  it('describes an outage: since when, how many failures, why', () => {
    const away = statusOf({
      indexer: () => ({ ...following, failures: 3, lastError: 'no node answers', stalled: true }),
      settlement: () => ({ ...settling, trouble: 'x'.repeat(600) }),
    });
    assert.deepEqual(away(67_000), {
      ...wellAt9s, reachable: false, stalled: true, failures: 3, lastError: 'no node answers', sinceLookS: 60, oldestWaitingS: 117,
      settlementTrouble: 'x'.repeat(500),
    });
  });

  it('of one whose first blocks are not final yet has no final block', () => {
    assert.equal(statusOf({ indexer: () => ({ ...following, latestBlock: 1, finalBlock: -2 }) })(0).finalBlock, null);
  });

  it('of one that was never reached counts the fills that wait for it', () => {
    let waiting = 0;
    const never = statusOf({
      indexer: () => undefined, settlement: () => undefined, waiting: () => waiting, beginning: () => ({ failures: 2, lastError: 'no node answers' }),
    });
    const unreached: ChainState = {
      chainId: 5, finalBlock: null, lagBlocks: 0, reachable: false, stalled: false, failures: 2, lastError: 'no node answers', sinceLookS: 0, waitingFills: 0,
      sentFills: 0, oldestWaitingS: null, settlementTrouble: null, stopped: null, resolutionTrouble: null, contradictedMarkets: 0,
      anchorsPassedOver: 0,
    };
    assert.deepEqual(never(0), unreached);
    waiting = 2;
    assert.deepEqual(never(10_000), { ...unreached, sinceLookS: 10, waitingFills: 2, oldestWaitingS: 0 });
    waiting = 10_000;
    assert.deepEqual(never(40_000), { ...unreached, sinceLookS: 40, waitingFills: 10_000, oldestWaitingS: 30 });
  });

  it('of one that was given up says why', () => {
    const beginning = () => ({ failures: 3, lastError: 'other contracts', stopped: 'other contracts' });
    assert.deepEqual(statusOf({ beginning })(9_000), { ...wellAt9s, reachable: false, failures: 3, lastError: 'other contracts', stopped: 'other contracts' });
    assert.equal(statusOf({ indexer: () => ({ ...following, stopped: 'it was reset' }) })(0).stopped, 'it was reset');
  });

  it('tells which quick market the chain has resolved otherwise, and how many', () => {
    const { resolutionTrouble, contradictedMarkets } = statusOf({ indexer: () => ({ ...following, contradicted: ['one', 'two', 'three'] }) })(0);
    assert.deepEqual([resolutionTrouble, contradictedMarkets], ['one. So were 2 more', 3]);
  });

  it('shows how many anchors the settings pass over', () => {
    assert.equal(statusOf({ chain: { chainId: 5, passOverAnchors: ['0x1', '0x2'] } })(0).anchorsPassedOver, 2);
  });

  it('knows no age of fills that another process settles, and that of fills whose requests cannot be held', () => {
    assert.deepEqual(statusOf({ settlement: () => ({ ...settling, holds: false }) })(9_000), { ...wellAt9s, oldestWaitingS: null });
    const trouble = 'the outbox cannot be reached';
    assert.equal(statusOf({ settlement: () => ({ ...settling, holds: false, trouble }) })(9_000).oldestWaitingS, 59);
  });
});

describe('service: a chain\'s alarms', () => {
  const well: ChainState = {
    chainId: 5, finalBlock: 17, lagBlocks: 0, reachable: true, stalled: false, failures: 0, lastError: null, sinceLookS: 0, waitingFills: 4,
    sentFills: 0, oldestWaitingS: null, settlementTrouble: null, stopped: null, resolutionTrouble: null, contradictedMarkets: 0, anchorsPassedOver: 0,
  };
  const away = (sinceLookS: number, changes: Partial<ChainState> = {}): ChainState =>
    ({ ...well, reachable: false, failures: 9, lastError: 'nobody answers', sinceLookS, ...changes });

  function saidOf(states: readonly ChainState[], { stallsAreTold = false } = {}): string[] {
    const said: string[] = [];
    const report: Report = (level, text) => { said.push(`${level}: ${text}`); };
    const lookAtNodes = createAwayAlarm({ chainId: 5, awayAfterMs: 60_000, stallsAreTold, report });
    const lookAtFills = createWaitingAlarm({ chainId: 5, report });
    for (const state of states) {
      lookAtNodes(state);
      lookAtFills(state);
    }
    return said;
  }

  const alarm = (s: number) => `alarm: chain 5 could not be reached for ${s} s: nobody answers. Orders are accepted and fills wait. `
    + 'Check its nodes and the RPC URLs in the settings';

  it('are raised once for each long outage', () => {
    assert.deepEqual(saidOf([well, away(59)]), []);
    assert.deepEqual(saidOf([away(59), away(60), away(61), away(900), well, away(5), away(61)]), [alarm(60), 'note: chain 5 can be reached again', alarm(61)]);
  });

  it('are not raised where the indexer itself reports a chain without new blocks', () => {
    assert.deepEqual(saidOf([away(60), away(119)], { stallsAreTold: true }), []);
    assert.deepEqual(saidOf([away(60), away(900, { stalled: true })], { stallsAreTold: true }), []);
    assert.deepEqual(saidOf([away(60), away(120)], { stallsAreTold: true }), [alarm(120)]);
    assert.deepEqual(saidOf([away(60, { finalBlock: null })], { stallsAreTold: true }), [alarm(60)], 'there is no indexer yet');
  });

  it('are raised once for fills that wait for more than five minutes, with the reason', () => {
    const waits = (oldestWaitingS: number | null, settlementTrouble: string | null = null) => ({ ...well, oldestWaitingS, settlementTrouble });
    assert.deepEqual(saidOf([waits(300)]), []);
    assert.deepEqual(saidOf([waits(301), waits(310), waits(3), waits(null), waits(400, 'no funds')]), [
      'alarm: chain 5: 4 fills wait to be sent, the oldest for 301 s: check the chain, its nodes and the operator key',
      'note: chain 5: no fill waits for long any more', 'alarm: chain 5: 4 fills wait to be sent, the oldest for 400 s: no funds',
    ]);
  });

  it('are not raised for a chain that is not followed any more, which was reported', () => {
    assert.deepEqual(saidOf([away(900, { stopped: 'it was reset' })]), []);
  });
});
