/** The feed role: publishes the fill feed in its Kafka topics. Of several processes one publishes. Without KAFKA_BROKERS it has nothing to do. */
import { runPublisher, type Publisher, type PublisherOptions } from '../../command/feed/kafka/run-publisher.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { encodeMessages } from '../../command/feed/messages.js';
import { createSignedEncoder } from '../../command/feed/signed-fills.js';
import { reading } from '../../engine/state-table.js';
import { kafkaOf } from '../feed/fill-feed.js';
import { NO_TOPIC } from '../feed/kafka-settings.js';
import { reportTo } from '../logger.js';
import { failureOf, neverFails } from '../process/failure.js';
import type { SharedParts } from '../process/shared-parts.js';
import { feedState, type FeedState } from './feed-state.js';
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
      return { routes: [], state: [], failed: neverFails, stop: () => Promise.resolve() };
    }
    const stopping = new AbortController();
    const open = await kafkaOf(parts, 'feed');
    const { kafkaReplication: replication, kafkaMinInsync: minInsync } = config;
    // Each follows the log by itself, so that what stops one topic does not stop the other.
    const published = encoders(parts).map(([topic, encode]): Published => ({ topic, publisher: runPublisher({
      open, topic: { topic, replication, minInsync }, encode, url: urls.outbox, logFeed: createLogFeed(log), log, signal: stopping.signal,
      report: reportTo(logger),
    }) }));
    return {
      routes: [], failed: failureOf(Promise.all(published.map(({ publisher }) => publisher.done))),
      state: [reading(feedState, () => published.map((each) => stateOf(each, parts)))],
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

function stateOf({ topic, publisher }: Published, { logLength }: Pick<SharedParts, 'logLength'>): FeedState {
  const { standby, position, trouble, topicTrouble, sent } = publisher.status();
  const lag = position === undefined ? null : Math.max(0, logLength() - position);
  return { topic, standby, position: position ?? null, lag, trouble: trouble ?? null, topicTrouble: topicTrouble ?? null, sent };
}
