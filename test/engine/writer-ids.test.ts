/** Ids that a writer makes by numbers. */
import { equal, match, notEqual, ok, throws } from 'node:assert/strict';
import { isChecked, withCheck, writerIds } from '../../engine/run/new-record.js';

describe('the ids of a writer', () => {
  const idOf = writerIds('one');

  it('are UUIDs of version 8 whose check holds, for any number', () => {
    for (const number of [0, 1, 15, 2 ** 14, 2 ** 30 - 1, 2 ** 30, 2 ** 41 + 7, 2 ** 42 - 1]) {
      match(idOf(number), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      ok(isChecked(idOf(number)), String(number));
      equal(withCheck(idOf(number)), idOf(number));
    }
  });

  it('are the same for the same number, and others for others', () => {
    const numbers = [...Array.from({ length: 3_000 }, (_, i) => i), ...Array.from({ length: 42 }, (_, i) => 2 ** i + 3_000)];
    equal(new Set(numbers.map(idOf)).size, numbers.length);
    for (const number of numbers) equal(writerIds('one')(number), idOf(number));
  });

  it('are others for another writer, from the first digits on', () => {
    notEqual(writerIds('two')(0).slice(0, 8), idOf(0).slice(0, 8));
  });

  it('have no place for other numbers', () => {
    for (const number of [-1, 0.5, 2 ** 42, NaN, Infinity]) throws(() => idOf(number), RangeError);
  });
});
