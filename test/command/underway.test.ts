/** What is being written at the moment. */
import assert from 'node:assert/strict';
import { createUnderway } from '../../command/orders/command-writer.js';

const work = { key: 'key', trader: 'alice', orderHash: '0x1', request: '0x1', signal: undefined };

describe('work under way', () => {
  it('is found until it has ended, and counts for its trader', async () => {
    const underway = createUnderway();
    const ended = underway.start({ ...work, run: () => Promise.resolve(7) });
    assert.equal(underway.find('key')?.orderHash, '0x1');
    assert.equal(underway.countOf('alice'), 1);
    assert.equal(await ended, 7);
    assert.equal(underway.find('key'), undefined);
    assert.equal(underway.countOf('alice'), 0);
  });

  it('is forgotten when it fails at once, without a promise', async () => {
    const underway = createUnderway();
    await assert.rejects(underway.start({ ...work, run: () => { throw new Error('at once'); } }), /at once/);
    assert.equal(underway.find('key'), undefined);
    assert.equal(underway.countOf('alice'), 0);
  });
});
