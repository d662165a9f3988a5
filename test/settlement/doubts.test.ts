/** What a successful transaction left unsettled: it is not due before the chain has said that it is not settled there either. */
import { deepEqual, equal } from 'node:assert/strict';
import { QUEUE_RULES, SettlementQueue } from '../../command/settlement/settlement-queue.js';
import { bytes32 } from '../support/scenario.js';
import { unsettledFill } from '../support/settlement-fills.js';

const RULES = { ...QUEUE_RULES, gatherMs: 0, pauseMs: 1_000, maxPauseMs: 4_000 };

describe('settlement: queue: doubts', () => {
  let unsettled: Set<number>;
  let queue: SettlementQueue;
  let requests = 0;
  beforeEach(() => {
    unsettled = new Set([0, 1, 2, 3]);
    queue = new SettlementQueue((from) => [...unsettled].filter((each) => each >= from).map(unsettledFill), RULES);
  });

  /** A transaction of these fills is over, and the history has passed its block. */
  function send(fills: readonly number[], at: number, succeeded = true): void {
    const id = `request ${requests++}`;
    queue.take({ id, note: { fills, permits: [] } }, at);
    queue.over(id, { kind: 'mined', txHash: bytes32('tx'), block: 1, succeeded }, at);
    queue.pass(2, at);
  }
  const due = (at: number) => queue.due(at).map(({ fill }) => fill);
  const says = (settled: readonly number[], at: number) => { queue.looked({ asked: queue.doubtful(at), settled: new Set(settled) }, at); };

  it('are what it has left, and nothing that the history has, nor what a reverted one has left', () => {
    unsettled.delete(1);
    send([0, 1, 2], 0);
    send([3], 0, false);
    deepEqual(queue.doubtful(0), [0, 2]);
  });

  it('are due once the chain has not settled them', () => {
    send([0, 1, 2, 3], 0);
    deepEqual([due(9_000), queue.waiting()], [[], 4]);
    says([], 0);
    deepEqual([queue.doubtful(9_000), due(9_000)], [[], [0, 1, 2, 3]]);
  });

  it('wait while the chain has settled them, and are asked about with growing pauses, until the history has them', () => {
    send([0, 1, 2, 3], 0);
    says([0, 1], 0);
    deepEqual([due(9_000), queue.doubtful(999), queue.doubtful(1_000)], [[2, 3], [], [0, 1]]);
    for (const [at, pause] of [[1_000, 2_000], [3_000, 4_000], [7_000, 4_000]] as const) {
      says([0, 1], at);
      deepEqual([queue.doubtful(at + pause - 1), queue.doubtful(at + pause)], [[], [0, 1]]);
    }
    unsettled.delete(0);
    deepEqual(queue.doubtful(11_000), [1]);
    says([], 11_000);
    deepEqual(due(11_000), [1, 2, 3], 'its block was reorganised away');
  });

  it('do not slow others down when somebody\'s transaction settles them: the tokens do not refuse everybody', () => {
    send([0, 1], 0);
    equal(queue.status().slow, true);
    says([0], 0);
    deepEqual([queue.status().slow, due(0)], [false, [1, 2, 3]]);
  });

  it('are none for a process that finds their transaction on its way again', () => {
    send([0, 1], 0);
    queue.restore([{ id: 'found', note: { fills: [0], permits: [] }, askedAtMs: 0 }], { nextFill: 4, nowMs: 0 });
    deepEqual(queue.doubtful(0), [1]);
  });
});
