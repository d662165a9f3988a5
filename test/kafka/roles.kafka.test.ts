/** The feed role in a process: it publishes where there are brokers, says how far it is, and does nothing without. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { decodeMessage } from '../../command/feed/messages.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { ConfigError, parseConfig } from '../../service/config.js';
import { kafkaOf, openFillFeed } from '../../service/process/fill-feed.js';
import { createLogger } from '../../service/logger.js';
import type { FeedState } from '../../command/feed/role-state.js';
import { startProcess, type ExchangeProcess } from '../../service/process/process.js';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { clientTo, contentOf, newTopic } from '../support/kafka-client.js';
import { sharedBroker } from '../support/shared-broker.js';
import { WITHOUT_FSYNC, testDatabase, type TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

describe('kafka: the feed role', () => {
  let broker: KafkaBroker;
  let database: TestDatabase;
  let directory: string;
  let running: ExchangeProcess | undefined;
  const lines: string[] = [];
  const output = new Writable({ write: (chunk: Buffer, _encoding, written) => { lines.push(chunk.toString()); written(); } });

  before(async () => {
    [broker, database, directory] = await Promise.all([sharedBroker(), testDatabase(), mkdtemp(join(tmpdir(), 'prediction-exchange-feed-'))]);
  });
  afterEach(async () => {
    for (const { run } of running?.stopSteps ?? []) await run();
    running = undefined;
    lines.splice(0);
  });
  after(async () => { await rm(directory, { recursive: true }); });

  async function start(environment: Record<string, string>): Promise<void> {
    const config = parseConfig({ ROLES: 'indexer engine feed', PORT: '0', DATABASE_URL: database.url, DATA_DIR: directory, ...WITHOUT_FSYNC, ...environment });
    const urls = { log: database.url, readModels: database.url, outbox: database.url };
    running = await startProcess(config, { urls, chains: [] }, createLogger(config, output));
  }

  const health = async () => await (await fetch(`${running?.url}/health/ready`)).json() as { feeds?: readonly FeedState[] };

  const published = (count: number) => until('everything is published', async () => {
    const { feeds = [] } = await health();
    return feeds.length === count && feeds.every(({ lag, position }) => lag === 0 && position !== 0);
  });

  it('publishes in both topics the markets that the exchange has opened, and shows that it is done', async () => {
    const topics = [newTopic(), newTopic()] as const;
    await start({ KAFKA_BROKERS: broker.address, KAFKA_TOPIC: topics[0], KAFKA_TOPIC_V2: topics[1], KAFKA_REPLICATION: '1' });
    await published(2);
    const { feeds = [] } = await health();
    assert.deepEqual(feeds.map((feed) => ({ ...feed, position: 0 })), topics.map((topic) => (
      { topic, standby: false, position: 0, lag: 0, problem: null, topicProblem: null })));
    const client = clientTo({ brokers: [broker.address] });
    const metrics = await (await fetch(`${running?.url}/metrics`)).text();
    for (const topic of topics) {
      const types = (await contentOf(client, topic)).map((record) => decodeMessage(record).message.type);
      assert.deepEqual([types.length > 0, new Set(types)], [true, new Set(['MarketOpened'])]);
      const shows = (figure: string, value: number) => { assert.ok(metrics.includes(`\n${figure}{topic="${topic}"} ${value}\n`), figure); };
      shows('exchange_feed_sent_messages', types.length);
      shows('exchange_feed_lag_records', 0);
      shows('exchange_feed_blocked', 0);
      shows('exchange_feed_topic_wrong', 0);
    }
    await client.close();
  });

  it('says in readiness, metrics and log what is wrong with a topic, and goes on with the other one when it cannot publish it', async () => {
    const [kept, compacted] = [newTopic(), newTopic()];
    const client = clientTo({ brokers: [broker.address] });
    const configEntries = (policy: string) => [{ name: 'cleanup.policy', value: policy }, { name: 'retention.ms', value: '3600000' }];
    await client.administer(async (admin) => {
      await admin.createTopics({ waitForLeaders: false, topics: [
        { topic: kept, numPartitions: 8, configEntries: configEntries('delete') }, { topic: compacted, numPartitions: 8, configEntries: configEntries('compact') },
      ] });
      await until('both are there', async () => {
        const topics = await admin.listTopics();
        return [kept, compacted].every((topic) => topics.includes(topic));
      });
    });
    await client.close();
    await start({ KAFKA_BROKERS: broker.address, KAFKA_TOPIC: kept, KAFKA_TOPIC_V2: compacted, KAFKA_REPLICATION: '1' });
    await until('it is told', async () => {
      const [first, second] = (await health()).feeds ?? [];
      return first?.lag === 0 && /retention\.ms=3600000, not /.test(first.topicProblem ?? '') && /cleanup\.policy=compact, not /.test(second?.problem ?? '');
    });
    const metrics = await (await fetch(`${running?.url}/metrics`)).text();
    assert.ok(metrics.includes(`exchange_feed_topic_wrong{topic="${kept}"} 1\n`));
    assert.ok(metrics.includes(`exchange_feed_blocked{topic="${kept}"} 0\n`));
    assert.ok(metrics.includes(`exchange_feed_blocked{topic="${compacted}"} 1\n`));
    const errors = lines.filter((line) => (JSON.parse(line) as { level: unknown }).level === 'error' || line.includes('"level":50'));
    assert.equal(errors.filter((line) => line.includes('retention.ms=3600000, not 1209600000 or more: kafka-configs.sh ')).length, 1, errors.join(''));
  });

  it('publishes no second topic where none is wanted', async () => {
    const topic = newTopic();
    await start({ KAFKA_BROKERS: broker.address, KAFKA_TOPIC: topic, KAFKA_TOPIC_V2: 'none', KAFKA_REPLICATION: '1' });
    await published(1);
    assert.deepEqual((await health()).feeds?.map((feed) => feed.topic), [topic]);
  });

  it('says in readiness why it cannot publish, while the rest of the process works', async () => {
    await start({ KAFKA_BROKERS: '127.0.0.1:1', KAFKA_TOPIC: newTopic(), KAFKA_TOPIC_V2: newTopic() });
    await until('it has a problem', async () => /ECONNREFUSED/.test((await health()).feeds?.[0]?.problem ?? ''));
    assert.equal((await fetch(`${running?.url}/health/ready`)).status, 200);
  });

  it('does nothing without brokers, and says so', async () => {
    await start({});
    assert.equal((await health()).feeds, undefined);
    assert.ok(lines.some((line) => line.includes('KAFKA_BROKERS is not set')));
  });

  it('reaches a cluster by the certificates of a file and the password, and names a file that cannot be read', async () => {
    const { address, ca, username, password } = broker.secured;
    const secured = { KAFKA_SSL: join(directory, 'ca.pem'), KAFKA_PASSWORD: password };
    const parts = (environment: Record<string, string>) => {
      const config = parseConfig({ KAFKA_BROKERS: address, KAFKA_USERNAME: username, ...environment });
      return { config, logger: createLogger(config, output), log: createMemoryLog() };
    };
    await assert.rejects(openFillFeed(parts(secured)), (error) => (
      error instanceof ConfigError && /KAFKA_SSL: .*ca\.pem cannot be read: ENOENT$/.test(error.message)));
    await writeFile(secured.KAFKA_SSL, ca);
    const client = (await kafkaOf(parts(secured), 'test'))();
    assert.equal((await client.administer((admin) => admin.describeCluster())).brokers.length, 1);
    await client.close();
    assert.equal((await openFillFeed(parts(secured))).transport, 'kafka');
    assert.equal((await openFillFeed({ ...parts(secured), config: parseConfig({}) })).transport, 'log');
    assert.ok(lines.every((line) => !line.includes(password)));
  });
});
