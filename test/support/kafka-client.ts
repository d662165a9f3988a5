/** Clients of a Kafka broker, each test's topic, and what a topic has. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openKafka, type KafkaAccess, type KafkaClient, type TopicRecord } from '../../command/feed/kafka/client.js';
import type { Report } from '../../engine/report.js';

export interface ReportingClient extends KafkaClient {
  /** What it has reported, as `level: text`. */
  readonly told: readonly string[];
}

export function clientTo(access: KafkaAccess & { readonly requestTimeoutMs?: number }): ReportingClient {
  const told: string[] = [];
  const report: Report = (level, text) => { told.push(`${level}: ${text}`); };
  return Object.assign(openKafka({ ...access, clientId: 'test', report }), { told });
}

/** The name of a topic that nobody has used. */
export function newTopic(): string {
  return `fills.test-${randomBytes(6).toString('hex')}`;
}

/** Everything that the topic has, each partition's messages in order. */
export async function contentOf(client: KafkaClient, topic: string): Promise<readonly TopicRecord[]> {
  const ends = await client.administer((admin) => admin.fetchTopicOffsets(topic));
  let missing = ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  const content: TopicRecord[] = [];
  if (missing === 0) return content;
  await new Promise<void>((resolve, reject) => {
    const read = (): Promise<void> => client.read({
      topic, group: `content-${randomBytes(6).toString('hex')}`,
      handle: ({ records }) => {
        content.push(...records);
        missing -= records.length;
        if (missing <= 0) resolve();
        return Promise.resolve(true);
      },
    }).catch(async (error: unknown) => {
      // A broker that has just started is not ready for groups at once: nothing has come yet.
      if (!(error as Error).message.includes('coordinator is loading')) throw error;
      await sleep(100);
      await read();
    });
    read().catch(reject);
  });
  return content;
}
