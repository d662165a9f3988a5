/** Which books the levels' fold remembers between batches: those of the newest batches, as far as there is room for their levels. */
import assert from 'node:assert/strict';
import type { OrderRested } from '../../engine/records/events.js';
import { startLevels } from '../../projections/models/order-levels.js';
import type { FoldedOutcome } from '../../projections/projection.js';

const RAIN = `0x${'a1'.repeat(32)}`;
const SNOW = `0x${'b2'.repeat(32)}`;

/** A fold with room for so many levels and books, over tables without rows: what it asks them for is noted. */
function levelsWith(room: number) {
  const fold = startLevels(room);
  let position = 0;
  return {
    /** Folds a batch in which one order rests at each of these prices; resolves with the markets whose books were loaded for it. */
    async rest(marketId: string, prices: readonly number[]): Promise<string[]> {
      const loaded: string[] = [];
      const batch = prices.map((price): FoldedOutcome => {
        const rested: OrderRested = { type: 'OrderRested', v: 1, orderHash: `0x${'0'.repeat(64)}`, orderNumber: position, marketId, side: 0, outcome: 0, price, size: '5' };
        return { position: position++, at: 1, events: [rested] };
      });
      await fold(batch, async ({ name }) => {
        if (name === 'load_levels') loaded.push(marketId);
        return [];
      });
      return loaded;
    },
  };
}

describe('projections: remembered books', () => {
  it('are loaded once', async () => {
    const levels = levelsWith(100);
    assert.deepEqual(await levels.rest(RAIN, [1, 2]), [RAIN]);
    assert.deepEqual(await levels.rest(SNOW, [1, 2]), [SNOW]);
    assert.deepEqual(await levels.rest(RAIN, [3, 4]), []);
    assert.deepEqual(await levels.rest(SNOW, [3, 4]), []);
  });

  it('give way to newer ones once they have too many levels together, also where those came after the book', async () => {
    const levels = levelsWith(6);
    await levels.rest(RAIN, [1]);
    await levels.rest(SNOW, [1]);
    assert.deepEqual(await levels.rest(RAIN, [2, 3]), [], 'six together fit');
    assert.deepEqual(await levels.rest(RAIN, [4]), [], 'it is one too many with the other book, which goes');
    assert.deepEqual(await levels.rest(SNOW, [2]), [SNOW]);
  });

  it('that are larger than all the room are remembered alone', async () => {
    const levels = levelsWith(3);
    await levels.rest(SNOW, [1]);
    await levels.rest(RAIN, [1, 2, 3, 4, 5]);
    assert.deepEqual(await levels.rest(RAIN, [6]), []);
    assert.deepEqual(await levels.rest(SNOW, [2]), [SNOW]);
  });
});
