/** Looks every minute whether a topic of the fill feed is still as the feed promises: others may change it while it is published. */
import { orAborted, pause } from '../../../engine/waiting.js';
import type { Report } from '../../../engine/report.js';
import type { KafkaClient } from './client.js';
import { differences, shapeOf, type TopicOptions, type TopicShape } from './topic-shape.js';

export interface TopicWatch {
  /** What is not as it must be, with the commands that mend it; undefined when nothing is, or nobody has looked. */
  trouble(): string | undefined;
  /** Looks until the signal aborts. Never rejects. */
  watch(signal: AbortSignal): Promise<void>;
}

const EVERY_MS = 60_000;

/** Each difference is reported once, and again only after it was mended. */
export function createTopicWatch(
  { client, topic: options, report, everyMs = EVERY_MS }: { client: KafkaClient; topic: TopicOptions; report: Report; everyMs?: number },
): TopicWatch {
  const { topic } = options;
  let known: readonly string[] = [];
  let unauthorizedTold = false;
  let failure: string | undefined;

  function heard(shape: TopicShape): void {
    if (shape.options === undefined && !unauthorizedTold) {
      unauthorizedTold = true;
      report('trouble', `the options of the Kafka topic ${topic} are not checked: this user needs the right DescribeConfigs on the topic`);
    }
    const found = differences(options, shape).map(({ text }) => text);
    for (const text of found) if (!known.includes(text)) report('alarm', `the Kafka topic ${topic} ${text}`);
    if (found.length === 0 && known.length > 0) report('note', `the Kafka topic ${topic} is as it must be again`);
    known = found;
  }

  return {
    trouble: () => known.length === 0 ? undefined : known.map((text) => `the Kafka topic ${topic} ${text}`).join('\n'),
    async watch(signal) {
      while (!signal.aborted) {
        try {
          // While no broker answers, this waits.
          heard(await orAborted(client.administer((admin) => shapeOf(admin, topic)), signal));
          failure = undefined;
        } catch (error) {
          // The publisher makes a topic that is gone again, and begins again when it may not.
          const { message } = error as Error;
          if (!signal.aborted && message !== failure) report('trouble', `the Kafka topic ${topic} could not be looked at: ${message}`);
          failure = message;
        }
        await pause(everyMs, signal);
      }
    },
  };
}
