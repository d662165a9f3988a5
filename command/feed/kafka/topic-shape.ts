/**
 * What a topic of the fill feed is like, and how that differs from what the feed promises, with the command that mends
 * each difference.
 */
import { PARTITIONS } from '../messages.js';
import type { Admin } from './client.js';

/** The names that the published documents give the topics. Operators may choose others. */
export const TOPIC_NAME = 'fills.v1';
export const SIGNED_TOPIC_NAME = 'fills.v2';

export const RETENTION_MS = 14 * 24 * 60 * 60 * 1_000;

export interface TopicOptions {
  /** As `fills.v1`. */
  readonly topic: string;
  /** How many brokers have a copy, at least. */
  readonly replication: number;
  /** How many of them must have a message before it is acknowledged, at least. */
  readonly minInsync: number;
}

export interface TopicShape {
  readonly partitions: number;
  /** The fewest brokers that have a copy of a partition. */
  readonly replication: number;
  /** By the option's name. Undefined when this user may not describe them. */
  readonly options: ReadonlyMap<string, string> | undefined;
}

export interface TopicDifference {
  /** Goes on after the topic's name. */
  readonly text: string;
  /** Whether messages get other places or are lost between others, so that consumers see gaps. */
  readonly tearsSequences: boolean;
}

const TOPIC_RESOURCE = 2;

const OPTIONS = ['cleanup.policy', 'retention.ms', 'retention.bytes', 'min.insync.replicas', 'unclean.leader.election.enable'];

/** Throws what the client throws when it may not describe the topic, or the topic is not there. */
export async function shapeOf(admin: Admin, topic: string): Promise<TopicShape> {
  const { topics: [metadata] } = await admin.fetchTopicMetadata({ topics: [topic] });
  const partitions = metadata?.partitions ?? [];
  const replication = Math.min(...partitions.map(({ replicas }) => replicas.length));
  return { partitions: partitions.length, replication, options: await optionsOf(admin, topic) };
}

async function optionsOf(admin: Admin, topic: string): Promise<TopicShape['options']> {
  try {
    const { resources: [config] } = await admin.describeConfigs({
      resources: [{ type: TOPIC_RESOURCE, name: topic, configNames: OPTIONS }], includeSynonyms: false,
    });
    return new Map(config?.configEntries.map(({ configName, configValue }) => [configName, configValue]));
  } catch (error) {
    if ((error as { type?: unknown }).type === 'TOPIC_AUTHORIZATION_FAILED') return undefined;
    throw error;
  }
}

/** Of an option that is not known nothing is said. */
export function differences({ topic, replication, minInsync }: TopicOptions, shape: TopicShape): TopicDifference[] {
  const { options = new Map<string, string>() } = shape;
  const found: TopicDifference[] = [];
  const differs = (
    what: string, required: string, { mend, tearsSequences = false }: { mend: string; tearsSequences?: boolean },
  ): void => {
    found.push({ text: `has ${what}, not ${required}: ${mend}`, tearsSequences });
  };
  if (shape.partitions !== PARTITIONS) {
    const mend = shape.partitions < PARTITIONS
      ? kafkaTopics(`--alter --topic ${topic} --partitions ${PARTITIONS}`)
      : `${kafkaTopics(`--delete --topic ${topic}`)}; the role feed makes it again`;
    differs(`${shape.partitions} partitions`, String(PARTITIONS), { mend, tearsSequences: true });
  }
  if (shape.replication < replication) {
    differs(`${shape.replication} replicas`, `${replication} or more`, { mend: 'kafka-reassign-partitions.sh --bootstrap-server BROKER '
      + `--execute --reassignment-json-file FILE, with ${replication} brokers per partition in FILE; or set KAFKA_REPLICATION` });
  }
  for (const { option, required, value, fits, tearsSequences = false } of requiredOptions(minInsync)) {
    const is = options.get(option);
    if (is === undefined || fits(is)) continue;
    const mend = `kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name ${topic} --add-config ${option}=${value}`;
    differs(`${option}=${is}`, required, { mend, tearsSequences });
  }
  return found;
}

const kafkaTopics = (what: string): string => `kafka-topics.sh --bootstrap-server BROKER ${what}`;

interface RequiredOption {
  readonly option: string;
  readonly required: string;
  readonly value: string;
  readonly fits: (value: string) => boolean;
  readonly tearsSequences?: boolean;
}

function requiredOptions(minInsync: number): RequiredOption[] {
  return [
    { option: 'cleanup.policy', required: 'delete', value: 'delete', fits: (value) => value === 'delete', tearsSequences: true },
    {
      option: 'retention.ms', required: `${RETENTION_MS} or more`, value: String(RETENTION_MS),
      fits: (value) => Number(value) === -1 || Number(value) >= RETENTION_MS,
    },
    { option: 'retention.bytes', required: '-1', value: '-1', fits: (value) => Number(value) === -1 },
    {
      option: 'min.insync.replicas', required: `${minInsync} or more`, value: String(minInsync), fits: (value) => Number(value) >= minInsync,
    },
    { option: 'unclean.leader.election.enable', required: 'false', value: 'false', fits: (value) => value === 'false' },
  ];
}
