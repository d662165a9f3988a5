/** The fill feed by Kafka: whatever happens to topic, broker and publishers, a follower gets the same messages as from the log, each once. */
import assert from 'node:assert/strict';
import type { KafkaClient, OutgoingRecord } from '../../command/feed/kafka/client.js';
import { encodeMessage, type SequencedMessage } from '../../command/feed/messages.js';
import type { PublisherCheckpoints } from '../../command/feed/kafka/publisher.js';
import { FEED_START } from '../../command/feed/sequence.js';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { sharedBroker } from '../support/shared-broker.js';
import { kafkaScene, memoryCheckpoints, type Follower, type KafkaScene } from '../support/kafka-scene.js';
import { startTcpProxy } from '../support/proxies.js';
import { until, within } from '../support/until.js';

describe('kafka: the fill feed', () => {
  let broker: KafkaBroker;
  let scene: KafkaScene;
  let admin: KafkaClient;
  const stage = (seed: number, outcomes: number): void => {
    scene = kafkaScene({ seed, outcomes, brokers: () => [broker.address] });
    admin = scene.client();
  };
  /** How many messages the topic has had. A new topic has no leaders for a moment. */
  const published = async (): Promise<number> => {
    const offsets = await admin.administer((kafka) => kafka.fetchTopicOffsets(scene.topic.topic)).catch(() => []);
    return offsets.reduce((sum, { high }) => sum + Number(high), 0);
  };
  const isPublished = () => until('everything is published', async () => await published() >= scene.expected().length);

  before(async () => { broker = await sharedBroker(); });
  afterEach(async () => { await scene.close(); });

  it('gives the log\'s messages, all of them by Kafka, from the start and from any place', async () => {
    stage(1, 3_000);
    await scene.grow(1_500);
    scene.publisher();
    await isPublished();
    const follower = scene.follower({ idleMs: 60_000 });
    await follower.hasAll();
    await scene.grow(1_500);
    await follower.hasAll();
    assert.deepEqual(follower.told, []);
    assert.deepEqual({ ...follower.feed.status(), fromLog: 0 }, { problem: undefined, fromLog: 0, repeats: 0, alerts: 0 });
    await follower.stop();
    const half = follower.messages.slice(0, follower.messages.length / 2);
    const partitions = FEED_START.partitions.map((start, partition) => {
      const of = half.filter((message) => message.partition === partition);
      const last = of.at(-1);
      if (last === undefined) return start;
      const { position } = last.message;
      return { nextSeq: last.seq + 1, position, done: of.filter(({ message }) => message.position === position).length };
    });
    const markets = new Map(half.flatMap(({ message }) => message.type === 'MarketOpened' ? [[message.marketId, message.chainId]] : []));
    const again = scene.follower({ from: { partitions, markets }, group: `${scene.topic.topic}-again` });
    await again.hasAll();
    assert.equal(again.feed.status().repeats, half.length);
  });

  it('gives each message once when two publishers at once die around the checkpoint, again and again', async () => {
    stage(2, 4_000);
    await scene.grow(200);
    const shared = memoryCheckpoints();
    let deaths = 0;
    const keepPublishing = async (saves: number): Promise<void> => {
      for (let left = 12; left > 0; left--) {
        let before = saves;
        const dying: PublisherCheckpoints = { ...shared, save: async (change) => {
          if (before-- === 0) {
            // In turns just before the checkpoint, and just after it.
            if (left % 2 === 0) await shared.save(change);
            throw new Error('killed');
          }
          await shared.save(change);
          await scene.grow(60);
        } };
        // One that starts when the other has published everything would live for ever.
        const more = setInterval(() => { void scene.grow(20); }, 100);
        try {
          await assert.rejects(within('the death of a publisher', scene.publisher(dying).done), /killed/);
        } finally {
          clearInterval(more);
        }
        deaths += 1;
      }
      scene.publisher(shared);
    };
    const follower = scene.follower();
    await Promise.all([keepPublishing(1), keepPublishing(2)]);
    await follower.hasAll();
    await isPublished();
    assert.equal(deaths, 24);
    assert.ok(await published() > scene.expected().length, 'the publishers have repeated themselves');
    assert.ok(follower.feed.status().repeats > 0);
    assert.equal(follower.feed.status().alerts, 0);
  });

  it('loses and doubles nothing when the broker is killed while it is written and read', async () => {
    stage(3, 3_000);
    await scene.grow(500);
    const publisher = scene.publisher();
    const follower = scene.follower({ idleMs: 60_000, silentMs: 3_600_000 });
    await until('some have come', () => follower.messages.length > 0);
    const growing = scene.grow(1_000);
    await broker.kill();
    await growing;
    await broker.start();
    await scene.grow(1_500);
    await follower.hasAll();
    assert.equal(follower.feed.status().alerts, 0);
    assert.equal(follower.feed.status().fromLog, 0);
    await publisher.stop();
    assert.equal(await published(), scene.expected().length);
  });

  it('goes on by the log while the broker is away, says so, and by Kafka when it is back', async () => {
    stage(4, 1_500);
    await scene.grow(500);
    scene.publisher();
    const follower = scene.follower();
    await follower.hasAll();
    await broker.kill();
    await scene.grow(500);
    await follower.hasAll();
    assert.match(follower.told[0] ?? '', /^warn: messages of the fill feed are taken from the log, not from Kafka: /);
    assert.notEqual(follower.feed.status().problem, undefined);
    await broker.start();
    await isPublished();
    await scene.grow(500);
    await follower.hasAll();
    await until('Kafka is used again', () => follower.feed.status().problem === undefined);
    assert.equal(follower.told.at(-1), 'info: messages of the fill feed come by Kafka again');
    assert.equal(follower.feed.status().alerts, 0);
  });

  it('heals from the log what retention has taken', async () => {
    stage(5, 2_000);
    await scene.grow(1_000);
    scene.publisher();
    const early = scene.follower();
    await early.hasAll();
    await until('its offsets are committed', async () => (await offsetsOf(scene)).every((offset) => offset > 0));
    await early.stop();
    await scene.grow(500);
    await isPublished();
    // Both somebody who comes back, whose offsets are gone, and somebody new.
    await forget(scene);
    await scene.grow(500);
    await isPublished();
    for (const follower of [scene.follower({ from: FEED_START }), scene.follower({ from: FEED_START, group: `${scene.topic.topic}-new` })]) {
      await follower.hasAll();
      assert.match(follower.told.find((line) => line.startsWith('alert')) ?? '', /: messages \d+ to \d+ of partition \d are missing, and are taken from the log$/);
    }
  });

  it('heals when the topic is deleted, which the publisher makes again', async () => {
    stage(6, 2_000);
    await scene.grow(1_000);
    const publisher = scene.publisher();
    const follower = scene.follower({ idleMs: 60_000 });
    await follower.hasAll();
    await admin.administer((kafka) => kafka.deleteTopics({ topics: [scene.topic.topic] }));
    await scene.grow(500);
    await until('it is made again', () => publisher.told.some((line) => line.includes('was gone and is made again')));
    await scene.grow(500);
    await follower.hasAll();
    assert.ok(await published() > 0);
  });

  it('leaves out what is not the partition\'s next message, tells it, and takes that one from the log', async () => {
    stage(7, 3_000);
    await scene.grow(1_000);
    const publisher = scene.publisher();
    const follower = scene.follower({ idleMs: 60_000 });
    await follower.hasAll();
    await publisher.stop();
    const client = scene.client();
    const bad: Readonly<Record<string, (record: OutgoingRecord, message: SequencedMessage) => OutgoingRecord>> = {
      // All that cannot be read is one kind of alert, which is told once per minute.
      'is not JSON': (record) => ({ ...record, value: Buffer.from('{') }),
      '': (record) => ({ ...record, headers: { ...record.headers, seq: '7' } }),
      'but the one before it': ({ partition }, message) => ({ partition, ...encodeMessage({ ...message, message: { ...message.message, position: 0 } }) }),
      'of another history': ({ partition }, message) => ({ partition, ...encodeMessage({ ...message, digest: `0x${'12'.repeat(32)}` }) }),
      'the history does not have it': ({ partition }, message) => ({ partition, ...encodeMessage({ ...message, seq: 1_000_000 }) }),
    };
    for (const [told, spoil] of Object.entries(bad)) {
      const before = scene.expected().length;
      const { alerts } = follower.feed.status();
      await scene.grow(200);
      const next = scene.expected().slice(before);
      const first = next.find(({ partition }, index) => next.some((each, later) => later > index && each.partition === partition));
      assert.ok(first, 'a partition has two messages more');
      const second = next.find(({ partition, seq }) => partition === first.partition && seq === first.seq + 1);
      assert.ok(second);
      const [spoilt, good] = [first, second].map((message): OutgoingRecord => ({ partition: message.partition, ...encodeMessage(message) }));
      assert.ok(spoilt && good);
      // Of messages that are read together, only the last one's digest is compared.
      await client.send(scene.topic.topic, told === 'of another history' ? [spoil(spoilt, first)] : [spoil(spoilt, first), good]);
      await follower.hasAll();
      await until(`an alert: ${told}`, () => follower.feed.status().alerts > alerts);
      await until(told, () => alertsOf(follower).some((line) => line.includes(told)));
    }
  });

  it('shares the group with another member for a while, and misses nothing', async () => {
    stage(8, 2_000);
    await scene.grow(1_000);
    scene.publisher();
    const follower = scene.follower();
    await follower.hasAll();
    const other = scene.follower();
    await until('the other one has some partitions', () => other.messages.length > 0 || other.feed.status().fromLog > 0);
    await scene.grow(500);
    await follower.hasAll();
    await other.stop();
    await scene.grow(500);
    await follower.hasAll();
    assert.equal(follower.feed.status().alerts, 0);
  });

  it('notices that its connection is dead, half-open, and goes on by another one', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: broker.proxied.port }, broker.proxied.via);
    try {
      scene = kafkaScene({ seed: 9, outcomes: 1_500, brokers: () => [`127.0.0.1:${broker.proxied.via}`] });
      await scene.grow(500);
      scene.publisher();
      const follower = scene.follower({ idleMs: 60_000 });
      await follower.hasAll();
      proxy.fate = () => 'withhold';
      await scene.grow(500);
      const before = follower.messages.length;
      await until('both have noticed', () => follower.messages.length === before && proxy.fate(Buffer.alloc(0)) === 'withhold');
      proxy.fate = () => 'pass';
      await scene.grow(500);
      await follower.hasAll();
    } finally {
      await scene.close();
      await proxy.close();
    }
  });
});

const alertsOf = ({ told }: Follower) => told.filter((line) => line.startsWith('alert: '));

async function offsetsOf(scene: KafkaScene): Promise<number[]> {
  const [topic] = await scene.client().administer((admin) => admin.fetchOffsets({ groupId: scene.topic.topic, topics: [scene.topic.topic] }));
  return topic?.partitions.map(({ offset }) => Number(offset)) ?? [];
}

/** As when the retention's time has run out: everything that the topic has is deleted. */
async function forget(scene: KafkaScene): Promise<void> {
  const { topic } = scene.topic;
  await scene.client().administer(async (admin) => {
    const offsets = await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: offsets.map(({ partition, high }) => ({ partition, offset: high })) });
  });
}
