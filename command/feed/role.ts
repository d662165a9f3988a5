/**
 * The feed role: publishes the fill feed in its Kafka topics. Of several processes one publishes. Without KAFKA_BROKERS
 * it has nothing to do.
 */
import type { Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import { failureOf, neverFails, type Role } from '../../engine/running-role.js';
import { reading } from '../../engine/state-table.js';
import type { KafkaClient } from './kafka/client.js';
import { runPublisher, type OpenCheckpoints, type Publisher, type PublisherOptions } from './kafka/run-publisher.js';
import { createLogFeed } from './log-feed.js';
import { encodeMessages } from './messages.js';
import { feedState, type FeedState } from './role-state.js';
import { createSignedEncoder } from './signed-fills.js';

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
      report('info', 'the fill feed is not published: KAFKA_BROKERS is not set, and settlement follows the log');
      return Promise.resolve({ state: [], failed: neverFails(), stop: () => Promise.resolve() });
    }
    const stopping = new AbortController();
    const { open, replication, minInsync } = kafka;
    // Each follows the log by itself, so that what stops one topic does not stop the other.
    const published = encoders(kafka, log).map(([topic, encode]): Published => ({ topic, publisher: runPublisher({
      open, topic: { topic, replication, minInsync }, encode, openCheckpoints, logFeed: createLogFeed(log), log,
      signal: stopping.signal, report,
    }) }));
    return Promise.resolve({
      failed: failureOf(Promise.all(published.map(({ publisher }) => publisher.done))),
      state: [reading(feedState, () => published.map((each) => stateOf(each, logLength())))],
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

function stateOf({ topic, publisher }: Published, logLength: number): FeedState {
  const { standby, position, problem, topicProblem, sent } = publisher.status();
  const lag = position === undefined ? null : Math.max(0, logLength - position);
  return {
    topic, standby, position: position ?? null, lag, problem: problem ?? null, topicProblem: topicProblem ?? null, sent,
  };
}
