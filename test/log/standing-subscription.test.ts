/** A subscription that is made again after every loss: each record is given once and in order, whatever the store sends again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createStandingSubscription } from '../../engine/log/eventstore/subscription.js';
import type { LogRecord } from '../../engine/log/log.js';
import { createBell } from '../../engine/waiting.js';
import { until } from '../support/until.js';

const record = (position: number): LogRecord => ({ position, id: `id ${position}`, data: Buffer.from(String(position)) });
const records = (...positions: readonly number[]): LogRecord[] => positions.map(record);

interface Run {
  readonly asked: readonly number[];
  readonly given: readonly number[];
  readonly pauses: readonly number[];
}

/** Runs it over subscriptions that give these batches and break, one after the other, until there are no more of them. */
async function run(from: number, subscriptions: readonly (readonly (readonly LogRecord[])[])[], failAt?: number): Promise<Run> {
  const left = [...subscriptions];
  const [asked, given, pauses]: [number[], number[], number[]] = [[], [], []];
  let done: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => { done = resolve; });
  const standing = createStandingSubscription({
    async* subscribe(next) {
      asked.push(next);
      yield* left.shift() ?? [];
      throw new Error('the connection broke');
    },
    received(batch) {
      given.push(...batch.map(({ position }) => position));
      if (batch.some(({ position }) => position === failAt)) throw new Error('the receiver failed');
    },
    random: () => 0.5,
    async pause(ms) {
      pauses.push(ms);
      if (left.length === 0) done();
      await new Promise(setImmediate);
    },
  });
  standing.start(from);
  await ended;
  await standing.close();
  return { asked: asked.slice(0, subscriptions.length), given, pauses: pauses.slice(0, subscriptions.length) };
}

describe('log: a standing subscription', () => {
  it('begins again behind the last record, and drops what it has given', async () => {
    const { asked, given } = await run(3, [[records(3, 4), records(5)], [records(4, 5, 6)], [records(5, 6)], [records(7)]]);
    assert.deepEqual(given, [3, 4, 5, 6, 7]);
    assert.deepEqual(asked, [3, 6, 7, 7]);
  });

  it('pauses longer after each loss without a record, and shortly again after one', async () => {
    const { pauses } = await run(0, [[], [], [], [records(0)], [], ...Array.from({ length: 9 }, () => [])]);
    assert.deepEqual(pauses.slice(0, 6), [20, 40, 80, 20, 20, 40]);
    assert.equal(pauses.at(-1), 2_000);
  });

  it('outlives a receiver that fails', async () => {
    const { asked, given } = await run(0, [[records(0), records(1)], [records(1, 2)]], 0);
    assert.deepEqual([asked, given], [[0, 1], [0, 1, 2]]);
  });

  it('starts once, and not after close()', async () => {
    const asked: number[] = [];
    const standing = createStandingSubscription({
      async* subscribe(next, signal) {
        asked.push(next);
        await new Promise<void>((resolve) => { signal.addEventListener('abort', () => { resolve(); }); });
        yield records(next);
      },
      received: () => undefined, random: () => 0.5,
    });
    standing.start(1);
    standing.start(2);
    await standing.close();
    standing.start(3);
    assert.deepEqual(asked, [1]);
  });

  it('asks again at once when it is woken in its pause', async () => {
    let asked = 0;
    const resting = createBell();
    const standing = createStandingSubscription({
      async* subscribe() {
        asked += 1;
        yield* [] as LogRecord[][];
        throw new Error('the connection broke');
      },
      received: () => undefined,
      random: () => 0.5,
      // Ends only when it is ended.
      pause: async (_ms, signal) => {
        resting.ring();
        await once(signal!, 'abort');
      },
    });
    const rests = (count: number) => until(`pause ${count}`, () => resting.rung() >= count);
    standing.start(0);
    await rests(1);
    standing.wake();
    await rests(2);
    assert.equal(asked, 2);
    await standing.close();
  });
});
