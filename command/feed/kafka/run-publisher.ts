/** Keeps the fill feed published: of several processes one publishes, and begins again after every failure that can pass. */
import { LogUnavailable } from '../../../engine/log/log.js';
import { backoffMs, pause, type Backoff } from '../../../engine/waiting.js';
import { OutboxUnavailable } from '../../lane/requests.js';
import { openCheckpoints, type CheckpointOptions } from './checkpoints.js';
import { publish, type PublishOptions } from './publisher.js';
import { TopicRefused } from './topic.js';
import { createTopicWatch } from './topic-watch.js';
import type { KafkaClient } from './client.js';

export interface PublisherOptions extends Pick<PublishOptions, 'topic' | 'encode' | 'logFeed' | 'log' | 'report' | 'signal'>, Pick<CheckpointOptions, 'url' | 'standByMs'> {
  /** Opens the client, which is closed when the publisher has ended. */
  readonly open: () => KafkaClient;
  readonly backoff?: Backoff;
  /** How often the topic's shape is looked at while this process publishes. Default a minute. */
  readonly lookMs?: number;
}

export interface PublisherStatus {
  /** Another process publishes. */
  readonly standby: boolean;
  /** All messages of the outcomes below this log position are published; undefined while this process does not know. */
  readonly position: number | undefined;
  /** How many messages this process has sent. */
  readonly sent: number;
  /** Why nothing can be published; undefined when it can. */
  readonly trouble: string | undefined;
  /** What of the topic is not as it must be, though messages can be published; undefined when nothing is known to be. */
  readonly topicTrouble: string | undefined;
}

export interface Publisher {
  /** Resolves when the publisher has ended after `signal`. Rejects with an error that trying again cannot help: ForeignFeed among them. */
  readonly done: Promise<void>;
  status(): PublisherStatus;
}

const BACKOFF: Backoff = { firstMs: 100, longestMs: 5_000 };

export function runPublisher(options: PublisherOptions): Publisher {
  const client = options.open();
  const { lookMs } = options;
  const topicWatch = createTopicWatch({ client, topic: options.topic, report: options.report, ...lookMs === undefined ? {} : { everyMs: lookMs } });
  const state = { standby: false, position: undefined as number | undefined, sent: 0, failure: undefined as string | undefined };

  async function publishOnce(): Promise<void> {
    const { topic, url, signal, standByMs } = options;
    const standingBy = (): void => { Object.assign(state, { standby: true, position: undefined, failure: undefined }); };
    const checkpoints = await openCheckpoints({ topic: topic.topic, url, signal, standingBy, ...standByMs === undefined ? {} : { standByMs } });
    state.standby = false;
    const over = new AbortController();
    const watch = { over: undefined as Promise<void> | undefined };
    try {
      await publish({
        ...options, client, checkpoints,
        progress: ({ position, sent }) => {
          // The first says that the topic is there.
          watch.over ??= topicWatch.watch(AbortSignal.any([signal, over.signal]));
          Object.assign(state, { position, sent: state.sent + sent, failure: undefined });
        },
      });
    } finally {
      over.abort();
      await watch.over;
      await checkpoints.close();
    }
  }

  async function keepPublishing(): Promise<void> {
    const { signal, report, backoff = BACKOFF } = options;
    try {
      for (let failures = 1; !signal.aborted; failures++) {
        const before = state.sent;
        try {
          await publishOnce();
        } catch (error) {
          if (signal.aborted) return;
          if (!canPass(error)) throw error;
          if (state.sent > before) failures = 1;
          const level = error instanceof TopicRefused ? 'alarm' : 'trouble';
          if (state.failure !== error.message) report(level, `the fill feed is not published in ${options.topic.topic}: ${error.message}`);
          state.failure = error.message;
        }
        await pause(backoffMs(failures, backoff), signal);
      }
    } finally {
      await client.close();
    }
  }

  return {
    done: keepPublishing(),
    status: () => ({
      standby: state.standby, position: state.position, sent: state.sent, trouble: state.failure ?? client.trouble(),
      topicTrouble: state.standby ? undefined : topicWatch.trouble(),
    }),
  };
}

function canPass(error: unknown): error is Error {
  return error instanceof OutboxUnavailable || error instanceof LogUnavailable || error instanceof TopicRefused || isOfKafka(error);
}

/** As an authorization that is missing. An operator may mend it. */
function isOfKafka(error: unknown): error is Error {
  return error instanceof Error && error.name.startsWith('KafkaJS');
}
