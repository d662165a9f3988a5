/** The documented example of a consumer has each fill exactly once: killed at random, with messages that are repeated, and that are missing. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KafkaClient } from '../../command/feed/kafka/client.js';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import { encodeMessage, type SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { events } from '../../query/events.js';
import { sizeOf, startExampleConsumer, takenBy, type ExampleConsumer, type ExampleOptions } from '../support/example-consumer.js';
import { feedHistory } from '../support/feed-history.js';
import { sharedBroker, type KafkaBroker } from '../support/kafka-broker.js';
import { clientTo, newTopic, until } from '../support/kafka-client.js';
import { startShell, type RunningShell } from '../support/shell.js';

const history = feedHistory(11, 10_000);
const sequencer = createSequencer(FEED_START);
const messages = history.outcomes.flatMap((outcome) => sequencer.take(outcome));
const fills = messages.flatMap(({ message }) => message.type === 'FillMatched' ? [message] : []);

describe('kafka: the example consumer', () => {
  let broker: KafkaBroker;
  let shell: RunningShell;
  let client: KafkaClient;
  let directory: string;
  let options: ExampleOptions;
  const running = new Set<ExampleConsumer>();
  const start = (changed: Partial<ExampleOptions> = {}): ExampleConsumer => {
    const consumer = startExampleConsumer({ ...options, ...changed });
    running.add(consumer);
    return consumer;
  };

  before(async () => {
    broker = await sharedBroker();
    const log = createMemoryLog();
    for (const [stream, records] of [['commands', history.commands], ['outcomes', history.records]] as const) {
      for (let i = 0; i < records.length; i += 500) await log.append(stream, records.slice(i, i + 500));
    }
    shell = await startShell({ handlers: { listEvents: ({ from, limit }) => events(log, { from, limit }) } });
  });
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'example-consumer-'));
    client = clientTo({ brokers: [broker.address] });
    const topic = newTopic();
    options = { broker: broker.address, topic, group: topic, api: `http://127.0.0.1:${shell.port}`, file: join(directory, 'fills.ndjson') };
    await ensureTopic(client, { topic, replication: 1, minInsync: 1 });
  });
  afterEach(async () => {
    for (const consumer of running) await consumer.kill();
    running.clear();
    await client.close();
    rmSync(directory, { recursive: true });
  });
  after(async () => { await shell.stop(); });

  const send = async (some: readonly SequencedMessage[]) => {
    for (let i = 0; i < some.length; i += 200) {
      await client.send(options.topic, some.slice(i, i + 200).map((each) => ({ partition: each.partition, ...encodeMessage(each) })));
    }
  };
  const hasTaken = (some: readonly SequencedMessage[]) => {
    const taken = new Map(takenBy(options.file).map(({ partition, next }) => [partition, next]));
    return some.every(({ partition, seq }) => seq < (taken.get(partition) ?? 0));
  };
  const hasAll = () => hasTaken(messages);
  const assertOnce = () => {
    const taken = takenBy(options.file).flatMap((line) => line.fills);
    assert.deepEqual(taken.toSorted((a, b) => a.fill - b.fill), fills);
  };

  it('has each fill once, killed again and again while two publishers send, one of which repeats, and a stranger', async () => {
    assert.ok(fills.length > 300, String(fills.length));
    let consumer = start();
    let kills = 0;
    const publishing = (async () => {
      for (let i = 0; i < messages.length; i += 100) {
        await send(messages.slice(i, i + 100));
        await send(messages.slice(Math.max(0, i - 350), Math.max(0, i - 150)));
        await client.send(options.topic, [{ partition: i / 100 % 8, key: null, value: Buffer.from('not ours'), headers: {} }]);
        await until('the consumer is killed as often as it should be by now', () => kills >= Math.floor(6 * i / messages.length));
      }
    })();
    while (kills < 6) {
      const size = sizeOf(options.file) + Math.floor(Math.random() * 20_000);
      await until('the consumer goes on', () => sizeOf(options.file) > size || hasAll());
      await consumer.kill();
      kills++;
      // In another group it begins at the first message again.
      consumer = start(kills % 2 === 0 ? {} : { group: `${options.group}-${kills}` });
    }
    await publishing;
    await until('every message is taken', hasAll);
    assertOnce();
  });

  it('heals gaps from the history: at the start, in the middle, and of a topic that was made again', async () => {
    const early = messages.slice(0, messages.length / 2);
    const consumer = start();
    await send(early.filter(({ partition, seq }) => !(partition === 2 && seq < 40) && !(partition === 5 && seq > 100 && seq < 300)));
    await until('the first half is taken', () => hasTaken(early));
    await consumer.kill();
    await client.administer((admin) => admin.deleteTopics({ topics: [options.topic] }));
    await until('the topic is made again', () => ensureTopic(client, { topic: options.topic, replication: 1, minInsync: 1 }).catch(() => false));
    start();
    await send(messages.slice(messages.length - 400));
    await until('every message is taken', hasAll);
    assertOnce();
  });

  it('ends at a gap while the API does not answer, takes nothing beyond the gap, and goes on when it is started again', async () => {
    await send(messages.filter(({ partition, seq }) => partition !== 3 || seq < 20 || seq > 30));
    const { code, output } = await start({ api: 'http://127.0.0.1:1' }).ended;
    assert.equal(code, 1, output);
    assert.match(output, /fetch failed/);
    assert.ok(takenBy(options.file).every(({ partition, next }) => partition !== 3 || next <= 20));
    start();
    await until('every message is taken', hasAll);
    assertOnce();
  });

  it('ends when the history has not got as far as the messages', async () => {
    const behind = await startShell({ handlers: { listEvents: ({ from }) => ({ body: `{"events":[],"count":0,"next":${from}}`, position: 0 }) } });
    await send(messages.filter(({ seq }) => seq > 0));
    const { code, output } = await start({ api: `http://127.0.0.1:${behind.port}` }).ended;
    await behind.stop();
    assert.equal(code, 1, output);
    assert.match(output, /the history has no message 0 of partition \d/);
    assert.deepEqual(takenBy(options.file), []);
  });

  it('takes a line again that was half written when the machine went down', async () => {
    await send(messages);
    const consumer = start();
    await until('every message is taken', hasAll);
    await consumer.kill();
    truncateSync(options.file, sizeOf(options.file) - 7);
    assert.ok(!hasAll());
    start({ group: `${options.group}-again` });
    await until('every message is taken', hasAll);
    assertOnce();
  });
});
