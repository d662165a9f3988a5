/** A random history in a log that grows, published in a topic of its own, and followed by Kafka: what has come is compared with the sequence. */
import assert from 'node:assert/strict';
import { createKafkaFeed, type KafkaFeed, type KafkaFeedOptions } from '../../command/feed/kafka/kafka-feed.js';
import type { KafkaClient } from '../../command/feed/kafka/client.js';
import { publish, type PublisherCheckpoint, type PublisherCheckpoints, type PublishProgress, type PublishOptions } from '../../command/feed/kafka/publisher.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { encodeMessages, type SequencedMessage } from '../../command/feed/messages.js';
import { createSequencer, FEED_START, partitionsAfter, type FeedPosition } from '../../command/feed/sequence.js';
import type { Log, NewRecord } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { feedHistory } from './feed-history.js';
import { clientTo, newTopic, type ReportingClient } from './kafka-client.js';
import { appendAll } from './log-records.js';
import { until } from './until.js';

export interface KafkaScene {
  readonly topic: { readonly topic: string; readonly replication: 1; readonly minInsync: 1 };
  readonly log: Log;
  /** Appends so many commands with their outcomes more, at most those that the history has. */
  grow(outcomes: number): Promise<void>;
  /** The messages of the outcomes that the log has. */
  expected(): readonly SequencedMessage[];
  /** A new client of the cluster. It is closed with the scene. */
  client(): ReportingClient;
  /** Publishes until `stop`, or until the checkpoints throw. */
  publisher(checkpoints?: PublisherCheckpoints, encode?: PublishOptions['encode']): Task & { readonly progress: readonly PublishProgress[]; readonly told: readonly string[] };
  /** Follows the topic from a position on. */
  follower(options?: Partial<KafkaFeedOptions> & { readonly from?: FeedPosition }): Follower;
  close(): Promise<void>;
}

export interface Task {
  /** Rejects with the error that has ended it. */
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

export interface Follower extends Task {
  readonly feed: KafkaFeed;
  readonly told: readonly string[];
  /** In the order in which they came; a message out of its place ends the follower with an error. */
  readonly messages: readonly SequencedMessage[];
  /** Resolves when everything that the log has now has come, and checks it. */
  hasAll(): Promise<void>;
}

export interface SceneOptions {
  readonly seed: number;
  readonly outcomes: number;
  /** Where clients connect. */
  readonly brokers: () => readonly string[];
}

export function kafkaScene({ seed, outcomes, brokers }: SceneOptions): KafkaScene {
  const { outcomes: all, records, commands } = feedHistory(seed, outcomes);
  const log = createMemoryLog();
  const logFeed = createLogFeed(log);
  const topic = { topic: newTopic(), replication: 1, minInsync: 1 } as const;
  const closing: (() => Promise<void>)[] = [];
  const history = growing({ log, records, commands });

  // Asked again and again while a test waits: only what has come since is sequenced.
  const sequencer = createSequencer(FEED_START);
  const sequenced: SequencedMessage[] = [];
  let taken = 0;
  const expected = (): readonly SequencedMessage[] => {
    for (; taken < history.length(); taken++) sequenced.push(...sequencer.take(all[taken]!));
    return sequenced;
  };
  const client = (): ReportingClient => {
    const opened = clientTo({ brokers: brokers(), requestTimeoutMs: 1_000 });
    closing.push(() => opened.close());
    return opened;
  };
  const task = (work: (signal: AbortSignal) => Promise<void>): Task => {
    const started = startTask(work);
    closing.push(() => started.stop().catch(() => undefined));
    return started;
  };

  return {
    topic, log, expected, client,
    grow: (more) => history.grow(more),
    publisher(checkpoints = memoryCheckpoints(), encode = encodeMessages) {
      const progress: PublishProgress[] = [];
      const [told, own] = [new Array<string>(), client()];
      const report = (level: string, text: string): void => { told.push(`${level}: ${text}`); };
      const running = task((signal) => (
        publishAll({ client: own, topic, encode, checkpoints, logFeed, log, signal, report }, progress).finally(() => own.close())));
      return { ...running, progress, told };
    },
    follower({ from = FEED_START, ...options } = {}) {
      const messages: SequencedMessage[] = [];
      const told: string[] = [];
      const feed = createKafkaFeed({
        open: (): KafkaClient => client(), topic: topic.topic, group: topic.topic, logFeed, log, report: (level, text) => { told.push(`${level}: ${text}`); },
        idleMs: 1_000, ...options,
      });
      let { partitions } = from;
      const running = task(async (signal) => {
        for await (const batch of feed.follow(from, signal)) {
          partitions = partitionsAfter(partitions, batch);
          messages.push(...batch.messages);
        }
      });
      return {
        ...running, feed, messages, told,
        async hasAll() {
          const all = expected().filter(({ partition, seq }) => seq >= (from.partitions[partition]?.nextSeq ?? 0));
          await Promise.race([running.done, until(`${all.length} messages of ${topic.topic}`, () => messages.length >= all.length)]);
          assert.deepEqual(inPlace(messages), inPlace(all));
        },
      };
    },
    async close() {
      for (const close of closing.splice(0).reverse()) await close();
      await log.close();
    },
  };
}

/** Several may let it grow at once. */
function growing({ log, records, commands }: { log: Log; records: readonly NewRecord[]; commands: readonly NewRecord[] }) {
  let length = 0;
  let appended: Promise<unknown> = Promise.resolve();
  return {
    length: () => length,
    async grow(more: number): Promise<void> {
      const from = length;
      length = Math.min(records.length, length + more);
      const [asked, next] = [commands.slice(from, length), records.slice(from, length)];
      appended = appended.then(() => appendAll(log, 'commands', asked)).then(() => appendAll(log, 'outcomes', next));
      await appended;
    },
  };
}

function startTask(work: (signal: AbortSignal) => Promise<void>): Task {
  const stopping = new AbortController();
  const done = work(stopping.signal).catch((error: unknown) => { if (!stopping.signal.aborted) throw error; });
  done.catch(() => undefined);
  return {
    done,
    async stop() {
      stopping.abort(new Error('the test stops it'));
      await done;
    },
  };
}

async function publishAll(options: PublishOptions, progress: PublishProgress[]): Promise<void> {
  for await (const step of publish(options)) progress.push(step);
}

/** Checkpoints as a publisher keeps them, in memory. */
export function memoryCheckpoints(): PublisherCheckpoints {
  const markets = new Map<string, number>();
  let checkpoint: PublisherCheckpoint = { position: FEED_START, newest: undefined };
  return {
    load: () => Promise.resolve(checkpoint),
    save({ partitions, newest, opened }) {
      for (const { marketId, chainId } of opened) markets.set(marketId, chainId);
      checkpoint = { position: { partitions, markets: new Map(markets) }, newest };
      return Promise.resolve();
    },
  };
}

/** Each partition's messages, whatever the order between partitions. */
function inPlace(messages: readonly SequencedMessage[]): readonly SequencedMessage[] {
  return [...messages].sort((a, b) => a.partition - b.partition || a.seq - b.seq);
}
