/** What waits in a Kafka consumer is taken in one step, whichever partitions it is from; the consumer goes on once all of it has been handled. */
import assert from 'node:assert/strict';
import type { KafkaClient, TopicReading, TopicRecord } from '../../command/feed/kafka/client.js';
import { createKafkaFeed, type KafkaFeedOptions } from '../../command/feed/kafka/kafka-feed.js';
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
  let began: (handle: TopicReading['handle']) => void;
  let end: () => void;
  const reading = new Promise<TopicReading['handle']>((resolve) => { began = resolve; });
  const ended = new Promise<void>((resolve) => { end = resolve; });
  const client: Pick<KafkaClient, 'read' | 'problem' | 'close'> = {
    problem: () => undefined,
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
async function follower(options: Partial<KafkaFeedOptions> & { readonly length?: () => number } = {}) {
  const { length = () => records.length } = options;
  const log = createMemoryLog();
  await appendAll(log, 'outcomes', records);
  const kafka = consumer();
  const told: string[] = [];
  const feed = createKafkaFeed({
    open: () => kafka.client, topic: 'fills', group: 'fills', logFeed: createLogFeed(log), report: (level, text) => { told.push(`${level}: ${text}`); },
    log: { length: () => Promise.resolve(length()), read: (...where) => log.read(...where) },
    idleMs: 3_600_000, silentMs: 3_600_000, ...options,
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
    /** So many messages or more. */
    async take(count: number): Promise<SequencedMessage[][]> {
      const messages: SequencedMessage[] = [];
      while (messages.length < count) messages.push(...(await this.next())?.messages ?? []);
      return byPartition(messages);
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
      assert.deepEqual(following.told, [`alert: the Kafka topic fills: ${told}`]);
    });
  }

  describe('a partition from which nothing comes', () => {
    const SILENT = 2;
    /** Each partition's messages of the outcomes from one position on, up to another. */
    const between = (from: number, to: number) => byPartition(whole.filter(({ message: { position } }) => position >= from && position < to));
    const others = (batches: readonly SequencedMessage[][]) => batches.map((messages, partition) => partition === SILENT ? [] : messages);
    const alone = (messages: readonly SequencedMessage[]) => (
      Array.from({ length: PARTITIONS }, (_, partition) => partition === SILENT ? messages : []));
    const [old, fresh, newest, last] = [between(0, 2_000), between(2_000, 3_000), between(3_000, 3_500), between(3_500, 3_600)];

    it('holds nothing up while the others go on: what is due comes from the log, and what is newer is waited for', async () => {
      let length = 2_000;
      const following = await follower({ silentMs: 0, length: () => length });
      const next = async (batches: readonly (readonly SequencedMessage[])[], count = 1) => {
        const taken = following.take(count);
        await following.fetch(batches);
        return await taken;
      };
      for (const batches of [old, fresh]) assert.deepEqual(await next(others(batches)), others(batches));
      assert.equal(following.feed.status().problem, undefined);
      assert.deepEqual(await next(others(newest), old[SILENT]!.length), alone(old[SILENT]!));
      length = 3_000;
      assert.deepEqual(following.feed.status(), { fromLog: old[SILENT]!.length, repeats: 0, alerts: 0, problem: `those of partition ${SILENT} have not come` });
      assert.deepEqual(await following.take(1), others(newest));
      assert.deepEqual(await following.take(fresh[SILENT]!.length), alone(fresh[SILENT]!));
      assert.notEqual(following.feed.status().problem, undefined, 'what the others bring does not end it');
      // It is back, and brings what was taken from the log once more.
      assert.deepEqual(await next(alone([...old[SILENT]!, ...newest[SILENT]!])), alone(newest[SILENT]!));
      assert.deepEqual(await next(last), last);
      assert.deepEqual(following.feed.status(),
        { fromLog: old[SILENT]!.length + fresh[SILENT]!.length, repeats: old[SILENT]!.length, alerts: 0, problem: undefined });
      assert.deepEqual(following.told, [
        `warn: messages of the fill feed are taken from the log, not from Kafka: those of partition ${SILENT} have not come`,
        'info: messages of the fill feed come by Kafka again',
      ]);
      await following.stop();
    });

    it('is not one that is behind and comes', async () => {
      const following = await follower({ silentMs: 0, length: () => 500 });
      const messages = between(0, 500)[SILENT]!;
      assert.ok(messages.length > 9);
      const some = (from: number, to: number) => alone(messages.slice(from, to));
      const first = between(0, 1_000).map((each, partition) => partition === SILENT ? messages.slice(0, 3) : each);
      for (const batches of [first, some(3, 6), some(6, 9), some(9, messages.length)]) {
        const taken = following.take(1);
        await following.fetch(batches);
        assert.deepEqual(await taken, batches);
      }
      assert.deepEqual([following.feed.status().fromLog, following.told], [0, []]);
      await following.stop();
    });

    it('and that has nothing to tell is no problem', async () => {
      const ofIt = byPartition(whole)[SILENT]!.map(({ message: { position } }) => position);
      const before = ofIt.findIndex((position, index) => between(position + 1, ofIt[index + 1] ?? position).flat().length > 1);
      const [from, to] = [ofIt[before]! + 1, ofIt[before + 1]!];
      const [first, second] = [between(0, from), between(from, to)];
      const following = await follower({ silentMs: 0, length: () => to });
      for (const batches of [first, second, others(between(to, 1_000))]) {
        const taken = following.take(1);
        await following.fetch(batches);
        assert.deepEqual(await taken, batches);
      }
      assert.deepEqual([following.feed.status().fromLog, following.told], [0, []]);
      await following.stop();
    });
  });
});
