/** The feed role: publishes the fill feed in its Kafka topics. Of several processes one publishes. Without KAFKA_BROKERS it has nothing to do. */
import type { KafkaClient } from '../../command/feed/kafka/client.js';
import { runPublisher, type OpenCheckpoints, type Publisher, type PublisherOptions } from '../../command/feed/kafka/run-publisher.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { encodeMessages } from '../../command/feed/messages.js';
import { createSignedEncoder } from '../../command/feed/signed-fills.js';
import type { Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import type { Figure, Labelled } from '../status/metrics.js';
import { failureOf, neverFails } from '../process/failure.js';
import type { FeedHealth } from '../status/readiness.js';
import type { Role } from './role.js';

/** A topic with what publishes it. */
interface Published {
  readonly topic: string;
  readonly publisher: Publisher;
}

export interface FeedPorts {
  readonly log: Log;
  /** Number of commands in the log, at most about a second old. */
  readonly logLength: () => number;
  /** Undefined without Kafka: then settlement follows the log. */
  readonly kafka: FeedKafka | undefined;
  readonly openCheckpoints: OpenCheckpoints;
  readonly report: Report;
}

/** The cluster, and the topic of each version of the messages; version 2 may be left out. */
export interface FeedKafka {
  readonly open: () => KafkaClient;
  readonly topic: string;
  readonly topicV2: string | undefined;
  readonly replication: number;
  readonly minInsync: number;
}

export const feed: Role<FeedPorts> = {
  start({ kafka, log, logLength, openCheckpoints, report }) {
    if (kafka === undefined) {
      report('note', 'the fill feed is not published: KAFKA_BROKERS is not set, and settlement follows the log');
      return Promise.resolve({ routes: [], figures: [], failed: neverFails, health: () => ({ reasons: [] }), stop: () => Promise.resolve() });
    }
    const stopping = new AbortController();
    const { open, replication, minInsync } = kafka;
    // Each follows the log by itself, so that what stops one topic does not stop the other.
    const published = encoders(kafka, log).map(([topic, encode]): Published => ({ topic, publisher: runPublisher({
      open, topic: { topic, replication, minInsync }, encode, openCheckpoints, logFeed: createLogFeed(log), log, signal: stopping.signal, report,
    }) }));
    const healths = () => published.map((each) => healthOf(each, logLength()));
    return Promise.resolve({
      routes: [], figures: feedFigures(published, healths), failed: failureOf(Promise.all(published.map(({ publisher }) => publisher.done))),
      health: () => ({ reasons: [], feeds: healths() }),
      async stop() {
        stopping.abort(new Error('the role stops'));
        await Promise.allSettled(published.map(({ publisher }) => publisher.done));
      },
    });
  },
};

/** How each topic has its messages. */
function encoders({ topic, topicV2 }: FeedKafka, log: Log): readonly (readonly [string, PublisherOptions['encode']])[] {
  return [[topic, encodeMessages], ...topicV2 === undefined ? [] : [[topicV2, createSignedEncoder(log)] as const]];
}

function healthOf({ topic, publisher }: Published, logLength: number): FeedHealth {
  const { standby, position, trouble, topicTrouble } = publisher.status();
  const lag = position === undefined ? null : Math.max(0, logLength - position);
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
