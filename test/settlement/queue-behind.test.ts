/** The settlement queue of a process that has not come to what others have asked for, or knows less than it did. */
import { deepEqual } from 'node:assert/strict';
import { QUEUE_RULES, SettlementQueue } from '../../command/settlement/settlement-queue.js';
import { unsettledFill as fill } from '../support/settlement-fills.js';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** A queue of batches of four that is shown the unsettled fills below `known`. */
function shown(unsettled: readonly number[]) {
  let known = 0;
  const source = (from: number) => unsettled.filter((each) => each >= from && each < known).map(fill);
  const queue = new SettlementQueue(source, { ...QUEUE_RULES, maxFills: 4 });
  return {
    queue, due: (at: number) => queue.due(at).map((each) => each.fill),
    know(nextFill: number, at: number) {
      known = nextFill;
      queue.observe(nextFill, at);
    },
  };
}

describe('settlement: queue: behind the history', () => {
  it('does not ask again for what was asked for before, and what comes back keeps its turn', () => {
    const scene = shown(range(9, 20));
    scene.know(10, 0);
    const { queue, due } = scene;
    const found = [{ id: 'a', note: { fills: [12, 14], permits: [] }, askedAtMs: 0 }, { id: 'b', note: { fills: [8], permits: [] }, askedAtMs: 0 }];
    queue.restore(found, { nextFill: 10, nowMs: 0 });
    deepEqual([due(250), queue.waiting()], [[9], 1]);
    scene.know(20, 250);
    deepEqual([due(500), queue.waiting()], [[9, 10, 11, 13], 9]);
    queue.over('a', { kind: 'lost' }, 500);
    deepEqual(queue.pass(0, 500).map(({ left }) => left), [[12, 14]]);
    deepEqual([due(500), queue.waiting()], [[9, 10, 11, 12], 11]);
  });

  it('does not pass over fills when it knows less than before', () => {
    const scene = shown(range(50, 60));
    scene.know(60, 0);
    scene.know(50, 1);
    deepEqual(scene.due(300), []);
    scene.know(60, 300);
    deepEqual(scene.due(600), range(50, 54));
  });
});
