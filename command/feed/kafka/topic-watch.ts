/**
 * Looks every minute whether a topic of the fill feed is still as the feed promises: others may change it while it is
 * published.
 */
import { startRounds } from '../../../engine/reactor.js';
import { orAborted, pause, steady } from '../../../engine/waiting.js';
import type { Report } from '../../../engine/report.js';
import type { KafkaClient } from './client.js';
import { differences, shapeOf, type TopicOptions, type TopicShape } from './topic-shape.js';

export interface TopicWatch {
  /** What is not as it must be, with the commands that mend it; undefined when nothing is, or nobody has looked. */
  problem(): string | undefined;
  /** Looks until the signal aborts. Never rejects. */
  watch(signal: AbortSignal): Promise<void>;
}

const EVERY_MS = 60_000;

/** Each difference is reported once, and again only after it was mended. */
export function createTopicWatch(
  { client, topic: options, report, everyMs = EVERY_MS }: {
    client: KafkaClient;
    topic: TopicOptions;
    report: Report;
    everyMs?: number;
  },
): TopicWatch {
  const { topic } = options;
  let known: readonly string[] = [];
  let unauthorizedReported = false;

  function heard(shape: TopicShape): void {
    if (shape.options === undefined && !unauthorizedReported) {
      unauthorizedReported = true;
      report('warn', `the options of the Kafka topic ${topic} are not checked: this user needs the right DescribeConfigs on the topic`);
    }
    const found = differences(options, shape).map(({ text }) => text);
    for (const text of found) if (!known.includes(text)) report('alert', `the Kafka topic ${topic} ${text}`);
    if (found.length === 0 && known.length > 0) report('info', `the Kafka topic ${topic} is as it must be again`);
    known = found;
  }

  return {
    problem: () => known.length === 0 ? undefined : known.map((text) => `the Kafka topic ${topic} ${text}`).join('\n'),
    watch: (signal) => startRounds({
      // While no broker answers, this waits. The publisher makes a topic that is gone again, and begins again when it
      // may not.
      async round() { heard(await orAborted(client.administer((admin) => shapeOf(admin, topic)), signal)); },
      rest: () => pause(everyMs, signal),
      backoff: steady(everyMs), who: `the watch of the Kafka topic ${topic}`, report, signal,
    }).done,
  };
}
