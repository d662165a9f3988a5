/** A topic that the brokers take and never list: real brokers do not do this on demand. The others are in publisher.kafka.test.ts. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import type { Admin } from 'kafkajs';
import type { KafkaClient } from '../../command/feed/kafka/client.js';
import { ensureTopic, TopicRefused } from '../../command/feed/kafka/topic.js';

describe('a new Kafka topic', () => {
  /** A cluster that lists the topic from this look on. */
  function clusterThat({ listsFromLook }: { listsFromLook: number }) {
    const seen = { looks: 0, made: 0 };
    const admin = {
      listTopics: () => Promise.resolve(++seen.looks >= listsFromLook ? ['others', 'fills'] : ['others']),
      describeCluster: () => Promise.resolve({ brokers: [{}] }),
      createTopics() {
        seen.made++;
        return Promise.resolve(true);
      },
    } as unknown as Admin;
    const client: Pick<KafkaClient, 'administer'> = { administer: (work) => work(admin) };
    return { seen, ensure: () => ensureTopic(client as KafkaClient, { topic: 'fills', replication: 1, minInsync: 1 }, 0) };
  }

  it('is made once, and waited for until the brokers list it', async () => {
    const { seen, ensure } = clusterThat({ listsFromLook: 5 });
    equal(await ensure(), true);
    deepEqual(seen, { looks: 5, made: 1 });
  });

  it('is not waited for without end', async () => {
    const { seen, ensure } = clusterThat({ listsFromLook: Infinity });
    const refused = /^the Kafka topic fills was made, and the brokers do not list it/;
    await rejects(ensure(), (error) => error instanceof TopicRefused && refused.test(error.message));
    equal(seen.made, 1);
  });
});
