/** How a Kafka topic differs from what the feed promises, what mends it, and that each difference is told once while it lasts. */
import { deepEqual, equal } from 'node:assert/strict';
import type { Admin } from 'kafkajs';
import type { KafkaClient } from '../../command/feed/kafka/client.js';
import { differences, type TopicShape } from '../../command/feed/kafka/topic-shape.js';
import { createTopicWatch } from '../../command/feed/kafka/topic-watch.js';
import { until } from '../support/until.js';

const TOPIC = { topic: 'fills', replication: 3, minInsync: 2 };
const OPTIONS = {
  'cleanup.policy': 'delete', 'retention.ms': '1209600000', 'retention.bytes': '-1', 'min.insync.replicas': '2', 'unclean.leader.election.enable': 'false',
};
const ALTER = 'kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name fills --add-config';

const REASSIGN = 'kafka-reassign-partitions.sh --bootstrap-server BROKER --execute --reassignment-json-file FILE, with 3 brokers per partition in FILE; '
  + 'or set KAFKA_REPLICATION';

type Changed = { readonly partitions?: number; readonly replication?: number } & Record<string, unknown>;

function shape({ partitions = 8, replication = 3, ...options }: Changed = {}): TopicShape {
  return { partitions, replication, options: new Map(Object.entries({ ...OPTIONS, ...options as Record<string, string> })) };
}

describe('the shape of a Kafka topic', () => {
  it('differs from none when it is as the feed makes it, or keeps more', () => {
    for (const fine of [shape(), shape({ 'retention.ms': '-1' }), shape({ 'retention.ms': '1209600001', 'replication': 5, 'min.insync.replicas': '3' })]) {
      deepEqual(differences(TOPIC, fine), []);
    }
  });

  for (const [what, changed, text, tearsSequences] of [
    ['too few partitions', { partitions: 4 }, 'has 4 partitions, not 8: kafka-topics.sh --bootstrap-server BROKER --alter --topic fills --partitions 8', true],
    ['too many partitions', { partitions: 9 }, 'has 9 partitions, not 8: kafka-topics.sh --bootstrap-server BROKER --delete --topic fills; the role feed makes it again', true],
    ['compaction', { 'cleanup.policy': 'compact,delete' }, `has cleanup.policy=compact,delete, not delete: ${ALTER} cleanup.policy=delete`, true],
    ['a short retention', { 'retention.ms': '3600000' }, `has retention.ms=3600000, not 1209600000 or more: ${ALTER} retention.ms=1209600000`, false],
    ['a bound of bytes', { 'retention.bytes': '1000000' }, `has retention.bytes=1000000, not -1: ${ALTER} retention.bytes=-1`, false],
    ['one copy in step', { 'min.insync.replicas': '1' }, `has min.insync.replicas=1, not 2 or more: ${ALTER} min.insync.replicas=2`, false],
    ['unclean elections', { 'unclean.leader.election.enable': 'true' },
      `has unclean.leader.election.enable=true, not false: ${ALTER} unclean.leader.election.enable=false`, false],
    ['too few copies', { replication: 1 }, `has 1 replicas, not 3 or more: ${REASSIGN}`, false],
  ] as const) {
    it(`differs by ${what}, and says what mends it`, () => { deepEqual(differences(TOPIC, shape(changed)), [{ text, tearsSequences }]); });
  }

  it('is not judged by options that may not be described', () => { deepEqual(differences(TOPIC, { ...shape(), options: undefined }), []); });
});

describe('the watch over a Kafka topic', () => {
  /** A cluster whose topic the test changes; `undefined` options may not be described. */
  function watched(options: Record<string, string> | undefined) {
    const found = { options, looks: 0, failure: undefined as string | undefined };
    const admin = {
      fetchTopicMetadata: () => Promise.resolve({ topics: [{ partitions: Array.from({ length: 8 }, () => ({ replicas: [1, 2, 3] })) }] }),
      describeConfigs() {
        found.looks++;
        if (found.failure !== undefined) return Promise.reject(new Error(found.failure));
        if (found.options === undefined) return Promise.reject(Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' }));
        const configEntries = Object.entries(found.options).map(([configName, configValue]) => ({ configName, configValue }));
        return Promise.resolve({ resources: [{ configEntries }] });
      },
    } as unknown as Admin;
    const told: string[] = [];
    const client: Pick<KafkaClient, 'administer'> = { administer: (work) => work(admin) };
    const watch = createTopicWatch({ client: client as KafkaClient, topic: TOPIC, report: (level, text) => { told.push(`${level}: ${text}`); }, everyMs: 0 });
    const stopping = new AbortController();
    const watching = watch.watch(stopping.signal);
    return {
      found, told, watch,
      looksAgain: async () => {
        const { looks } = found;
        await until('it has looked twice', () => found.looks >= looks + 2);
      },
      async stop() {
        stopping.abort();
        await watching;
      },
    };
  }

  it('tells a difference once, tells that it is mended, and tells it again when it comes back', async () => {
    const { found, told, watch, looksAgain, stop } = watched(OPTIONS);
    await looksAgain();
    deepEqual([told, watch.problem()], [[], undefined]);
    const short = `the Kafka topic fills has retention.ms=1, not 1209600000 or more: ${ALTER} retention.ms=1209600000`;
    found.options = { ...OPTIONS, 'retention.ms': '1' };
    await looksAgain();
    deepEqual([told, watch.problem()], [[`alert: ${short}`], short]);
    found.options = OPTIONS;
    await looksAgain();
    deepEqual([told.slice(1), watch.problem()], [['info: the Kafka topic fills is as it must be again'], undefined]);
    found.options = { ...OPTIONS, 'retention.ms': '1' };
    await looksAgain();
    deepEqual(told.slice(2), [`alert: ${short}`]);
    await stop();
  });

  it('says once that it may not describe the options, and goes on', async () => {
    const { told, watch, looksAgain, stop } = watched(undefined);
    await looksAgain();
    equal(watch.problem(), undefined);
    deepEqual(told, ['warn: the options of the Kafka topic fills are not checked: this user needs the right DescribeConfigs on the topic']);
    await stop();
  });

  it('says once that it cannot look, and why, until it can again', async () => {
    const { found, told, looksAgain, stop } = watched(OPTIONS);
    for (const failure of ['not supported', undefined, 'not supported']) {
      found.failure = failure;
      await looksAgain();
    }
    await stop();
    const line = 'warn: the watch of the Kafka topic fills waits: not supported';
    deepEqual(told, [line, 'info: the watch of the Kafka topic fills goes on', line]);
  });
});
