/** The topic of the fill feed: made with the shape that the feed needs, and refused with another one. */
import { pause } from '../../../engine/waiting.js';
import { PARTITIONS } from '../messages.js';
import type { KafkaClient } from './client.js';

export interface TopicOptions {
  /** As `fills.v1`. */
  readonly topic: string;
  /** How many brokers have a copy, when the topic is made here. */
  readonly replication: number;
  /** How many of them must have a message before it is acknowledged, when the topic is made here. */
  readonly minInsync: number;
}

/** The topic is there, and the feed cannot use it. An operator must act. */
export class TopicRefused extends Error {
  constructor(topic: string, reason: string) {
    super(`the Kafka topic ${topic} ${reason}`);
    this.name = 'TopicRefused';
  }
}

/** The name that the published documents give it. Operators may choose another. */
export const TOPIC_NAME = 'fills.v1';

export const RETENTION_MS = 14 * 24 * 60 * 60 * 1_000;

const TOPIC = 2;
/** Looks whether the brokers have heard of a topic that was made, and the pause before each but the first. */
const LOOKS = 300;
const LOOK_MS = 100;

/**
 * Makes the topic where it is missing; says whether it was. Throws TopicRefused for a topic of another shape, when the cluster has too few
 * brokers, and when they do not hear of the new topic.
 */
export async function ensureTopic(client: KafkaClient, { topic, replication, minInsync }: TopicOptions, lookMs = LOOK_MS): Promise<boolean> {
  return await client.administer(async (admin) => {
    if ((await admin.listTopics()).includes(topic)) {
      const { topics: [metadata] } = await admin.fetchTopicMetadata({ topics: [topic] });
      const { resources: [config] } = await admin.describeConfigs({
        resources: [{ type: TOPIC, name: topic, configNames: ['cleanup.policy', 'retention.ms'] }], includeSynonyms: false,
      });
      const entries = new Map(config?.configEntries.map(({ configName, configValue }) => [configName, configValue]));
      checkShape(topic, { partitions: metadata?.partitions.length ?? 0, policy: entries.get('cleanup.policy') ?? '' });
      return false;
    }
    const { brokers } = await admin.describeCluster();
    if (brokers.length < replication) {
      throw new TopicRefused(topic, `cannot have ${replication} copies on ${brokers.length} broker${brokers.length === 1 ? '' : 's'}: start more, or set KAFKA_REPLICATION`);
    }
    const configEntries = Object.entries({
      'cleanup.policy': 'delete', 'retention.ms': String(RETENTION_MS), 'min.insync.replicas': String(minInsync), 'unclean.leader.election.enable': 'false',
    }).map(([name, value]) => ({ name, value }));
    const topics = [{ topic, numPartitions: PARTITIONS, replicationFactor: replication, configEntries }];
    // False where somebody was faster: most likely a try before, whose answer was lost. kafkajs' own wait for leaders ends with an error when the
    // broker that it asks has not heard of the topic yet.
    await admin.createTopics({ topics, waitForLeaders: false });
    for (let look = 0; look < LOOKS; look++) {
      if ((await admin.listTopics()).includes(topic)) return true;
      await pause(lookMs);
    }
    throw new TopicRefused(topic, 'was made, and the brokers do not list it: somebody deletes it, or this user may not describe it');
  });
}

/** Compaction would tear the sequences; another number of partitions would put markets elsewhere. */
function checkShape(topic: string, { partitions, policy }: { partitions: number; policy: string }): void {
  if (partitions !== PARTITIONS) throw new TopicRefused(topic, `has ${partitions} partitions, not ${PARTITIONS}: delete it, or name another one by KAFKA_TOPIC`);
  if (policy !== 'delete') throw new TopicRefused(topic, `has cleanup.policy=${policy}, which loses messages of the feed: set it to delete`);
}
