/** The settlement queue when little goes on: a fill does not wait for others that may not come. */
import { deepEqual } from 'node:assert/strict';
import { QUEUE_RULES, SettlementQueue } from '../../command/settlement/settlement-queue.js';
import { unsettledFill as fill } from '../support/settlement-fills.js';

describe('settlement: queue: when it is quiet', () => {
  let known = 0;
  const queue = new SettlementQueue(function* (from) {
    for (let number = from; number < known; number++) yield fill(number);
  }, QUEUE_RULES);
  const come = (count: number, at: number): void => { queue.observe(known += count, at); };
  const due = (at: number) => queue.due(at).map((each) => each.fill);
  const take = (at: number): readonly number[] => {
    const fills = due(at);
    queue.take({ id: `request at ${at}`, note: { fills, permits: [] } }, at);
    return fills;
  };

  it('after 250 ms without a batch the next fills go at once, whenever they came', () => {
    come(1, 1_000);
    deepEqual(take(1_000), [0], 'the very first');
    come(2, 1_001);
    deepEqual(due(1_249), []);
    come(1, 1_249);
    deepEqual(take(1_250), [1, 2, 3]);
    deepEqual(due(9_000), []);
    come(4, 9_000);
    deepEqual(due(9_000), [4, 5, 6, 7]);
  });
});
