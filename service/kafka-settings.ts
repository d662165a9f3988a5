/** What the settings about Kafka must be, each alone and together. */
import { flag, isLoopback, SettingError, text, type Parse } from './settings.js';

/** `host:port` of a broker; an IPv6 address is in brackets. */
export function broker(value: string): string {
  const { host = '', port = '' } = /^(?<host>\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9][a-zA-Z0-9.-]{0,252}):(?<port>\d{1,5})$/.exec(value)?.groups ?? {};
  if (host === '' || Number(port) < 1 || Number(port) > 65_535) throw new SettingError('expected brokers as host:port, separated by commas or spaces');
  return value;
}

/** The name of a topic or a consumer group. */
export const kafkaName: Parse<string> = (value) => {
  if (!/^[a-zA-Z0-9._-]{1,249}$/.test(value) || value === '.' || value === '..') throw new SettingError('expected at most 249 letters, digits, dots, hyphens and underscores');
  return value;
};

/** Whether the brokers are reached by TLS, or the path of the file with the certificates that theirs are checked by. */
export const kafkaTls: Parse<boolean | string> = (value) => value === 'true' || value === 'false' ? flag(value) : text(1_000)(value);

/** In place of a topic's name: there is none. */
export const NO_TOPIC = 'none';

/** The settings about Kafka as far as they depend on each other. */
export interface KafkaSettings {
  readonly kafkaBrokers: readonly string[];
  readonly kafkaTopic: string;
  readonly kafkaTopicV2: string;
  readonly kafkaSsl: boolean | string;
  readonly kafkaUsername: string;
  readonly kafkaPassword: string;
  readonly kafkaMechanism: string;
}

/** Those that count only with KAFKA_BROKERS. */
export const KAFKA_DETAILS = [
  'KAFKA_TOPIC', 'KAFKA_TOPIC_V2', 'KAFKA_GROUP', 'KAFKA_SSL', 'KAFKA_USERNAME', 'KAFKA_PASSWORD', 'KAFKA_MECHANISM', 'KAFKA_REPLICATION',
] as const;

/**
 * How many of a topic's copies must have a message before it counts as published: without one of them, publishing goes
 * on.
 */
export function minInsyncOf(replication: number): number {
  return Math.max(1, replication - 1);
}

/** What is wrong with the settings together. */
export function kafkaProblems(settings: KafkaSettings, isGiven: (name: string) => boolean): string[] {
  const { kafkaBrokers, kafkaTopic, kafkaTopicV2, kafkaSsl, kafkaUsername, kafkaPassword, kafkaMechanism } = settings;
  if (kafkaBrokers.length === 0) return KAFKA_DETAILS.filter(isGiven).map((name) => `${name}: has no effect without KAFKA_BROKERS: unset it, or set KAFKA_BROKERS`);
  const problems: string[] = [];
  if (kafkaUsername !== '' && kafkaPassword === '') problems.push('KAFKA_USERNAME: needs KAFKA_PASSWORD');
  if (kafkaUsername === '' && kafkaPassword !== '') problems.push('KAFKA_USERNAME: is missing, since there is a password');
  if (kafkaUsername !== '' && kafkaMechanism === 'plain' && kafkaSsl === false && !kafkaBrokers.every((each) => isLoopback(each.replace(/:\d+$/, '')))) {
    problems.push('KAFKA_MECHANISM: plain shows the password to the network without KAFKA_SSL');
  }
  if (kafkaTopic === kafkaTopicV2) problems.push('KAFKA_TOPIC_V2: expected another topic than KAFKA_TOPIC: each version has numbers of its own');
  if (kafkaTopic === NO_TOPIC) problems.push('KAFKA_TOPIC: expected the name of a topic; only KAFKA_TOPIC_V2 may be none');
  return problems;
}
