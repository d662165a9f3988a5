/** The feed role: publishes the fill feed in a Kafka topic. Of several processes one publishes. Without KAFKA_BROKERS it has nothing to do. */
import { runPublisher, type Publisher } from '../../command/feed/kafka/run-publisher.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { kafkaOf } from '../feed/fill-feed.js';
import { reportTo } from '../logger.js';
import type { Figure } from '../metrics.js';
import { failureOf, neverFails } from '../process/failure.js';
import type { FeedHealth } from '../process/readiness.js';
import type { SharedParts } from '../process/shared-parts.js';
import type { Role } from './role.js';

export const feed: Role = {
  async start(parts) {
    const { config, logger, log, urls } = parts;
    if (config.kafkaBrokers.length === 0) {
      logger.info('the fill feed is not published: KAFKA_BROKERS is not set, and settlement follows the log');
      return { routes: [], figures: [], failed: neverFails, health: () => ({ reasons: [] }), stop: () => Promise.resolve() };
    }
    const stopping = new AbortController();
    const publisher = runPublisher({
      open: await kafkaOf(parts, 'feed'), topic: { topic: config.kafkaTopic, replication: config.kafkaReplication, minInsync: config.kafkaMinInsync },
      url: urls.outbox, logFeed: createLogFeed(log), log, signal: stopping.signal, report: reportTo(logger),
    });
    const health = () => healthOf(publisher, parts);
    return {
      routes: [], figures: feedFigures(publisher, health), failed: failureOf(publisher.done), health: () => ({ reasons: [], feeds: [health()] }),
      async stop() {
        stopping.abort(new Error('the role stops'));
        await publisher.done.catch(() => undefined);
      },
    };
  },
};

function healthOf(publisher: Publisher, { config, logLength }: Pick<SharedParts, 'config' | 'logLength'>): FeedHealth {
  const { standby, position, trouble } = publisher.status();
  const lag = position === undefined ? null : Math.max(0, logLength() - position);
  return { topic: config.kafkaTopic, standby, position: position ?? null, lag, trouble: trouble ?? null };
}

function feedFigures(publisher: Publisher, health: () => FeedHealth): readonly Figure[] {
  return [
    { name: 'exchange_feed_holds', help: '1 while this process publishes the fill feed', read: () => health().standby ? 0 : 1 },
    { name: 'exchange_feed_lag_records', help: 'Number of records of the log whose messages are not published yet', read: () => health().lag ?? 0 },
    { name: 'exchange_feed_sent_messages', help: 'Number of messages of the fill feed that this process has sent', read: () => publisher.status().sent },
    { name: 'exchange_feed_troubled', help: '1 when the fill feed cannot be published', read: () => health().trouble === null ? 0 : 1 },
  ];
}
