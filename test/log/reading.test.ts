/** A follower's next page is asked for while it works on the one before, and is the page that it would have read itself. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { readingAhead } from '../../engine/log/reading.js';
import type { LogRecord } from '../../engine/log/log.js';

const recordAt = (position: number): LogRecord => ({ position, id: `id ${position}`, data: new Uint8Array() });

/** Reads pages of two records, the one before the first of them included, of a stream of so many records. */
function pagesOf(length: number) {
  const asked: string[] = [];
  let failure: Error | undefined;
  const read = readingAhead((from, previous) => {
    asked.push(`${from} after ${previous ?? 'nothing'}`);
    if (failure !== undefined) return Promise.reject(failure);
    const first = Math.max(0, from - 1);
    return Promise.resolve(Array.from({ length: Math.max(0, Math.min(length, from + 2) - first) }, (_, i) => recordAt(first + i)));
  }, () => length);
  return { read, asked, fail: (error: Error | undefined) => { failure = error; } };
}

describe('reading ahead', () => {
  it('has asked for the next page before it gives one, and for none behind the end', async () => {
    const { read, asked } = pagesOf(5);
    deepEqual(await read(0, undefined), [recordAt(0), recordAt(1)]);
    deepEqual(asked, ['0 after nothing', '2 after id 1']);
    deepEqual(await read(2, 'id 1'), [recordAt(1), recordAt(2), recordAt(3)]);
    deepEqual(await read(4, 'id 3'), [recordAt(3), recordAt(4)]);
    deepEqual(asked, ['0 after nothing', '2 after id 1', '4 after id 3']);
    deepEqual(await read(5, 'id 4'), [recordAt(4)]);
    equal(asked.length, 4);
  });

  it('drops a page that nobody asks for', async () => {
    const { read, asked } = pagesOf(9);
    await read(0, undefined);
    deepEqual(await read(2, 'another id'), [recordAt(1), recordAt(2), recordAt(3)]);
    deepEqual(await read(7, 'id 6'), [recordAt(6), recordAt(7), recordAt(8)]);
    deepEqual(asked, ['0 after nothing', '2 after id 1', '2 after another id', '4 after id 3', '7 after id 6']);
  });

  it('gives an error to whoever asks for that page, and then reads it again', async () => {
    const { read, fail } = pagesOf(5);
    const away = new Error('the log is away');
    const first = read(0, undefined);
    fail(away);
    deepEqual(await first, [recordAt(0), recordAt(1)]);
    await rejects(read(2, 'id 1'), away);
    fail(undefined);
    deepEqual(await read(2, 'id 1'), [recordAt(1), recordAt(2), recordAt(3)]);
  });
});
