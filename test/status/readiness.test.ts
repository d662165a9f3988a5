/** Whether a process is ready, and what it shows: put together from what its parts say. */
import assert from 'node:assert/strict';
import { MAX_READY_LAG, reading, type Reading } from '../../engine/state-table.js';
import { engineState, readReplica } from '../../engine/role-state.js';
import { indexerState, type IndexerState } from '../../command/indexer/role-state.js';
import { projectionState } from '../../projections/role-state.js';
import { readModelsState } from '../../query/role-state.js';
import { settlementState, type SettlementState } from '../../command/settlement/role-state.js';
import { databaseState, diskState } from '../../service/status/process-state.js';
import { readinessAnswer, startingReasons } from '../../service/status/readiness.js';
import { followed, settled } from '../support/chain-states.js';

const engine = { position: 10, logLength: 10, standby: false };
const indexing: IndexerState = { ...followed, lagBlocks: 2, sinceLookS: 2 };
const settling: SettlementState = { ...settled, waitingFills: 4, sentFills: 3, oldestWaitingS: 59 };

async function answer(readings: readonly Reading[], { reasons = [] }: { reasons?: readonly string[] } = {}) {
  const { status, body } = await readinessAnswer({ roles: ['engine'], reasons, readings });
  const { ready, roles, ...shown } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  assert.deepEqual([ready, roles], [status === 200, ['engine']]);
  return shown;
}

describe('service: readiness', () => {
  it('shows what several roles say of a chain as one entry, and a part that roles share once', async () => {
    const shared = reading(engineState, () => [{ ...engine, records: true }]);
    assert.deepEqual(await answer([
      shared, reading(indexerState, () => [indexing]), shared, reading(settlementState, () => [settling, { ...settling, chainId: 6 }]),
      reading(projectionState, () => [{ name: 'orders', position: 9, lag: 1 }]), reading(readModelsState, () => [{ position: 8, lag: 1 }]),
    ]), {
      reasons: [], engine, projections: [{ name: 'orders', position: 9, lag: 1 }], readModels: { position: 8, lag: 1 },
      chains: [{ ...indexing, ...settling }, { ...settling, chainId: 6 }],
    });
    assert.deepEqual(await answer([]), { reasons: [] });
  });

  it('has every reason of the process and its parts, each once', async () => {
    const reason = 'the log does not answer (no answer)';
    const silent = { name: 'log', answers: false, lastError: 'no answer', reasons: [reason] } as const;
    assert.deepEqual((await answer([
      reading(databaseState, () => [silent, silent]), reading(engineState, () => [{ ...engine, logLength: 10 + MAX_READY_LAG + 1, records: false }]),
      reading(projectionState, () => [
        { name: 'orders', position: 4, lag: MAX_READY_LAG + 1 }, { name: 'trades', position: 5, lag: MAX_READY_LAG },
      ]),
      reading(readModelsState, () => [{ position: 3, lag: MAX_READY_LAG + 2 }]),
      reading(indexerState, () => [{ ...indexing, stopped: 'it was reset', resolutionProblem: 'one is NO' }]),
    ], { reasons: ['the service is stopping'] }))['reasons'], [
      'the service is stopping', reason, `the engine is ${MAX_READY_LAG + 1} records behind`,
      `read model orders is ${MAX_READY_LAG + 1} records behind`, `the slowest read model is ${MAX_READY_LAG + 2} records behind`,
      'chain 5 is not followed any more: it was reset', 'one is NO',
    ]);
  });

  it('says what is not known yet', async () => {
    assert.deepEqual(await answer([readReplica(() => undefined, () => 7), reading(readModelsState, () => Promise.resolve(undefined))]), {
      reasons: ['the engine has not caught up with the history yet', 'the read models cannot be read'],
    });
    assert.deepEqual(startingReasons([]), ['the process is starting']);
  });

  it('shows the fullest disk, and says once that there is too little space', async () => {
    const [disk, shortage] = [{ directory: 'DATA_DIR/postgres', freeBytes: 7, minFreeBytes: 8 }, '7 bytes are free'];
    const disks = [{ ...disk, shortage }, { ...disk, directory: 'DATA_DIR', freeBytes: 9, shortage }];
    assert.deepEqual(await answer([reading(diskState, () => disks)]), { reasons: ['orders are refused: 7 bytes are free'], disk });
  });
});
