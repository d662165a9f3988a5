/**
 * Keeps the fill feed published: of several processes one publishes, and begins again after every failure that can
 * pass.
 */
import { LogUnavailable } from '../../../engine/log/log.js';
import { startReactor, type StandBy } from '../../../engine/reactor.js';
import type { Backoff } from '../../../engine/waiting.js';
import { OutboxUnavailable } from '../../lane/requests.js';
import type { HeldCheckpoints } from './checkpoints.js';
import { publish, type PublishProgress, type PublishOptions } from './publisher.js';
import { TopicRefused } from './topic.js';
import { createTopicWatch } from './topic-watch.js';
import type { KafkaClient } from './client.js';

export type OpenCheckpoints = (session: StandBy & { readonly topic: string }) => Promise<HeldCheckpoints>;

export interface PublisherOptions extends Pick<PublishOptions, 'topic' | 'encode' | 'logFeed' | 'log' | 'report' | 'signal'> {
  /** Opens the session whose holder publishes the topic, and which keeps how far it has got. */
  readonly openCheckpoints: OpenCheckpoints;
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
  readonly problem: string | undefined;
  /**
   * What of the topic is not as it must be, though messages can be published; undefined when nothing is known to be.
   */
  readonly topicProblem: string | undefined;
}

export interface Publisher {
  /**
   * Resolves when the publisher has ended after `signal`. Rejects with an error that trying again cannot help:
   * ForeignFeed among them.
   */
  readonly done: Promise<void>;
  status(): PublisherStatus;
}

const BACKOFF: Backoff = { firstMs: 100, longestMs: 5_000 };

/** What a publisher has while its session lasts. */
interface PublisherSession {
  readonly checkpoints: HeldCheckpoints;
  readonly steps: AsyncGenerator<PublishProgress, undefined>;
  readonly over: AbortController;
  watching?: Promise<void>;
}

export function runPublisher(options: PublisherOptions): Publisher {
  const { topic, openCheckpoints, lookMs, signal, report, backoff = BACKOFF } = options;
  const client = options.open();
  const topicWatch = createTopicWatch({ client, topic, report, ...lookMs === undefined ? {} : { everyMs: lookMs } });
  let position: number | undefined;
  let sent = 0;
  const reactor = startReactor<PublisherSession>({
    async hold(standBy) {
      const checkpoints = await openCheckpoints({ ...standBy, topic: topic.topic });
      position = undefined;
      return { checkpoints, steps: publish({ ...options, client, checkpoints }), over: new AbortController() };
    },
    async round(session) {
      const { value: step } = await session.steps.next();
      if (step === undefined) return;
      // The first says that the topic is there.
      session.watching ??= topicWatch.watch(AbortSignal.any([signal, session.over.signal]));
      position = step.position;
      sent += step.sent;
    },
    async release({ checkpoints, steps, over, watching }) {
      over.abort();
      await Promise.all([watching, steps.return(undefined)]);
      await checkpoints.close();
    },
    isLoss: () => true, canPass,
    level: (error) => error instanceof TopicRefused ? 'alert' : 'warn',
    backoff, who: `the fill feed in ${topic.topic}`, report, signal,
  });
  return {
    done: reactor.done.finally(() => client.close()),
    status() {
      const standby = reactor.standsBy();
      return {
        standby, position: standby ? undefined : position, sent, problem: reactor.problem() ?? client.problem(),
        topicProblem: standby ? undefined : topicWatch.problem(),
      };
    },
  };
}

function canPass(error: unknown): error is Error {
  return error instanceof OutboxUnavailable || error instanceof LogUnavailable || error instanceof TopicRefused
    || isOfKafka(error);
}

/** As an authorization that is missing. An operator may mend it. */
function isOfKafka(error: unknown): error is Error {
  return error instanceof Error && error.name.startsWith('KafkaJS');
}
