/** What the publisher of the fill feed says of itself, per Kafka topic. */
import * as field from '../../engine/records/answer-fields.js';
import { Type, type Static } from '../../engine/records/schema-types.js';
import type { StateTable } from '../../engine/state-table.js';

const schema = field.answer('FeedReadiness', {
  topic: Type.String({ description: 'Kafka\'s topic.' }),
  standby: Type.Boolean({ description: 'Another process publishes the fill feed.' }),
  position: field.orNull(field.integer('Number of command outcomes.'),
    'Number of command outcomes whose messages are published; null while that is not known.'),
  lag: field.orNull(field.integer('Number of commands.'),
    'Number of commands whose messages are not published yet; null while that is not known.'),
  problem: field.orNull(Type.String(), 'Why nothing can be published; null when it can.'),
  topicProblem: field.orNull(Type.String(),
    'What of the topic is not as the feed promises, with what mends it; null when nothing is known to be.'),
});

export interface FeedState extends Static<typeof schema> {
  /** Messages that this process has sent. */
  readonly sent: number;
}

export const feedState: StateTable<FeedState> = {
  labels: { topic: ({ topic }) => topic },
  shows: {
    part: 'feeds', schema,
    description: 'State of the feed role, with KAFKA_BROKERS: how far the fill feed is published in each of its topics.',
  },
  rows: [
    {
      name: 'exchange_feed_holds', help: '1 while this process publishes the fill feed', value: ({ standby }) => standby ? 0 : 1,
      alerts: [{
        name: 'ExchangeNoFeed', severity: 'warning', when: { promql: 'max by (topic) (exchange_feed_holds) == 0' }, forS: 60,
        means: 'No feed process publishes fills in the Kafka topic {topic}.',
        todo: 'Other consumers of the feed wait. Start a feed process, or look why none takes over.',
      }],
    },
    {
      name: 'exchange_feed_lag_records', help: 'Number of records of the log whose messages are not published yet',
      value: ({ lag }) => lag ?? 0,
      alerts: [{
        name: 'ExchangeFeedBehind', severity: 'warning', when: { above: 10_000 }, forS: 300,
        means: 'The fill feed in the Kafka topic {topic} is {value} records behind.',
        todo: 'The brokers, or the processor of the feed process.',
      }],
    },
    {
      name: 'exchange_feed_blocked', help: '1 when the fill feed cannot be published',
      value: ({ problem }) => problem === null ? 0 : 1, cause: ({ problem }) => problem,
      alerts: [{
        name: 'ExchangeFeedBlocked', severity: 'warning', when: { is: 1 }, forS: 120,
        means: '{instance} cannot publish fills in the Kafka topic {topic}.',
        todo: 'Other consumers of the feed wait. feeds[].problem of its /health/ready says why.',
      }],
    },
    {
      name: 'exchange_feed_topic_wrong', help: '1 when the topic is not as the feed promises',
      value: ({ topicProblem }) => topicProblem === null ? 0 : 1,
      alerts: [{
        name: 'ExchangeFeedTopicWrong', severity: 'warning', forS: 0,
        when: { promql: 'max by (topic) (exchange_feed_topic_wrong) == 1' },
        means: 'The Kafka topic {topic} is not as the fill feed promises.',
        todo: 'Consumers may lose messages. feeds[].topicProblem of /health/ready has the command that mends it.',
      }],
    },
    {
      name: 'exchange_feed_sent_messages', help: 'Number of messages of the fill feed that this process has sent',
      value: ({ sent }) => sent,
    },
  ],
};
