/** The positions of a channel's messages are written in blocks, of which no outcome ends two. */
import assert from 'node:assert/strict';
import { startMessages, type ChannelMessage } from '../../projections/models/message-blocks.js';
import type { Query } from '../../projections/projection.js';

const TRADER = `0x${'a1'.repeat(20)}`;

/** Writes batches of a trader's messages; returns the positions at which blocks end. */
async function blockEnds(batches: readonly (readonly ChannelMessage[])[]): Promise<number[]> {
  const ends: number[] = [];
  const query: Query = (statement, values) => {
    // An array of Postgres: after its head of 20 bytes each bigint has its length before it.
    const positions = values[5] as Buffer | undefined;
    if (statement.name.startsWith('write') && positions !== undefined) {
      for (let at = 24; at + 8 <= positions.length; at += 12) ends.push(Number(positions.readBigInt64BE(at)));
    }
    return Promise.resolve([]);
  };
  const write = startMessages('order', 'trader');
  for (const batch of batches) await write(new Map([[TRADER, batch]]), query);
  return ends;
}

const each = (from: number, count: number): ChannelMessage[] => Array.from({ length: count }, (_, i) => ({ place: from + i, at: from + i }));

describe('projections: positions of messages in blocks', () => {
  it('are sixteen a block, whatever the batches', async () => {
    assert.deepEqual(await blockEnds([each(0, 40)]), [15, 31]);
    assert.deepEqual(await blockEnds([each(0, 10), each(10, 10), each(20, 20)]), [15, 31]);
  });

  it('have all that one outcome adds in one block: a cancel of everything closes many orders at once', async () => {
    const cancelled = Array.from({ length: 50 }, (_, place) => ({ place, at: 90 }));
    assert.deepEqual(await blockEnds([cancelled]), [90]);
    assert.deepEqual(await blockEnds([each(60, 10), [...cancelled, ...each(91, 16)]]), [90, 106]);
  });
});
