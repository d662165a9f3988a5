/** The fill feed as the settings say: through Kafka, or straight from the log. */
import { readFile } from 'node:fs/promises';
import { openKafka, type KafkaAccess, type KafkaClient } from '../../command/feed/kafka/client.js';
import { createKafkaFeed, type OpenFeed } from '../../command/feed/kafka/kafka-feed.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import type { Log } from '../../engine/log/log.js';
import { ConfigError, type Config } from '../config.js';
import { reportTo, type Logger } from '../logger.js';

interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly logger: Logger;
}

/**
 * The feed that settlement follows: by Kafka where KAFKA_BROKERS is set. Throws ConfigError for a file that cannot be
 * read.
 */
export async function openFillFeed({ config, log, logger }: Parts): Promise<OpenFeed> {
  const logFeed = createLogFeed(log);
  if (config.kafkaBrokers.length === 0) return { feed: logFeed, transport: 'log', status: () => undefined };
  const open = await kafkaOf({ config, logger }, 'settlement');
  const feed = createKafkaFeed({
    open, topic: config.kafkaTopic, group: config.kafkaGroup, logFeed, log, report: reportTo(logger),
  });
  return { feed, transport: 'kafka', status: () => feed.status() };
}

/** What opens clients of the cluster that the settings name. Reads the files that they name, once. */
export async function kafkaOf({ config, logger }: Pick<Parts, 'config' | 'logger'>, purpose: string): Promise<() => KafkaClient> {
  const access = await accessOf(config);
  return () => openKafka({ ...access, clientId: `prediction-exchange-${purpose}`, report: reportTo(logger) });
}

async function accessOf(config: Config): Promise<KafkaAccess> {
  const { kafkaSsl: tls } = config;
  return {
    brokers: config.kafkaBrokers,
    ...tls === false ? {} : { tls: tls === true ? {} : { ca: await contentOf('KAFKA_SSL', tls) } },
    ...config.kafkaUsername === '' ? {} : { user: { mechanism: config.kafkaMechanism, username: config.kafkaUsername, password: config.kafkaPassword } },
  };
}

async function contentOf(name: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ConfigError([`${name}: ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`]);
  }
}
