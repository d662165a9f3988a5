/** The publisher of the fill feed, on a real broker and Postgres: one of several publishes, it can be stopped, and has one history. */
import assert from 'node:assert/strict';
import { ForeignFeed } from '../../command/feed/fill-feed.js';
import { openCheckpoints } from '../../command/feed/kafka/checkpoints.js';
import type { PublisherCheckpoints } from '../../command/feed/kafka/publisher.js';
import { runPublisher, type Publisher } from '../../command/feed/kafka/run-publisher.js';
import { encodeMessages } from '../../command/feed/messages.js';
import { createSignedEncoder } from '../../command/feed/signed-fills.js';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import { RETENTION_MS } from '../../command/feed/kafka/topic-shape.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { clientTo, contentOf, newTopic } from '../support/kafka-client.js';
import { sharedBroker } from '../support/shared-broker.js';
import { kafkaScene, memoryCheckpoints, type KafkaScene } from '../support/kafka-scene.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

interface ReportingPublisher extends Publisher {
  readonly told: readonly string[];
  stop(): Promise<void>;
}

describe('kafka: the publisher', () => {
  let broker: KafkaBroker;
  let database: TestDatabase;
  let scene: KafkaScene;
  const running: ReportingPublisher[] = [];

  before(async () => { [broker, database] = await Promise.all([sharedBroker(), testDatabase()]); });
  beforeEach(() => { scene = kafkaScene({ seed: 21, outcomes: 2_000, brokers: () => [broker.address] }); });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((publisher) => publisher.stop().catch(() => undefined)));
    await scene.close();
  });

  function start({ log = scene.log, topic = scene.topic, lookMs = 60_000 } = {}): ReportingPublisher {
    const stopping = new AbortController();
    const told: string[] = [];
    const publisher = runPublisher({
      open: () => clientTo({ brokers: [broker.address] }), topic, encode: encodeMessages, lookMs, log, logFeed: createLogFeed(log),
      signal: stopping.signal,
      openCheckpoints: (session) => openCheckpoints({ ...session, url: database.url, standByMs: 50 }),
      report: (level, text) => { told.push(`${level}: ${text}`); }, backoff: { firstMs: 50, longestMs: 200 },
    });
    publisher.done.catch(() => undefined);
    const started = { ...publisher, told, stop: () => { stopping.abort(new Error('the test stops it')); return publisher.done; } };
    running.push(started);
    return started;
  }

  const isAt = (publisher: Publisher, position: number) => until(`it has published ${position}`, () => publisher.status().position === position);

  async function isWhole(): Promise<void> {
    const seqs = (await contentOf(scene.client(), scene.topic.topic)).map(({ partition, headers }) => `${partition}/${String(headers['seq'])}`);
    assert.deepEqual(seqs.sort(), scene.expected().map(({ partition, seq }) => `${partition}/${seq}`).sort());
  }

  it('publishes everything once over a restart, and another one takes over when it ends', async () => {
    await scene.grow(800);
    const first = start();
    await isAt(first, 800);
    const second = start();
    await until('the second one stands by', () => second.status().standby);
    await scene.grow(400);
    await isAt(first, 1_200);
    assert.deepEqual([first.status().standby, second.status().position], [false, undefined]);
    await first.stop();
    await scene.grow(800);
    await isAt(second, 2_000);
    assert.equal(second.status().standby, false);
    await second.stop();
    await isWhole();
    assert.equal(first.status().sent + second.status().sent, scene.expected().length);
  });

  it('waits while the broker is away, says so, and stops all the same', async () => {
    await scene.grow(500);
    const publisher = start();
    await isAt(publisher, 500);
    await broker.kill();
    await scene.grow(500);
    await until('it has a problem', () => publisher.status().problem !== undefined);
    assert.equal(publisher.status().position, 500);
    await publisher.stop();
    await broker.start();
    await isAt(start(), 1_000);
    await isWhole();
  });

  it('stops while a broker that hangs has taken its messages', async () => {
    await scene.grow(500);
    const publisher = start();
    await isAt(publisher, 500);
    broker.freeze();
    try {
      await scene.grow(500);
      await publisher.stop();
    } finally {
      broker.thaw();
    }
    await isAt(start(), 1_000);
  });

  it('makes a topic again that is gone, and goes on, whether it runs meanwhile or not', async () => {
    /** The broker acknowledges messages to a topic that is deleted until it has heard of it from its controller. */
    const deleteTopic = async (): Promise<void> => {
      const { topic } = scene.topic;
      await scene.client().administer(async (admin) => {
        await admin.deleteTopics({ topics: [topic] });
        await until('it is gone', async () => !(await admin.listTopics()).includes(topic));
      });
    };
    const tellsIt = (publisher: ReportingPublisher) => until('it is told', () => publisher.told.filter((line) => line.startsWith('alert')).join('\n')
      === `alert: the Kafka topic ${scene.topic.topic} was gone and is made again: what it had is lost to those who had not read it`);
    await scene.grow(500);
    const publisher = start();
    await isAt(publisher, 500);
    await deleteTopic();
    await scene.grow(500);
    await isAt(publisher, 1_000);
    await tellsIt(publisher);
    await publisher.stop();
    await deleteTopic();
    const next = start();
    await tellsIt(next);
    await scene.grow(500);
    await isAt(next, 1_500);
  });

  it('does not publish another log\'s messages after the first one\'s', async () => {
    await scene.grow(500);
    const publisher = start();
    await isAt(publisher, 500);
    await publisher.stop();
    const empty = createMemoryLog();
    const isForeign = (what: RegExp) => (error: unknown) => error instanceof ForeignFeed && what.test(error.message);
    await assert.rejects(start({ log: empty }).done, isForeign(/^the fill feed is published up to outcome \d+, which the log does not have: /));
    const other = kafkaScene({ seed: 22, outcomes: 1_000, brokers: () => [broker.address] });
    await other.grow(1_000);
    await assert.rejects(start({ log: other.log }).done, isForeign(/which has another digest in the log/));
    await other.close();
  });

  it('makes the topic with the shape of the feed, and refuses one of another shape until it is mended', async () => {
    const client = scene.client();
    await ensureTopic(client, scene.topic);
    assert.equal(await ensureTopic(client, scene.topic), false);
    const resources = [{ type: 2, name: scene.topic.topic }];
    const { resources: [config] } = await client.administer((admin) => admin.describeConfigs({ resources, includeSynonyms: false }));
    const entries = Object.fromEntries(config?.configEntries.map(({ configName, configValue }) => [configName, configValue]) ?? []);
    assert.deepEqual([entries['cleanup.policy'], entries['retention.ms'], entries['min.insync.replicas'], entries['unclean.leader.election.enable']],
      ['delete', String(RETENTION_MS), '1', 'false']);
    const [few, compacted] = [newTopic(), newTopic()];
    await client.administer((admin) => admin.createTopics({ topics: [
      { topic: few, numPartitions: 4 }, { topic: compacted, numPartitions: 8, configEntries: [{ name: 'cleanup.policy', value: 'compact' }] },
    ] }));
    await assert.rejects(ensureTopic(client, { ...scene.topic, topic: few }), /^TopicRefused: .* has 4 partitions, not 8: kafka-topics.sh /);
    await assert.rejects(ensureTopic(client, { ...scene.topic, topic: compacted }), /has cleanup.policy=compact, not delete: kafka-configs.sh /);
    await assert.rejects(ensureTopic(client, { topic: newTopic(), replication: 3, minInsync: 2 }),
      /cannot have 3 copies on 1 broker: start more, or set KAFKA_REPLICATION$/);
    await scene.grow(300);
    const publisher = start({ topic: { ...scene.topic, topic: few as typeof scene.topic.topic } });
    await until('it is refused', () => /has 4 partitions/.test(publisher.status().problem ?? ''));
    assert.match(publisher.told[0] ?? '', /^alert: the fill feed in \S+ waits: the Kafka topic \S+ has 4 partitions/);
    await client.administer((admin) => admin.deleteTopics({ topics: [few] }));
    await isAt(publisher, 300);
  });

  it('tells within a look that its topic was changed, publishes what the brokers take, and tells that it is mended', async () => {
    const { topic: { topic } } = scene;
    const client = scene.client();
    // What alterConfigs does not name has the brokers' default again.
    const set = (options: Record<string, string>) => client.administer((admin) => admin.alterConfigs({ validateOnly: false, resources: [{
      type: 2, name: topic, configEntries: Object.entries({ 'cleanup.policy': 'delete', 'retention.ms': String(RETENTION_MS), ...options })
        .map(([name, value]) => ({ name, value })),
    }] }));
    const tells = (what: string | undefined) => until(`it tells ${what}`, () => (
      what === undefined ? publisher.status().topicProblem === undefined : publisher.status().topicProblem?.includes(what)));
    await scene.grow(500);
    const publisher = start({ lookMs: 50 });
    await isAt(publisher, 500);
    await set({ 'retention.ms': '3600000' });
    await tells('has retention.ms=3600000, not 1209600000 or more: kafka-configs.sh ');
    await scene.grow(500);
    await isAt(publisher, 1_000);
    assert.equal(publisher.status().problem, undefined);
    await set({ 'cleanup.policy': 'compact' });
    await tells('has cleanup.policy=compact, not delete: kafka-configs.sh ');
    // The brokers refuse a message without a key meanwhile, as every barrier is.
    await scene.grow(500);
    await set({});
    await tells(undefined);
    await isAt(publisher, 1_500);
    const told = publisher.told.filter((line) => line.includes(`the Kafka topic ${topic}`) && !line.includes('is made'));
    assert.deepEqual(told.map((line) => line.replace(/,? not .*/, '')), [
      `alert: the Kafka topic ${topic} has retention.ms=3600000`, `alert: the Kafka topic ${topic} has cleanup.policy=compact`,
      `info: the Kafka topic ${topic} is as it must be again`,
    ]);
    // Of a send that was refused in part, the rest comes again.
    const seqs = new Set((await contentOf(client, topic)).map(({ partition, headers }) => `${partition}/${String(headers['seq'])}`));
    assert.deepEqual(seqs, new Set(scene.expected().map(({ partition, seq }) => `${partition}/${seq}`)));
  });

  it('publishes each fill with its signed orders, and leaves none out when publishers die around the checkpoint', async () => {
    const signed = createSignedEncoder(scene.log);
    const shared = memoryCheckpoints();
    await scene.grow(2_000);
    for (let death = 0; death < 4; death++) {
      let left = 1;
      const dying: PublisherCheckpoints = { ...shared, save: async (change) => {
        // In turns just before the checkpoint, and just after it.
        if (left > 0 || death % 2 === 0) await shared.save(change);
        if (left-- === 0) throw new Error('killed');
      } };
      await assert.rejects(scene.publisher(dying, signed).done, /killed/);
    }
    const last = scene.publisher(shared, signed);
    await until('everything is published', () => last.progress.at(-1)?.position === 2_000);
    const records = await contentOf(scene.client(), scene.topic.topic);
    const expected = await signed(scene.expected());
    assert.ok(records.length > expected.length, 'messages were repeated');
    assert.deepEqual(
      new Map(records.map(({ partition, value, headers }) => [`${partition}/${String(headers['seq'])}`, value.toString()])),
      new Map(scene.expected().map(({ partition, seq }, index) => [`${partition}/${seq}`, expected[index]!.value.toString()])),
    );
  });

  it('has its checkpoint as it saved it, of each topic its own', async () => {
    const { signal } = new AbortController();
    const open = (topic: string) => openCheckpoints({ topic, url: database.url, signal, standingBy: () => undefined });
    await scene.grow(600);
    const publisher = start();
    await isAt(publisher, 600);
    await publisher.stop();
    const [checkpoints, others] = await Promise.all([open(scene.topic.topic), open(newTopic())]);
    const { position, newest } = await checkpoints.load();
    const last = scene.expected().at(-1);
    assert.deepEqual(newest, { position: last?.message.position, digest: last?.digest });
    assert.equal(position.partitions.reduce((sum, { nextSeq }) => sum + nextSeq, 0), scene.expected().length);
    const opened = scene.expected().flatMap(({ message }) => message.type === 'MarketOpened' ? [[message.marketId, message.chainId]] : []);
    assert.deepEqual([...position.markets].sort(), opened.sort());
    assert.equal((await others.load()).newest, undefined);
    await Promise.all([checkpoints.close(), others.close()]);
  });
});
