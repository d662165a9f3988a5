/** The feed role: publishes the fill feed in its Kafka topics. Of several processes one publishes. Without KAFKA_BROKERS it has nothing to do. */
import { runPublisher, type Publisher, type PublisherOptions } from '../../command/feed/kafka/run-publisher.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { encodeMessages } from '../../command/feed/messages.js';
import { createSignedEncoder } from '../../command/feed/signed-fills.js';
import { kafkaOf } from '../feed/fill-feed.js';
import { NO_TOPIC } from '../feed/kafka-settings.js';
import { reportTo } from '../logger.js';
import type { Figure, Labelled } from '../status/metrics.js';
import { failureOf, neverFails } from '../process/failure.js';
import type { FeedHealth } from '../status/readiness.js';
import type { SharedParts } from '../process/shared-parts.js';
import type { Role } from './role.js';

/** A topic with what publishes it. */
interface Published {
  readonly topic: string;
  readonly publisher: Publisher;
}

export const feed: Role = {
  async start(parts) {
    const { config, logger, log, urls } = parts;
    if (config.kafkaBrokers.length === 0) {
      logger.info('the fill feed is not published: KAFKA_BROKERS is not set, and settlement follows the log');
      return { routes: [], figures: [], failed: neverFails, health: () => ({ reasons: [] }), stop: () => Promise.resolve() };
    }
    const stopping = new AbortController();
    const open = await kafkaOf(parts, 'feed');
    const { kafkaReplication: replication, kafkaMinInsync: minInsync } = config;
    // Each follows the log by itself, so that what stops one topic does not stop the other.
    const published = encoders(parts).map(([topic, encode]): Published => ({ topic, publisher: runPublisher({
      open, topic: { topic, replication, minInsync }, encode, url: urls.outbox, logFeed: createLogFeed(log), log, signal: stopping.signal,
      report: reportTo(logger),
    }) }));
    const healths = () => published.map((each) => healthOf(each, parts));
    return {
      routes: [], figures: feedFigures(published, healths), failed: failureOf(Promise.all(published.map(({ publisher }) => publisher.done))),
      health: () => ({ reasons: [], feeds: healths() }),
      async stop() {
        stopping.abort(new Error('the role stops'));
        await Promise.allSettled(published.map(({ publisher }) => publisher.done));
      },
    };
  },
};

/** How each topic has its messages. */
function encoders({ config, log }: Pick<SharedParts, 'config' | 'log'>): readonly (readonly [string, PublisherOptions['encode']])[] {
  const { kafkaTopic, kafkaTopicV2 } = config;
  return [[kafkaTopic, encodeMessages], ...kafkaTopicV2 === NO_TOPIC ? [] : [[kafkaTopicV2, createSignedEncoder(log)] as const]];
}

function healthOf({ topic, publisher }: Published, { logLength }: Pick<SharedParts, 'logLength'>): FeedHealth {
  const { standby, position, trouble, topicTrouble } = publisher.status();
  const lag = position === undefined ? null : Math.max(0, logLength() - position);
  return { topic, standby, position: position ?? null, lag, trouble: trouble ?? null, topicTrouble: topicTrouble ?? null };
}

function feedFigures(published: readonly Published[], healths: () => readonly FeedHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (health: FeedHealth) => number): Figure => (
    { name, help, read: () => healths().map((health): Labelled => ({ labels: { topic: health.topic }, value: value(health) })) });
  return [
    figure('exchange_feed_holds', '1 while this process publishes the fill feed', ({ standby }) => standby ? 0 : 1),
    figure('exchange_feed_lag_records', 'Number of records of the log whose messages are not published yet', ({ lag }) => lag ?? 0),
    figure('exchange_feed_troubled', '1 when the fill feed cannot be published', ({ trouble }) => trouble === null ? 0 : 1),
    figure('exchange_feed_topic_troubled', '1 when the topic is not as the feed promises', ({ topicTrouble }) => topicTrouble === null ? 0 : 1),
    {
      name: 'exchange_feed_sent_messages', help: 'Number of messages of the fill feed that this process has sent',
      read: () => published.map(({ topic, publisher }): Labelled => ({ labels: { topic }, value: publisher.status().sent })),
    },
  ];
}
