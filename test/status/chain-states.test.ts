/** What a chain's state and alerts say: away, never reached, given up, and fills that wait. */
import assert from 'node:assert/strict';
import type { Report } from '../../engine/report.js';
import type { IndexerStatus } from '../../command/indexer/indexer.js';
import type { SettlementWorkerStatus } from '../../command/settlement/settlement-worker.js';
import { reading } from '../../engine/state-table.js';
import { createIndexerState, indexerState, type IndexerState, type IndexerStateParts } from '../../command/indexer/role-state.js';
import {
  createSettlementState, settlementState, type SettlementState, type SettlementStateParts,
} from '../../command/settlement/role-state.js';
import { createAlerts } from '../../service/status/alerts.js';
import { followed, settled } from '../support/chain-states.js';

type ChainState = IndexerState & SettlementState;

const START_MS = 1_000_000;

const following: IndexerStatus = {
  chainId: 5, latestBlock: 20, finalBlock: 17, nextBlock: 16, lagBlocks: 2, rangeBlocks: 1_000, contradicted: [], stalled: false,
  lookedAtMs: START_MS + 7_000,
  failures: 0, lastError: undefined, stopped: undefined,
};
const settling: SettlementWorkerStatus = {
  transactions: 1, inHand: 3, limited: 0, slow: false, holds: true, waiting: 4, oldestWaitingSinceMs: START_MS - 50_000,
};

describe('service: a chain\'s status', () => {
  function statusOf(changes: Partial<IndexerStateParts & SettlementStateParts>) {
    let nowMs = START_MS;
    const parts = {
      chain: { chainId: 5 }, chainId: 5, now: () => nowMs, indexer: () => following, settlement: () => settling, waiting: () => Promise.resolve(0),
      startAttempts: () => ({ failures: 0 }), ...changes,
    };
    const [indexer, settlement] = [createIndexerState(parts), createSettlementState(parts)];
    return async (afterMs: number): Promise<ChainState> => {
      nowMs = START_MS + afterMs;
      return { ...indexer(), ...await settlement() };
    };
  }

  const wellAt9s: ChainState = { ...followed, ...settled, lagBlocks: 2, sinceLookS: 2, waitingFills: 4, sentFills: 3, oldestWaitingS: 59 };

  it('is that of its indexer and its settlement', async () => {
    assert.deepEqual(await statusOf({})(9_000), wellAt9s);
  });

  it('describes an outage: since when, how many failures, why', async () => {
    const away = statusOf({
      indexer: () => ({ ...following, failures: 3, lastError: 'no node answers', stalled: true }),
      settlement: () => ({ ...settling, problem: 'x'.repeat(600) }),
    });
    assert.deepEqual(await away(67_000), {
      ...wellAt9s, reachable: false, stalled: true, failures: 3, lastError: 'no node answers', sinceLookS: 60, oldestWaitingS: 117,
      settlementProblem: 'x'.repeat(500),
    });
  });

  it('of one whose first blocks are not final yet has no final block', async () => {
    assert.equal((await statusOf({ indexer: () => ({ ...following, latestBlock: 1, finalBlock: -2 }) })(0)).finalBlock, null);
  });

  it('of one that was never reached counts the fills that wait for it', async () => {
    let waiting = 0;
    const never = statusOf({
      indexer: () => undefined, settlement: () => undefined, waiting: () => Promise.resolve(waiting), startAttempts: () => ({ failures: 2, lastError: 'no node answers' }),
    });
    const unreached: ChainState = { ...followed, ...settled, finalBlock: null, reachable: false, failures: 2, lastError: 'no node answers' };
    assert.deepEqual(await never(0), unreached);
    waiting = 2;
    assert.deepEqual(await never(10_000), { ...unreached, sinceLookS: 10, waitingFills: 2, oldestWaitingS: 0 });
    waiting = 10_000;
    assert.deepEqual(await never(40_000), { ...unreached, sinceLookS: 40, waitingFills: 10_000, oldestWaitingS: 30 });
  });

  it('of one that was given up says why', async () => {
    const startAttempts = () => ({ failures: 3, lastError: 'other contracts', stopped: 'other contracts' });
    assert.deepEqual(await statusOf({ startAttempts })(9_000), { ...wellAt9s, reachable: false, failures: 3, lastError: 'other contracts', stopped: 'other contracts' });
    assert.equal((await statusOf({ indexer: () => ({ ...following, stopped: 'it was reset' }) })(0)).stopped, 'it was reset');
  });

  it('tells which quick market the chain has resolved otherwise, and how many', async () => {
    const { resolutionProblem, contradictedMarkets } = await statusOf({ indexer: () => ({ ...following, contradicted: ['one', 'two', 'three'] }) })(0);
    assert.deepEqual([resolutionProblem, contradictedMarkets], ['one. So were 2 more', 3]);
  });

  it('shows how many anchors the settings pass over', async () => {
    assert.equal((await statusOf({ chain: { chainId: 5, passOverAnchors: ['0x1', '0x2'] } })(0)).anchorsPassedOver, 2);
  });

  it('knows no age of fills that another process settles, and that of fills whose requests cannot be held', async () => {
    assert.deepEqual(await statusOf({ settlement: () => ({ ...settling, holds: false }) })(9_000), { ...wellAt9s, oldestWaitingS: null });
    const problem = 'the outbox cannot be reached';
    assert.equal((await statusOf({ settlement: () => ({ ...settling, holds: false, problem }) })(9_000)).oldestWaitingS, 59);
  });
});

describe('service: a chain\'s alerts', () => {
  const well: ChainState = { ...followed, ...settled, waitingFills: 4 };
  const away = (changes: Partial<ChainState> = {}): ChainState => ({ ...well, reachable: false, failures: 9, lastError: 'nobody answers', ...changes });

  /** What is said while the states come, each with the seconds that have passed until then. */
  async function saidOf(states: readonly (readonly [atS: number, state: ChainState])[]): Promise<string[]> {
    const said: string[] = [];
    const report: Report = (level, text) => { said.push(`${level}: ${text}`); };
    let [nowS, state] = states[0]!;
    const look = createAlerts({ report, now: () => nowS * 1_000 });
    const parts = [reading(indexerState, () => [state]), reading(settlementState, () => [state])];
    for ([nowS, state] of states) await look(parts);
    return said;
  }

  const alert = 'alert: Chain 5 cannot be reached: nobody answers. Orders go on, fills wait. Look at the nodes of rpcUrls.';

  it('are raised once for each long outage', async () => {
    assert.deepEqual(await saidOf([[0, well], [5, away()], [124, away()]]), []);
    const outages = [0, 119, 120, 125, 900].map((atS) => [atS, away()] as const);
    assert.deepEqual(await saidOf([...outages, [905, well], [910, away()], [1_031, away()]]), [
      alert, 'info: over after 905 s: Chain 5 cannot be reached.', alert,
    ]);
  });

  it('are not raised where the indexer itself reports a chain without new blocks, or one that is not followed any more', async () => {
    for (const told of [{ stalled: true }, { stopped: 'it was reset' }]) assert.deepEqual(await saidOf([[0, away(told)], [900, away(told)]]), []);
  });

  it('are raised once for fills that wait for more than five minutes, with the reason', async () => {
    const waiting = (oldestWaitingS: number, settlementProblem: string | null = null) => ({ ...well, oldestWaitingS, settlementProblem });
    const todo = 'Look at the chain, then at the lane of the operator key.';
    assert.deepEqual(await saidOf([[0, waiting(300)], [1, waiting(301)], [2, waiting(302)], [3, well], [5, waiting(400, 'no funds')]]), [
      `alert: A fill on chain 5 has waited for 301 s. ${todo}`, 'info: over after 2 s: A fill on chain 5 has waited for 301 s.',
      `alert: A fill on chain 5 has waited for 400 s: no funds. ${todo}`,
    ]);
  });
});
