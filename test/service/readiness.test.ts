/** Readiness put together from the parts that the roles of a process report. */
import assert from 'node:assert/strict';
import { mergeReadiness, type IndexerHealth, type SettlementHealth } from '../../service/status/readiness.js';

const engine = { position: 10, logLength: 10, standby: false };
const indexing: IndexerHealth = {
  chainId: 5, finalBlock: 17, lagBlocks: 2, reachable: true, stalled: false, failures: 0, lastError: null, sinceLookS: 2, stopped: null,
  resolutionTrouble: null, contradictedMarkets: 0, anchorsPassedOver: 0,
};
const settling: SettlementHealth = { chainId: 5, waitingFills: 4, sentFills: 3, oldestWaitingS: 59, settlementTrouble: null };

describe('service: readiness', () => {
  it('merges what several roles say of a chain into one entry, and shows each reason once', () => {
    assert.deepEqual(mergeReadiness([
      { reasons: ['late'], engine, chains: [indexing] }, { reasons: ['late'], engine, chains: [settling, { ...settling, chainId: 6 }] },
      { reasons: [], projections: [{ name: 'orders', position: 9, lag: 1 }] }, { reasons: [], readModels: { position: 8, lag: 1 } },
    ]), {
      reasons: ['late'], engine, projections: [{ name: 'orders', position: 9, lag: 1 }], readModels: { position: 8, lag: 1 },
      chains: [{ ...indexing, ...settling }, { ...settling, chainId: 6 }],
    });
    assert.deepEqual(mergeReadiness([]), { reasons: [] });
  });

  it('shows the engine that records before one that stands by, and the furthest before others', () => {
    const standby = { position: 12, logLength: 12, standby: true };
    assert.deepEqual(mergeReadiness([{ reasons: [], engine: standby }, { reasons: [], engine }]).engine, engine);
    const further = { ...engine, position: 11 };
    assert.deepEqual(mergeReadiness([{ reasons: [], engine }, { reasons: [], engine: further }]).engine, further);
  });

  it('shows the clock that is doubted most, the database that is silent, and the disk with the least space', () => {
    const clock = { trusted: true, doubts: [], time: '2026-11-22T07:30:00.000Z', wallAheadMs: 3, databaseAheadMs: 0, historyAheadMs: -9_000_000 };
    const off = { ...clock, wallAheadMs: -4_000 };
    const doubted = { ...clock, trusted: false, doubts: ['it jumped'] };
    const [log, silent] = [{ name: 'log', answers: true, lastError: null }, { name: 'log', answers: false, lastError: 'no answer' }] as const;
    const models = { name: 'read models', answers: true, lastError: null } as const;
    const disk = { directory: 'DATA_DIR/postgres', freeBytes: 7, minFreeBytes: 5 };
    assert.deepEqual(mergeReadiness([
      { reasons: [], clock, databases: [log, models], disk: { ...disk, directory: 'DATA_DIR', freeBytes: 9 } }, { reasons: [], clock: off, databases: [silent], disk },
      { reasons: [], databases: [log] },
    ]), { reasons: [], clock: off, databases: [silent, models], disk });
    assert.deepEqual(mergeReadiness([{ reasons: [], clock: off }, { reasons: [], clock: doubted }]), { reasons: [], clock: doubted });
  });
});
