/** The fill feed straight from the log: from any position the rest of the same sequence, while the log goes on and when it is away. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ForeignFeed } from '../../command/feed/fill-feed.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { PARTITIONS, type SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer, least, partitionsAfter, type FeedBatch, type FeedPosition } from '../../command/feed/sequence.js';
import { MalformedRecord } from '../../engine/records/codec.js';
import { encodeOutcome } from '../../engine/run/new-record.js';
import { LogUnavailable, type Log } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { feedHistory } from '../support/feed-history.js';
import { appendAll, newRecord } from '../support/log-records.js';

const { outcomes, records } = feedHistory(3, 2_000);
const sequencer = createSequencer(FEED_START);
const whole = outcomes.flatMap((outcome) => sequencer.take(outcome));
const { markets } = sequencer.position();

async function logOf(count = records.length): Promise<Log> {
  const log = createMemoryLog(undefined, { pageRecords: 700 });
  await appendAll(log, 'outcomes', records.slice(0, count));
  return log;
}

/** What the feed gives until all outcomes below `reached` are in; every batch must be one that a consumer can take. */
async function followed(log: Pick<Log, 'follow' | 'length'>, from: FeedPosition, reached = records.length): Promise<SequencedMessage[]> {
  const messages: SequencedMessage[] = [];
  const stop = new AbortController();
  let { partitions } = from;
  for await (const batch of createLogFeed(log, { batchMessages: 40 }).follow(from, stop.signal)) {
    assert.ok(batch.messages.length < 140);
    partitions = partitionsAfter(partitions, batch);
    messages.push(...batch.messages);
    if (least(partitions) >= reached) stop.abort();
  }
  return messages;
}

const restOf = (given: readonly number[]) => whole.filter(({ partition, seq }) => seq >= given[partition]!);
const byPartition = (messages: readonly SequencedMessage[]) => (
  Array.from({ length: PARTITIONS }, (_, partition) => messages.filter((each) => each.partition === partition)));

function positionAfter(given: readonly number[]): FeedPosition {
  const messages = whole.filter(({ partition, seq }) => seq < given[partition]!);
  return { partitions: partitionsAfter(FEED_START.partitions, { messages }), markets };
}

describe('the fill feed from the log', () => {
  it('gives the whole sequence, in the history\'s order', async () => {
    assert.deepEqual(await followed(await logOf(), FEED_START), whole);
  });

  it('goes on from any positions, also where the partitions have got differently far', async () => {
    const log = await logOf();
    const counts = byPartition(whole).map(({ length }) => length);
    await fc.assert(fc.asyncProperty(fc.tuple(...counts.map((max) => fc.integer({ min: 0, max }))), async (given) => {
      assert.deepEqual(byPartition(await followed(log, positionAfter(given))), byPartition(restOf(given)));
    }), { numRuns: 25 });
  });

  it('goes on while outcomes come, and says how far it has read where there are no messages', async () => {
    const log = await logOf(1_000);
    const stop = new AbortController();
    const batches = createLogFeed(log).follow(FEED_START, stop.signal)[Symbol.asyncIterator]();
    const take = async () => (await batches.next()).value as FeedBatch;
    let reached = 0;
    while (reached < 1_000) reached = (await take()).reached!;
    const quiet = outcomes.findIndex(({ position, events }) => position >= 1_000 && events.every(({ type }) => type.startsWith('Order')));
    await appendAll(log, 'outcomes', records.slice(1_000, quiet));
    while (reached < quiet) reached = (await take()).reached!;
    await appendAll(log, 'outcomes', records.slice(quiet, quiet + 1));
    assert.deepEqual(await take(), { messages: [], reached: quiet + 1 });
    const waiting = batches.next();
    stop.abort();
    assert.deepEqual(await waiting, { done: true, value: undefined });
  });

  it('waits for a log that is away at the start', async () => {
    const log = await logOf();
    let calls = 0;
    const length = async () => {
      if (++calls < 3) throw new LogUnavailable(false);
      return records.length;
    };
    assert.deepEqual(await followed({ follow: log.follow, length }, FEED_START), whole);
    const away = { follow: log.follow, length: async () => { throw new LogUnavailable(false); } };
    const ended = createLogFeed(away).follow(FEED_START, AbortSignal.timeout(20))[Symbol.asyncIterator]();
    assert.deepEqual(await ended.next(), { done: true, value: undefined });
  });

  it('refuses positions beyond the end of the log: they were made from another one', async () => {
    const at = outcomes.length - 1;
    const from = (position: number, done: number): FeedPosition => (
      { partitions: FEED_START.partitions.map((each, i) => i === 5 ? { nextSeq: 9, position, done } : each), markets });
    const log = await logOf(at);
    const refused = async (each: FeedPosition) => {
      for await (const _ of createLogFeed(log).follow(each, AbortSignal.timeout(1_000))) return false;
      return false;
    };
    await assert.rejects(refused(from(at, 1)), (error) => error instanceof ForeignFeed && error.message.includes(`over ${at + 1} outcomes, but the log has ${at}`));
    await assert.rejects(refused(from(at + 1, 0)), ForeignFeed);
    assert.equal(least(FEED_START.partitions), 0);
    await followed(log, from(at, 0), at);
  });

  it('stops at an outcome that it cannot read, and names it', async () => {
    const log = await logOf(10);
    await appendAll(log, 'outcomes', [newRecord(encodeOutcome('{"at":1,"events":[{"type":"FillMatched","v":1}]}', `0x${'0'.repeat(64)}`))]);
    await assert.rejects(followed(log, FEED_START), (error) => error instanceof MalformedRecord && error.message.startsWith('outcome 10 cannot be read: '));
  });
});
