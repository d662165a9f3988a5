/**
 * Publishes the fill feed in a Kafka topic: one send in flight, a checkpoint after its acknowledgement, so that a crash
 * only repeats messages.
 */
import { LogUnavailable, type Log } from '../../../engine/log/log.js';
import { decodeOutcome } from '../../../engine/records/codec.js';
import { orAborted, retrying, within, type Backoff } from '../../../engine/waiting.js';
import type { Report } from '../../../engine/report.js';
import { ForeignFeed, type FillFeed } from '../fill-feed.js';
import type { AddressedMessage, MarketOpenedMessage, SequencedMessage } from '../messages.js';
import { least, partitionsAfter, type FeedBatch, type FeedPosition, type PartitionPosition } from '../sequence.js';
import type { KafkaClient, OutgoingRecord } from './client.js';
import { ensureTopic, TopicRefused } from './topic.js';
import type { TopicOptions } from './topic-shape.js';

/** A message's outcome. */
export interface Newest {
  readonly position: number;
  readonly digest: string;
}

export interface PublisherCheckpoint {
  readonly position: FeedPosition;
  /** The newest message that is published; undefined before the first. */
  readonly newest: Newest | undefined;
}

export interface CheckpointChange {
  readonly partitions: readonly PartitionPosition[];
  readonly newest: Newest | undefined;
  /** Markets whose MarketOpened is published now. */
  readonly opened: readonly MarketOpenedMessage[];
}

export interface PublisherCheckpoints {
  load(): Promise<PublisherCheckpoint>;
  save(change: CheckpointChange): Promise<void>;
}

export interface PublishOptions {
  readonly client: KafkaClient;
  readonly topic: TopicOptions;
  /** The messages as the topic has them, in the same order. Throws LogUnavailable. */
  readonly encode: (messages: readonly SequencedMessage[]) => Promise<readonly AddressedMessage[]>;
  readonly checkpoints: PublisherCheckpoints;
  /** The feed from the log. */
  readonly logFeed: FillFeed;
  readonly log: Pick<Log, 'read'>;
  readonly report: Report;
  readonly signal: AbortSignal;
}

export interface PublishProgress {
  /** All messages of the outcomes below this log position are in the topic. */
  readonly position: number;
  /** How many messages were sent with this step. */
  readonly sent: number;
}

/** More per send are slower to be acknowledged, and not many more per second. */
export const SEND_MESSAGES = 200;
/** A send that takes longer may wait for a topic that is gone. */
const LOOK_MS = 1_000;
/** How often a checkpoint is saved while there are no messages. */
const QUIET_SAVE_MS = 5_000;
const BACKOFF: Backoff = { firstMs: 100, longestMs: 5_000 };

/**
 * Publishes until the signal aborts; tells where it begins, and every step that has succeeded. Throws ForeignFeed,
 * TopicRefused, MalformedRecord, and what `encode` and `checkpoints` throw.
 */
export async function* publish(options: PublishOptions): AsyncGenerator<PublishProgress, undefined> {
  const { client, topic, checkpoints, logFeed, report, signal } = options;
  const { position, newest: last } = await checkpoints.load();
  await checkHistory(options, last);
  if (signal.aborted) return undefined;
  if (await orAborted(ensureTopic(client, topic), signal)) {
    if (last === undefined) report('info', `the Kafka topic ${topic.topic} is made`);
    else tellGone(options);
  }
  let { partitions } = position;
  let newest = last;
  let savedMs = performance.now();
  yield { position: least(partitions), sent: 0 };
  for await (const batch of logFeed.follow(position, signal)) {
    for (const part of partsOf(batch)) {
      await send(options, part.messages);
      partitions = partitionsAfter(partitions, part);
      newest = newestOf(part.messages) ?? newest;
      if (part.messages.length > 0 || performance.now() - savedMs > QUIET_SAVE_MS) {
        await checkpoints.save({ partitions, newest, opened: openedIn(part.messages) });
        savedMs = performance.now();
      }
      yield { position: least(partitions), sent: part.messages.length };
    }
  }
  return undefined;
}

/** The batch in parts that are sent at once; only the last one reaches as far as the batch. */
export function partsOf({ messages, reached }: FeedBatch): FeedBatch[] {
  const parts: FeedBatch[] = [];
  for (let from = 0; from < messages.length; from += SEND_MESSAGES) parts.push(
    { messages: messages.slice(from, from + SEND_MESSAGES) },
  );
  const last = parts.pop() ?? { messages: [] };
  return [...parts, reached === undefined ? last : { ...last, reached }];
}

function newestOf(messages: readonly SequencedMessage[]): Newest | undefined {
  const last = messages.at(-1);
  return last === undefined ? undefined : { position: last.message.position, digest: last.digest };
}

function openedIn(messages: readonly SequencedMessage[]): MarketOpenedMessage[] {
  return messages.flatMap(({ message }) => message.type === 'MarketOpened' ? [message] : []);
}

/** Resolves when the brokers have the messages. Throws the signal's reason, TopicRefused, and what `encode` throws. */
async function send(
  { client, topic, encode, report, signal }: PublishOptions, messages: readonly SequencedMessage[],
): Promise<void> {
  if (messages.length === 0) return;
  const records = await orAborted(encode(messages), signal);
  await retrying(() => orAborted(sendWhere({ client, topic, report }, records), signal), {
    backoff: BACKOFF, signal, canPass: (error) => !(error instanceof TopicRefused),
    failed(error) { report('warn', `Kafka refuses messages of the fill feed: ${(error as Error).message}`); },
  });
}

/**
 * kafkajs waits for a topic that is gone as it waits for a broker; so the topic is looked for while a send takes long.
 */
async function sendWhere({ client, topic, report }: Pick<PublishOptions, 'client' | 'topic' | 'report'>, records: readonly OutgoingRecord[]): Promise<void> {
  const sending = client.send(topic.topic, records).then(() => true);
  sending.catch(() => undefined);
  while (await within(sending, LOOK_MS) === undefined) {
    const looking = ensureTopic(client, topic).then((made) => {
      if (made) tellGone({ topic, report });
      return false;
    }).catch((error: unknown) => {
      // Two sends at once lose and double messages: this one is waited for, whatever the look has met.
      if (error instanceof TopicRefused) throw error;
      return false;
    });
    looking.catch(() => undefined);
    if (await Promise.race([sending, looking])) return;
  }
}

function tellGone({ topic: { topic }, report }: Pick<PublishOptions, 'topic' | 'report'>): void {
  report('alert', `the Kafka topic ${topic} was gone and is made again: what it had is lost to those who had not read it`);
}

/** Throws ForeignFeed when the log does not have the newest message's outcome. */
async function checkHistory({ log, signal }: Pick<PublishOptions, 'log' | 'signal'>, newest: Newest | undefined): Promise<void> {
  if (newest === undefined) return;
  const [record] = await retrying(() => log.read('outcomes', newest.position, 1), { backoff: BACKOFF, signal, canPass: (error) => error instanceof LogUnavailable });
  if (record === undefined) throw new ForeignFeed(`the fill feed is published up to outcome ${newest.position}, which the log does not have`);
  if (decodeOutcome(record.data).digest !== newest.digest) {
    throw new ForeignFeed(`the fill feed is published up to outcome ${newest.position}, which has another digest in the log`);
  }
}
