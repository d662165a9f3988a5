/** The documented example of a consumer has each fill exactly once: killed at random, with messages that are repeated, and that are missing. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KafkaClient } from '../../command/feed/kafka/client.js';
import type { PublisherCheckpoints } from '../../command/feed/kafka/publisher.js';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import { encodeMessage, type MarketOpenedMessage, type SequencedMessage } from '../../command/feed/messages.js';
import { events } from '../../query/history/events.js';
import { sizeOf, startExampleConsumer, consumedBy, type ExampleProcess, type ExampleOptions } from '../support/example-consumer.js';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { newTopic } from '../support/kafka-client.js';
import { sharedBroker } from '../support/shared-broker.js';
import { kafkaScene, memoryCheckpoints, type KafkaScene } from '../support/kafka-scene.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { until } from '../support/until.js';

const KILLS = 6;

describe('kafka: the example consumer', () => {
  let broker: KafkaBroker;
  let scene: KafkaScene;
  let shell: RunningShell;
  let client: KafkaClient;
  let directory: string;
  let options: ExampleOptions;
  const running = new Set<ExampleProcess>();
  const start = (changed: Partial<ExampleOptions> = {}): ExampleProcess => {
    const consumer = startExampleConsumer({ ...options, ...changed });
    running.add(consumer);
    return consumer;
  };
  /** A history of this length, of which the log has nothing yet; the API that shows the log; and a topic. */
  const stage = async (outcomes: number): Promise<void> => {
    scene = kafkaScene({ seed: 11, outcomes, brokers: () => [broker.address] });
    client = scene.client();
    shell = await startShell({ handlers: { listEvents: ({ from, limit }) => events({ log: scene.log, ownOrders: () => assert.fail('nobody asks for a trader') }, { from, limit }) } });
    const { topic } = scene.topic;
    options = { broker: broker.address, topic, group: topic, api: `http://127.0.0.1:${shell.port}`, file: join(directory, 'fills.ndjson') };
    await ensureTopic(client, scene.topic);
  };

  before(async () => { broker = await sharedBroker(); });
  beforeEach(() => { directory = mkdtempSync(join(tmpdir(), 'example-consumer-')); });
  afterEach(async () => {
    for (const consumer of running) await consumer.kill();
    running.clear();
    await scene.close();
    await shell.stop();
    rmSync(directory, { recursive: true });
  });

  const send = async (some: readonly SequencedMessage[]): Promise<void> => {
    for (let i = 0; i < some.length; i += 200) {
      await client.send(options.topic, some.slice(i, i + 200).map((each) => ({ partition: each.partition, ...encodeMessage(each) })));
    }
  };
  const hasAll = (): boolean => {
    const taken = new Map(consumedBy(options.file).map(({ partition, next }) => [partition, next]));
    return scene.expected().every(({ partition, seq }) => seq < (taken.get(partition) ?? 0));
  };
  /** Resolves when every message is taken, and checks that each fill was taken once. */
  const takesAll = async (): Promise<void> => {
    await until('every message is taken', hasAll);
    const fills = scene.expected().flatMap(({ message }) => message.type === 'FillMatched' ? [message] : []);
    assert.ok(fills.length > 20);
    assert.deepEqual(consumedBy(options.file).flatMap((line) => line.fills).toSorted((a, b) => a.fill - b.fill), fills);
  };

  it('has each fill once, killed again and again while two publishers send, one of which repeats itself, and a stranger', async () => {
    await stage(10_000);
    await scene.grow(1_000);
    scene.publisher();
    const forgetful = forgetfulCheckpoints();
    let repeater = scene.publisher(forgetful);
    let consumer = start();
    for (let kill = 1; kill <= KILLS; kill++) {
      const size = sizeOf(options.file) + Math.floor(Math.random() * 20_000);
      await until('the consumer goes on', () => sizeOf(options.file) > size || hasAll());
      const growing = scene.grow(1_500);
      if (kill % 2 === 0) await growing;
      await consumer.kill();
      await client.send(options.topic, [{ partition: kill % 8, key: null, value: Buffer.from('not ours'), headers: {} }]);
      // In another group it begins at the first message again.
      consumer = start(kill % 2 === 0 ? {} : { group: `${options.group}-${kill}` });
      await growing;
      await repeater.stop();
      repeater = scene.publisher(forgetful);
    }
    await takesAll();
    const offsets = await client.administer((admin) => admin.fetchTopicOffsets(options.topic));
    const sent = offsets.reduce((sum, { high }) => sum + Number(high), 0);
    assert.ok(sent > scene.expected().length + KILLS, 'messages were repeated');
  });

  it('heals from the history what retention has taken, and what was in a topic that was deleted', async () => {
    await stage(6_000);
    await scene.grow(3_000);
    const publisher = scene.publisher();
    await until('everything is published', () => (publisher.progress.at(-1)?.position ?? 0) >= 3_000);
    await client.administer(async (admin) => {
      const offsets = await admin.fetchTopicOffsets(options.topic);
      const partitions = offsets.map(({ partition, high }) => ({ partition, offset: String(Math.floor(Number(high) / (partition + 2))) }));
      await admin.deleteTopicRecords({ topic: options.topic, partitions });
    });
    const consumer = start();
    await takesAll();
    await consumer.kill();
    await scene.grow(1_500);
    await until('everything is published', () => (publisher.progress.at(-1)?.position ?? 0) >= 4_500);
    await client.administer((admin) => admin.deleteTopics({ topics: [options.topic] }));
    await scene.grow(1_500);
    await until('everything is published', () => (publisher.progress.at(-1)?.position ?? 0) >= 6_000);
    start();
    await takesAll();
  });

  it('heals a gap in the middle', async () => {
    await stage(3_000);
    await scene.grow(3_000);
    await send(scene.expected().filter(({ partition, seq }) => partition !== 5 || seq <= 100 || seq >= 150));
    start();
    await takesAll();
  });

  it('ends at a gap while the API does not answer, takes nothing beyond the gap, and goes on when it is started again', async () => {
    await stage(3_000);
    await scene.grow(3_000);
    await send(scene.expected().filter(({ partition, seq }) => partition !== 3 || seq < 20 || seq > 30));
    const { code, output } = await start({ api: 'http://127.0.0.1:1' }).ended;
    assert.equal(code, 1, output);
    assert.match(output, /fetch failed/);
    assert.ok(consumedBy(options.file).every(({ partition, next }) => partition !== 3 || next <= 20));
    start();
    await takesAll();
  });

  for (const [where, spoilt] of [['schema', 'FillMatched/2, v undefined'], ['v', 'MarketOpened/1, v 2']] as const) {
    it(`ends at a message of another version, by its ${where}, and takes neither it nor what is behind it`, async () => {
      await stage(3_000);
      await scene.grow(3_000);
      const [partition, type] = [3, spoilt.slice(0, spoilt.indexOf('/'))];
      const unknown = scene.expected().find((each) => each.partition === partition && each.message.type === type)!;
      const records = scene.expected().filter((each) => each.partition === partition).map((each) => ({ partition, ...encodeMessage(each) }));
      await client.send(options.topic, records.map((record, seq) => {
        if (seq !== unknown.seq) return record;
        if (where === 'schema') return { ...record, headers: { ...record.headers, schema: `${type}/2` } };
        return { ...record, value: Buffer.from(JSON.stringify({ ...unknown.message, v: 2 })) };
      }));
      const { code, output } = await start().ended;
      assert.equal(code, 1, output);
      assert.ok(output.includes(`message ${unknown.seq} of partition ${partition} is ${spoilt}: another version`), output);
      assert.ok(consumedBy(options.file).every(({ next }) => next <= unknown.seq));
    });
  }

  it('ends at a message whose event-id is not its own, and takes neither it nor what is behind it', async () => {
    await stage(3_000);
    await scene.grow(3_000);
    const forged = scene.expected().find(({ partition, message }) => partition === 3 && message.type === 'FillMatched')!;
    const records = scene.expected().filter(({ partition }) => partition === 3).map((each) => ({ partition: 3, ...encodeMessage(each) }));
    // Somebody who may write into the topic has put a fill of his own in the place of the exchange's, with the exchange's id.
    await client.send(options.topic, records.map((record, seq) => seq !== forged.seq
      ? record
      : { ...record, value: Buffer.from(JSON.stringify({ ...forged.message, size: '1' })), headers: { ...record.headers, digest: `0x${'12'.repeat(32)}` } }));
    const { code, output } = await start().ended;
    assert.equal(code, 1, output);
    assert.ok(output.includes(`message ${forged.seq} of partition 3 has an event-id that is not its own`), output);
    assert.ok(consumedBy(options.file).every(({ next }) => next <= forged.seq));
  });

  it('ends when what it has taken comes again, or is found, in another history', async () => {
    await stage(3_000);
    await scene.grow(3_000);
    scene.publisher();
    const consumer = start();
    await takesAll();
    await consumer.kill();
    const last = scene.expected().filter(({ partition }) => partition === 3).at(-1)!;
    const other = { ...last, digest: `0x${'12'.repeat(32)}` };
    await client.send(options.topic, [{ partition: 3, ...encodeMessage(other) }]);
    const isOther = new RegExp(`message ${last.seq} of partition 3 was taken with another digest: this is another history`);
    assert.match((await start().ended).output, isOther);
    // Behind a gap it is found in the history, and the file has another digest than that.
    writeFileSync(options.file, readFileSync(options.file, 'utf8').replaceAll(last.digest, other.digest));
    const behind = newTopic();
    await ensureTopic(client, { ...scene.topic, topic: behind });
    await client.send(behind, [{ partition: 3, ...encodeMessage({ ...last, seq: last.seq + 2 }) }]);
    assert.match((await start({ topic: behind, group: behind }).ended).output, isOther);
  });

  it('ends when the history has not got as far as the messages', async () => {
    await stage(3_000);
    await scene.grow(3_000);
    const behind = await startShell({ handlers: { listEvents: ({ from }) => ({ body: `{"events":[],"count":0,"next":${from}}`, position: 0 }) } });
    await send(scene.expected().filter(({ seq }) => seq > 0));
    const { code, output } = await start({ api: `http://127.0.0.1:${behind.port}` }).ended;
    await behind.stop();
    assert.equal(code, 1, output);
    assert.match(output, /the history has no message 0 of partition \d/);
    assert.deepEqual(consumedBy(options.file), []);
  });

  it('takes a line again that was half written when the machine went down', async () => {
    await stage(3_000);
    await scene.grow(3_000);
    scene.publisher();
    const consumer = start();
    await takesAll();
    await consumer.kill();
    truncateSync(options.file, sizeOf(options.file) - 7);
    assert.ok(!hasAll());
    start({ group: `${options.group}-again` });
    await takesAll();
  });
});

/** Keeps every ninth checkpoint only: a publisher that starts again by them repeats what it has sent since. */
function forgetfulCheckpoints(): PublisherCheckpoints {
  const kept = memoryCheckpoints();
  const opened: MarketOpenedMessage[] = [];
  let saves = 0;
  return {
    load: () => kept.load(),
    async save(change) {
      opened.push(...change.opened);
      if (++saves % 9 === 0) await kept.save({ ...change, opened });
    },
  };
}
