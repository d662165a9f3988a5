/**
 * The fill feed by Kafka. What does not come that way, or not whole, comes from the log: its follower sees neither gaps
 * nor repeats.
 */
import { LogUnavailable, type Log } from '../../../engine/log/log.js';
import { decodeOutcome } from '../../../engine/records/codec.js';
import { createBell, pause, retrying, type Backoff } from '../../../engine/waiting.js';
import type { Report } from '../../../engine/report.js';
import type { FillFeed } from '../fill-feed.js';
import type { SequencedMessage } from '../messages.js';
import { least, partitionsAfter, type FeedBatch, type FeedPosition, type PartitionPosition } from '../sequence.js';
import type { KafkaClient, TopicReading, TopicBatch, TopicRecord } from './client.js';
import { selectNew } from './new-messages.js';

export interface KafkaFeedOptions {
  /** A client of the follower's own, which is closed when it ends. */
  readonly open: () => KafkaClient;
  readonly topic: string;
  /** The consumer group, whose offsets say where to begin looking. */
  readonly group: string;
  /** The same feed from the log. */
  readonly logFeed: FillFeed;
  readonly log: Pick<Log, 'length' | 'read'>;
  readonly report: Report;
  /** When nothing has come for so long, the log is asked whether there is something. Default 2 s. */
  readonly idleMs?: number;
  /**
   * When nothing has come from a partition for so long, though other partitions go on, the log is asked whether there
   * is something. Well above the time from one barrier to the next, and a message's normal delay. Default 30 s.
   */
  readonly silentMs?: number;
}

export interface KafkaFeedStatus {
  /** Why messages do not come by Kafka at present; undefined while they do, or there are none. */
  readonly problem: string | undefined;
  /** How many messages were taken from the log, and how many came again and were dropped. */
  readonly fromLog: number;
  readonly repeats: number;
  /** How many gaps, and messages that could not be used, were found in the topic. */
  readonly alerts: number;
}

export interface KafkaFeed extends FillFeed {
  status(): KafkaFeedStatus;
}

/** The fill feed of a process, and how it comes. */
export interface OpenFeed {
  readonly feed: FillFeed;
  /** How it comes; `problem` and the counts are Kafka's. */
  readonly transport: 'log' | 'kafka';
  status(): KafkaFeedStatus | undefined;
}

const BACKOFF: Backoff = { firstMs: 100, longestMs: 5_000 };
const IDLE_MS = 2_000;
const SILENT_MS = 30_000;
/** How often a member of the group tells that it lives while its batch waits. */
const ALIVE_MS = 1_000;
const ALERT_EVERY_MS = 60_000;
/** Batches with so many messages are taken without those that wait behind them, so that no step takes long. */
const ENOUGH_MESSAGES = 2_000;

export function createKafkaFeed(options: KafkaFeedOptions): KafkaFeed {
  const counts = { fromLog: 0, repeats: 0, alerts: 0, problem: undefined as string | undefined };
  return {
    status: () => ({ ...counts }),
    async* follow(from, signal) {
      const client = options.open();
      const followed = new FollowedFeed(options, { from, signal, counts, problemOfKafka: () => client.problem() });
      const arrivals = createArrivals();
      const reading = keepReading(client, options, {
        signal,
        arrived(batch, alive) {
          followed.hears(batch.partition);
          return arrivals.put(batch, alive);
        },
      });
      try {
        while (!signal.aborted) {
          const arrived = await arrivals.next(signal, options.idleMs ?? IDLE_MS);
          yield* arrived.length === 0 ? followed.whenIdle() : followed.take(arrived.map(({ batch }) => batch));
          // The signal may have cut it short.
          if (!signal.aborted) {
            for (const { batch, handled } of arrived) {
              followed.hears(batch.partition);
              handled();
            }
          }
          yield* followed.whenSilent();
        }
      } finally {
        arrivals.leave();
        await client.close();
        await reading;
      }
    },
  };
}

interface Following {
  readonly from: FeedPosition;
  readonly signal: AbortSignal;
  readonly counts: { fromLog: number; repeats: number; alerts: number; problem: string | undefined };
  readonly problemOfKafka: () => string | undefined;
}

/** A partition's next messages. */
interface PartitionRun {
  readonly partition: number;
  readonly messages: readonly SequencedMessage[];
}

/** How far one follower has got, and what it does with what arrives. */
class FollowedFeed {
  private partitions: readonly PartitionPosition[];
  private readonly markets: Map<string, number>;
  /** How many outcomes there were at the last look while nothing came. */
  private seen = 0;
  private readonly told = new Map<string, number>();
  /**
   * The last look for silent partitions: when it was, how many outcomes there were, and from which partitions something
   * has come since.
   */
  private look = { atMs: -Infinity, length: 0 };
  private readonly heard = new Set<number>();
  /** Partitions whose messages were taken from the log, and from which nothing has come since. */
  private readonly missed = new Set<number>();

  constructor(private readonly options: KafkaFeedOptions, private readonly following: Following) {
    this.partitions = following.from.partitions;
    this.markets = new Map(following.from.markets);
  }

  hears(partition: number): void {
    this.heard.add(partition);
  }

  /** What is next in all partitions is one batch. */
  async* take(batches: readonly TopicBatch[]): AsyncGenerator<FeedBatch> {
    for (let rest = byPartition(batches); rest.length > 0 && !this.following.signal.aborted;) {
      const selected = rest
        .map(({ partition, records }) => ({ partition, records, ...selectNew(this.at(partition), records) }));
      for (const { repeats, unusable } of selected) {
        this.following.counts.repeats += repeats;
        for (const { kind, what } of unusable) this.alert(kind, `a message is left out, ${what}`);
      }
      yield* this.takeNext(selected);
      if (this.following.signal.aborted) return;
      for (const {
        partition, messages, repeats,
      } of selected) if (messages.length + repeats > 0) this.missed.delete(partition);
      this.mended();
      rest = [];
      for (const { partition, records, gap } of selected) {
        if (gap === undefined) continue;
        const { nextSeq } = this.at(partition);
        if (nextSeq < gap.seq) {
          this.alert('gap', `messages ${nextSeq} to ${gap.seq - 1} of partition ${partition} are missing, and are taken from the log`);
          yield* this.fromLog();
        }
        const surplus = this.at(partition).nextSeq < gap.seq;
        if (surplus) this.alert('surplus', `message ${gap.seq} of partition ${partition} is left out: the history does not have it`);
        const left = records.slice(gap.from + (surplus ? 1 : 0));
        if (left.length > 0) rest.push({ partition, records: left });
      }
    }
  }

  private async* takeNext(selected: readonly PartitionRun[]): AsyncGenerator<FeedBatch> {
    const runs = selected.filter(({ messages }) => messages.length > 0);
    const known = await Promise.all(runs.map(({ messages }) => this.areOfThisHistory(messages)));
    if (known.includes(undefined)) return;
    const messages = runs.flatMap((run, index) => known[index] === true ? run.messages : []);
    if (messages.length > 0) yield this.given({ messages });
    const foreign = runs.filter((_run, index) => known[index] === false);
    if (foreign.length === 0) return;
    this.alert('foreign', `messages of another history are in partition ${foreign.map(({ partition }) => partition).join(', ')}, and the log's are taken`);
    yield* this.fromLog();
  }

  /**
   * Whatever the reason is why nothing comes: a broker or a publisher that is away, a topic that is gone, or nothing to
   * tell.
   */
  async* whenIdle(): AsyncGenerator<FeedBatch> {
    // What was there at the last look has had its time to come.
    const due = this.seen;
    this.seen = await this.length() ?? 0;
    for await (const batch of this.fromLog(due)) {
      this.misses(batch.messages);
      yield batch;
    }
  }

  /**
   * A partition whose leader is away holds everything up, whatever comes from the others. One from which something
   * comes is behind at most, and one that has nothing to tell is no problem.
   */
  async* whenSilent(): AsyncGenerator<FeedBatch> {
    const { look: { atMs, length: due }, options: { silentMs = SILENT_MS } } = this;
    if (performance.now() - atMs < silentMs) return;
    const silent = this.partitions
      .flatMap(({ position }, partition) => position < due && !this.heard.has(partition) ? [partition] : []);
    const comes = this.heard.size > 0;
    let found = false;
    if (silent.length > 0) {
      // Newer ones are on their way.
      for await (const batch of this.fromLog(due, { newer: false })) {
        found = this.misses(batch.messages.filter(({ partition }) => silent.includes(partition))) || found;
        yield batch;
      }
    }
    if (comes && !found) this.missed.clear();
    this.mended();
    this.heard.clear();
    this.look = { length: await this.length() ?? 0, atMs: performance.now() };
  }

  /** Tells of messages that had to be taken from the log. Returns whether there are some. */
  private misses(messages: readonly SequencedMessage[]): boolean {
    if (messages.length === 0) return false;
    const { options: { report }, following: { counts, problemOfKafka } } = this;
    for (const { partition } of messages) this.missed.add(partition);
    // What came before says nothing about now.
    this.heard.clear();
    const kafka = problemOfKafka();
    const why = `those of partition ${[...this.missed].sort().join(', ')} have not come${kafka === undefined ? '' : `: ${kafka}`}`;
    if (counts.problem === undefined) report('warn', `messages of the fill feed are taken from the log, not from Kafka: ${why}`);
    counts.problem = why;
    return true;
  }

  private mended(): void {
    const { options: { report }, following: { counts } } = this;
    if (counts.problem === undefined || this.missed.size > 0) return;
    report('info', 'messages of the fill feed come by Kafka again');
    counts.problem = undefined;
  }

  /**
   * What was not given of the outcomes below a length, by default of all that there are now, and without `newer: false`
   * what comes with it.
   */
  private async* fromLog(length?: number, { newer = true } = {}): AsyncGenerator<FeedBatch> {
    const { options: { logFeed }, following: { signal, counts } } = this;
    const end = length ?? await this.length();
    if (end === undefined || least(this.partitions) >= end) return;
    for await (const read of logFeed.follow({ partitions: this.partitions, markets: this.markets }, signal)) {
      const batch = newer ? read : below(end, read);
      counts.fromLog += batch.messages.length;
      yield this.given(batch);
      if (least(this.partitions) >= end) return;
    }
  }

  /** How many outcomes there are. Undefined when the signal has aborted. */
  private length(): Promise<number | undefined> {
    return waitForLog(() => this.options.log.length('outcomes'), this.following.signal);
  }

  /**
   * A digest covers everything before it, so the last message speaks for all. Undefined when the signal has aborted.
   */
  private async areOfThisHistory(messages: readonly SequencedMessage[]): Promise<boolean | undefined> {
    const last = messages.at(-1);
    if (last === undefined) return true;
    const found = await waitForLog(() => this.options.log.read('outcomes', last.message.position, 1), this.following.signal);
    if (found === undefined) return undefined;
    const [record] = found;
    return record !== undefined && decodeOutcome(record.data).digest === last.digest;
  }

  private given(batch: FeedBatch): FeedBatch {
    this.partitions = partitionsAfter(this.partitions, batch);
    for (const { message } of batch.messages) if (message.type === 'MarketOpened') this.markets.set(message.marketId, message.chainId);
    return batch;
  }

  private at(partition: number): PartitionPosition {
    const at = this.partitions[partition];
    if (at === undefined) return { nextSeq: 0, position: 0, done: 0 };
    return at;
  }

  /** A kind of alert is told once per minute, however many messages it is about. */
  private alert(kind: string, text: string): void {
    const nowMs = performance.now();
    this.following.counts.alerts += 1;
    if (nowMs - (this.told.get(kind) ?? -Infinity) < ALERT_EVERY_MS) return;
    this.told.set(kind, nowMs);
    this.options.report('alert', `the Kafka topic ${this.options.topic}: ${text}`);
  }
}

/** The batch up to an outcome, where it says that it reaches beyond. */
function below(end: number, batch: FeedBatch): FeedBatch {
  if (batch.reached === undefined || batch.reached <= end) return batch;
  return { messages: batch.messages.filter(({ message }) => message.position < end), reached: end };
}

/** Undefined when the signal has aborted. While the log is away, it waits. */
async function waitForLog<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await retrying(ask, { backoff: BACKOFF, signal, canPass: (error) => error instanceof LogUnavailable });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Reads the topic until the client is closed; a consumer that has ended otherwise is begun again. */
async function keepReading(
  client: KafkaClient, { topic, group, report }: KafkaFeedOptions,
  { signal, arrived }: { signal: AbortSignal; arrived: TopicReading['handle'] },
): Promise<void> {
  await retrying(() => client.read({ topic, group, handle: arrived }), {
    backoff: BACKOFF, signal, canPass: () => true,
    failed(error, failures) {
      // One or two are normal while a group's coordinator is loading or changing.
      if (failures === 3) report('warn', `the Kafka consumer ends again and again: ${(error as Error).message}`);
    },
  }).catch((error: unknown) => { if (!signal.aborted) throw error; });
}

interface Arrived {
  readonly batch: TopicBatch;
  readonly handled: () => void;
}

/** Batches on their way from the consumer, which waits for each, to the follower. */
function createArrivals() {
  const waiting: Arrived[] = [];
  const bell = createBell();
  const left = new AbortController();
  return {
    /** Resolves with whether the follower has handled the batch; if not, it has left. */
    async put(batch: TopicBatch, alive: () => Promise<void>): Promise<boolean> {
      const handled = new AbortController();
      waiting.push({ batch, handled: () => { handled.abort(); } });
      bell.ring();
      const either = AbortSignal.any([handled.signal, left.signal]);
      for (;;) {
        await pause(ALIVE_MS, either);
        if (either.aborted) return handled.signal.aborted;
        await alive();
      }
    },
    /**
     * All batches that wait, up to those with enough messages; none when none has come for so long, or the signal has
     * aborted.
     */
    async next(signal: AbortSignal, idleMs: number): Promise<readonly Arrived[]> {
      if (waiting.length === 0) await bell.wait(signal, idleMs);
      if (signal.aborted) return [];
      let count = 0;
      const last = waiting.findIndex(({ batch }) => (count += batch.records.length) >= ENOUGH_MESSAGES);
      return waiting.splice(0, last === -1 ? waiting.length : last + 1);
    },
    leave(): void { left.abort(); },
  };
}

/**
 * A batch that the consumer gave up comes again, and may wait beside the first: a partition's records are looked at
 * together, in their order.
 */
function byPartition(batches: readonly TopicBatch[]): Pick<TopicBatch, 'partition' | 'records'>[] {
  const joined = new Map<number, TopicRecord[]>();
  for (const { partition, records } of batches) joined.set(partition, [...joined.get(partition) ?? [], ...records]);
  return [...joined].map(([partition, records]) => ({ partition, records }));
}
