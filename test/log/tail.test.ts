/** The end of a stream: what its followers get from memory, and what from the store. */
import { deepEqual, equal } from 'node:assert/strict';
import { createHandleFailure, createTail } from '../../engine/log/tail.js';
import type { LogRecord, NewRecord } from '../../engine/log/log.js';

describe('the end of a stream', () => {
  it('gives followers the newest records from memory, each at its own pace', async () => {
    const { follow, push, asked } = scene();
    const [fast, slow] = [follow(0), follow(0)];
    const [first, early] = [fast.next(), slow.next()];
    push(1);
    await Promise.all([first, early]);
    asked.length = 0;
    for (let pushed = 1; pushed < 3_000; pushed += 30) {
      const next = fast.next();
      push(30);
      await next;
    }
    for (let read = 1; read < 3_001;) read += (await slow.next()).value!.length;
    deepEqual(asked, []);
  });

  it('forgets what every follower has had, so that a new one reads the store', async () => {
    const { follow, push, asked } = scene();
    const early = follow(0);
    for (let pushed = 0; pushed < 300; pushed += 30) {
      const next = early.next();
      push(30);
      await next;
    }
    const late = follow(0);
    let read = 0;
    while (read < 300) read += (await late.next()).value!.length;
    equal(asked[0], 0);
  });

  it('keeps nothing for nobody, and nothing for a follower that has left', async () => {
    const { follow, push, asked } = scene();
    push(300);
    const leaving = follow(200);
    await leaving.next();
    await leaving.return(undefined);
    push(300);
    await follow(500).next();
    deepEqual(asked, [200, 500]);
  });
});

/** A tail over a store of its own. `asked` are the positions from which the store was read. */
function scene() {
  const store: LogRecord[] = [];
  const asked: number[] = [];
  const tail = createTail({ stream: 'commands', length: 0, pollMs: 60_000, failure: createHandleFailure() });
  return {
    asked,
    push(count: number): void {
      const first = store.length;
      const records = Array.from({ length: count }, (_, i): NewRecord => ({ id: `record ${first + i}`, data: Buffer.alloc(10) }));
      store.push(...records.map((record, i) => ({ ...record, position: first + i })));
      tail.push(first, records);
    },
    follow: (from: number) => tail.follow(from, new AbortController().signal, (position) => {
      asked.push(position);
      return Promise.resolve(store.slice(Math.max(0, position - 1)));
    })[Symbol.asyncIterator]() as AsyncGenerator<readonly LogRecord[], undefined>,
  };
}
