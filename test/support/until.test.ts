/** How tests wait. */
import { equal, rejects } from 'node:assert/strict';
import { until, within } from './until.js';

describe('waiting in tests', () => {
  it('resolves with what is found', async () => {
    let looks = 0;
    equal(await until('the third look', () => ++looks === 3 && 'found'), 'found');
    equal(looks, 3);
    equal(await until('nought', () => 0), 0);
  });

  it('ends at its limit, and names what never came', async () => {
    await rejects(until('the moon', () => undefined, 0.05), { message: 'waited 0.05 s, and it never came: the moon' });
    await rejects(until('an answer', () => new Promise<true>(() => undefined), 0.05), { message: 'waited 0.05 s, and it never came: an answer' });
    await rejects(within('the end', new Promise(() => undefined), 0.05), { message: 'waited 0.05 s, and it never came: the end' });
  });

  it('names what is still missing then', async () => {
    let missing = 'all';
    await rejects(until(() => missing, () => { missing = 'the last one'; return false; }, 0.05), { message: /never came: the last one$/ });
  });

  it('looks no more after its limit', async () => {
    let looks = 0;
    await rejects(until('the moon', () => { looks++; return false; }, 0.05));
    const then = looks;
    await new Promise((resolve) => setTimeout(resolve, 60));
    equal(looks <= then + 1, true);
  });

  it('fails with what the look fails with', async () => {
    await rejects(until('an answer', () => { throw new Error('broken'); }), { message: 'broken' });
  });
});
