/** Outcomes that were computed a moment ago are told from memory, as long as somebody may ask for them. */
import { deepEqual } from 'node:assert/strict';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { createCommandOutcomes } from '../../engine/run/replica.js';
import type { Step } from '../../engine/run/stepping.js';

const idAt = (position: number): string => `record ${position}`;

/** Outcomes that nobody has recorded, published in batches of these sizes. */
function published(...sizes: number[]) {
  const outcomes = createCommandOutcomes(createMemoryLog());
  outcomes.begin(0);
  let position = 0;
  for (const size of sizes) {
    for (const end = position + size; position < end; position++) {
      outcomes.publish({ position, outcome: { at: position, events: [] }, text: '', digest: '' } satisfies Step, idAt(position));
    }
    outcomes.batchDone();
  }
  return async (first: number, count: number): Promise<void> => {
    for (let at = first; at < first + count; at++) deepEqual(await outcomes.outcomeOf(at, idAt(at)), { at, events: [] });
  };
}

describe('the outcomes in memory', () => {
  it('are all of the newest batch, however large', async () => {
    await published(400, 5_000)(400, 5_000);
  });

  it('are the newest 256, in whatever batches they came', async () => {
    for (const sizes of [[400, 1], [400, 255], [400, 200, 200], Array.from({ length: 700 }, () => 1)]) {
      const length = sizes.reduce((sum, size) => sum + size);
      await published(...sizes)(length - 256, 256);
    }
  });
});
