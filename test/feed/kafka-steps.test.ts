/** What waits in a Kafka consumer is taken in one step, whichever partitions it is from; the consumer goes on once all of it has been handled. */
import assert from 'node:assert/strict';
import type { KafkaClient, Reading, TopicRecord } from '../../command/feed/kafka/client.js';
import { createKafkaFeed } from '../../command/feed/kafka/kafka-feed.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { PARTITIONS, encodeMessage, type SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer, partitionsAfter, type FeedBatch } from '../../command/feed/sequence.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { feedHistory } from '../support/feed-history.js';
import { appendAll } from '../support/log-records.js';

const { outcomes, records } = feedHistory(21, 4_000);
const sequencer = createSequencer(FEED_START);
const whole = outcomes.flatMap((outcome) => sequencer.take(outcome));
const byPartition = (messages: readonly SequencedMessage[]) => (
  Array.from({ length: PARTITIONS }, (_, partition) => messages.filter((each) => each.partition === partition)));
const [early, late] = [byPartition(whole.slice(0, 600)), byPartition(whole.slice(600, 900))];
const foreign = (message: SequencedMessage | undefined): SequencedMessage[] => message === undefined ? [] : [{ ...message, digest: `0x${'12'.repeat(32)}` }];

/** A consumer of which the test says what each fetch brings: a batch per partition, all at once. */
function consumer() {
  let began: (handle: Reading['handle']) => void;
  let end: () => void;
  const reading = new Promise<Reading['handle']>((resolve) => { began = resolve; });
  const ended = new Promise<void>((resolve) => { end = resolve; });
  const client: Pick<KafkaClient, 'read' | 'trouble' | 'close'> = {
    trouble: () => undefined,
    read({ handle }) {
      began(handle);
      return ended;
    },
    close() {
      end();
      return Promise.resolve();
    },
  };
  const handled: boolean[] = [];
  const handling: Promise<unknown>[] = [];
  return {
    client: client as KafkaClient, handled, handling,
    async fetch(batches: readonly (readonly SequencedMessage[])[]): Promise<void> {
      const handle = await reading;
      for (const messages of batches) {
        const [first] = messages;
        if (first === undefined) continue;
        const batch = { partition: first.partition, records: messages.map(recordOf), behind: 0 };
        handling.push(handle(batch, () => Promise.resolve()).then((done) => handled.push(done)));
      }
    },
  };
}

function recordOf(message: SequencedMessage): TopicRecord {
  const { value, headers } = encodeMessage(message);
  return { partition: message.partition, offset: String(message.seq), value, headers };
}

/** A follower of which the test asks for one batch after the other. */
async function follower() {
  const log = createMemoryLog();
  await appendAll(log, 'outcomes', records);
  const kafka = consumer();
  const told: string[] = [];
  const feed = createKafkaFeed({
    open: () => kafka.client, topic: 'fills', group: 'fills', logFeed: createLogFeed(log), log, report: (level, text) => { told.push(`${level}: ${text}`); },
    idleMs: 3_600_000,
  });
  const stopping = new AbortController();
  const batches = feed.follow(FEED_START, stopping.signal)[Symbol.asyncIterator]();
  let { partitions } = FEED_START;
  return {
    ...kafka, told, feed,
    async next(): Promise<FeedBatch | undefined> {
      const { value } = await batches.next() as { value: FeedBatch | undefined };
      if (value !== undefined) partitions = partitionsAfter(partitions, value);
      return value;
    },
    /** The place of each partition's next message. */
    reached: () => partitions.map(({ nextSeq }) => nextSeq),
    async stop(): Promise<void> {
      stopping.abort(new Error('the test stops it'));
      await batches.next();
      await Promise.all(kafka.handling);
      await log.close();
    },
  };
}

/** Takes what comes until all of the history has come. */
async function rest(following: Awaited<ReturnType<typeof follower>>): Promise<SequencedMessage[]> {
  const all = byPartition(whole);
  const messages: SequencedMessage[] = [];
  while (following.reached().some((seq, partition) => seq < all[partition]!.length)) messages.push(...(await following.next())?.messages ?? []);
  return messages;
}

describe('the fill feed by Kafka: its steps', () => {
  it('what waits of all partitions is one batch, and nothing more is read before it has been handled', async () => {
    const following = await follower();
    assert.ok([...early, ...late].every(({ length }) => length > 0), 'every partition has messages');
    // It reads once it is followed.
    const first = following.next();
    await following.fetch(early);
    assert.deepEqual(byPartition((await first)?.messages ?? []), early);
    assert.deepEqual(following.handled, []);
    const second = following.next();
    await following.fetch(late);
    assert.deepEqual(byPartition((await second)?.messages ?? []), late);
    assert.deepEqual(following.handled, early.map(() => true));
    // Whether the last one is kept, nobody knows when it ends.
    await following.stop();
    assert.deepEqual(following.handled, [...early.map(() => true), ...late.map(() => false)]);
    assert.deepEqual(following.told, []);
  });

  it('what waits behind very many messages is taken in a later step', async () => {
    const following = await follower();
    const halves = byPartition(whole).flatMap((messages) => [messages.slice(0, 300), messages.slice(300)]);
    const first = following.next();
    await following.fetch(halves);
    const { length } = (await first)?.messages ?? [];
    assert.ok(length >= 2_000 && length < whole.length, `${length} of ${whole.length}`);
    assert.equal((await rest(following)).length, whole.length - length);
    await following.stop();
  });

  const spoiling: Readonly<Record<string, (messages: readonly SequencedMessage[]) => readonly SequencedMessage[]>> = {
    'messages 0 to 2 of partition 2 are missing, and are taken from the log': (messages) => messages.slice(3),
    'messages of another history are in partition 2, 6, and the log\'s are taken': (messages) => [...messages.slice(0, -1), ...foreign(messages.at(-1))],
  };
  for (const [told, spoil] of Object.entries(spoiling)) {
    it(`what is right comes first, and the rest is healed in the same step: ${told}`, async () => {
      const following = await follower();
      const isSpoilt = (partition: number): boolean => partition === 2 || partition === 6;
      const first = following.next();
      await following.fetch(early.map((messages, partition) => isSpoilt(partition) ? spoil(messages) : messages));
      const messages = (await first)?.messages ?? [];
      assert.deepEqual(byPartition(messages), early.map((each, partition) => isSpoilt(partition) ? [] : each));
      assert.deepEqual(byPartition([...messages, ...await rest(following)]), byPartition(whole));
      assert.deepEqual(following.handled, []);
      const none = following.next();
      // By the log these have come already, and the partition's first batch comes once more beside the second.
      await following.fetch([...early, ...late]);
      await following.stop();
      assert.equal(await none, undefined);
      assert.deepEqual(following.told, [`alarm: the Kafka topic fills: ${told}`]);
    });
  }
});
