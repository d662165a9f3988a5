/** The topic of the fill feed: made with the shape that the feed needs, and refused with another one. */
import { pause } from '../../../engine/waiting.js';
import { PARTITIONS } from '../messages.js';
import type { KafkaClient } from './client.js';
import { RETENTION_MS, differences, shapeOf, type TopicOptions } from './topic-shape.js';

/** The topic is there, and the feed cannot use it. An operator must act. */
export class TopicRefused extends Error {
  constructor(topic: string, reason: string) {
    super(`the Kafka topic ${topic} ${reason}`);
    this.name = 'TopicRefused';
  }
}

const NO_RIGHT = 'is missing, or this user may not see it, and this user may not make it: give the user its rights, or make the topic, as docs/kafka.md says';

/** Looks whether the brokers have heard of a topic that was made, and the pause before each but the first. */
const LOOKS = 300;
const LOOK_MS = 100;

/**
 * Makes the topic where it is missing; says whether it was. Throws TopicRefused for a topic whose sequences would be
 * torn, when the cluster has too few brokers, and when they do not hear of the new topic.
 */
export async function ensureTopic(client: KafkaClient, options: TopicOptions, lookMs = LOOK_MS): Promise<boolean> {
  const { topic, replication, minInsync } = options;
  return await client.administer(async (admin) => {
    if ((await admin.listTopics()).includes(topic)) {
      const [unfit] = differences(options, await shapeOf(admin, topic)).filter(({ tearsSequences }) => tearsSequences);
      if (unfit !== undefined) throw new TopicRefused(topic, unfit.text);
      return false;
    }
    const { brokers } = await admin.describeCluster();
    if (brokers.length < replication) {
      throw new TopicRefused(topic, `cannot have ${replication} copies on ${brokers.length} broker${brokers.length === 1 ? '' : 's'}: start more, or set KAFKA_REPLICATION`);
    }
    const configEntries = Object.entries({
      'cleanup.policy': 'delete', 'retention.ms': String(RETENTION_MS), 'retention.bytes': '-1', 'min.insync.replicas': String(minInsync),
      'unclean.leader.election.enable': 'false',
    }).map(([name, value]) => ({ name, value }));
    const topics = [{ topic, numPartitions: PARTITIONS, replicationFactor: replication, configEntries }];
    // False where somebody was faster: most likely a try before, whose answer was lost. kafkajs' own wait for leaders
    // ends with an error when the broker that it asks has not heard of the topic yet.
    await admin.createTopics({ topics, waitForLeaders: false }).catch((error: unknown) => {
      throw isUnauthorized(error) ? new TopicRefused(topic, NO_RIGHT) : error;
    });
    for (let look = 0; look < LOOKS; look++) {
      if ((await admin.listTopics()).includes(topic)) return true;
      await pause(lookMs);
    }
    throw new TopicRefused(topic, 'was made, and the brokers do not list it: somebody deletes it, or this user may not describe it');
  });
}

/** kafkajs gives an error per topic, and says of all together nothing. */
function isUnauthorized(error: unknown): boolean {
  return (error as { errors?: readonly { type?: unknown }[] }).errors?.some(({ type }) => type === 'TOPIC_AUTHORIZATION_FAILED') ?? false;
}
