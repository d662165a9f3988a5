/** The inbox: the first outcome at once, a rest after a small page in which the next one grows, none after a large page. */
import assert from 'node:assert/strict';
import type { LogRecord } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { openInbox } from '../../projections/inbox.js';
import { outcomeRecord } from '../support/projected.js';

const HOUR_MS = 3_600_000;
const limits = { outcomes: 1_000, events: 10_000 };

/** A log that gives these numbers of outcomes as pages, and how many of them were asked for; then it ends. */
function pagesOf(...sizes: number[]) {
  const asked: number[] = [];
  const log = { ...createMemoryLog(), async* follow(): AsyncGenerator<LogRecord[]> {
    let position = 0;
    for (const size of sizes) {
      asked.push(size);
      yield Array.from({ length: size }, () => ({ position, ...outcomeRecord({ at: position++, events: [] }) }));
    }
  } };
  return { log, asked };
}

describe('projections: inbox', () => {
  it('gives the first outcome at once and rests before it asks for more; closing ends the rest', async () => {
    const { log, asked } = pagesOf(1, 3);
    const inbox = openInbox({ log, from: 0, limits, restMs: HOUR_MS, signal: new AbortController().signal });
    assert.deepEqual(await inbox.take(), [{ position: 0, at: 0, events: [] }]);
    const next = inbox.take();
    await inbox.close();
    assert.deepEqual([await next, asked], [[], [1]]);
  });

  it('goes on after the rest, and without one while a backlog comes in large pages', async () => {
    for (const { pages, restMs } of [{ pages: [1, 3], restMs: 1 }, { pages: [500, 700, 2], restMs: HOUR_MS }]) {
      const { log, asked } = pagesOf(...pages);
      const inbox = openInbox({ log, from: 0, limits, restMs, signal: new AbortController().signal });
      const total = pages.reduce((sum, size) => sum + size, 0);
      const positions: number[] = [];
      while (positions.length < total) positions.push(...(await inbox.take()).map(({ position }) => position));
      assert.deepEqual(positions, Array.from({ length: total }, (_, position) => position));
      assert.deepEqual(asked, pages);
      await inbox.close();
    }
  });
});
