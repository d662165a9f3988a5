/** The fill feed by Kafka and straight from the log: throughput beside the bare clients, and the delay from an outcome to the settlement's table. */
import { createKafkaFeed } from '../../command/feed/kafka/kafka-feed.js';
import { SEND_MESSAGES, publish, type PublishOptions } from '../../command/feed/kafka/publisher.js';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import { openCheckpoints } from '../../command/feed/kafka/checkpoints.js';
import { runPublisher, type Publisher } from '../../command/feed/kafka/run-publisher.js';
import type { FillFeed } from '../../command/feed/fill-feed.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { encodeMessage, encodeMessages } from '../../command/feed/messages.js';
import { createSignedEncoder } from '../../command/feed/signed-fills.js';
import { FEED_START, createSequencer, least, partitionsAfter } from '../../command/feed/sequence.js';
import { runIntake, type Intake } from '../../command/settlement/intake.js';
import { openStore } from '../../command/settlement/postgres-store.js';
import type { Log } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { feedHistory, type FeedHistory } from '../support/feed-history.js';
import { startBroker, type KafkaBroker } from '../support/kafka-broker.js';
import { clientTo, newTopic, type ReportingClient } from '../support/kafka-client.js';
import { memoryCheckpoints } from '../support/kafka-scene.js';
import { appendAll } from '../support/log-records.js';
import { runSql } from '../support/sql.js';
import { Latencies } from './latencies.js';
import type { BenchLine } from './line.js';

/** Outcomes that are there when the throughput is measured. */
const BEHIND = 30_000;
/** Outcomes that come one after the other when the delay is measured, for each transport. */
const PACED = 2_000;
const PACED_MS = 5;

interface Scene {
  readonly url: string;
  readonly log: Log;
  readonly history: FeedHistory;
  readonly broker: KafkaBroker;
  readonly client: ReportingClient;
}

const silent = (): void => undefined;

const described = (topic: string) => ({ topic, replication: 1, minInsync: 1 });

/** `url` names a Postgres database of its own, with fsync on. */
export async function feedBench(url: string): Promise<BenchLine[]> {
  const broker = await startBroker();
  const log = await openLog(url);
  const client = clientTo({ brokers: [broker.address] });
  try {
    const history = feedHistory(17, BEHIND + 2 * PACED);
    await appendAll(log, 'commands', history.commands);
    await appendAll(log, 'outcomes', history.records.slice(0, BEHIND));
    const scene = { url, log, history, broker, client };
    return [...await throughput(scene), ...await delays(scene)];
  } finally {
    await client.close();
    await log.close();
    await broker.stop();
  }
}

async function throughput({ log, history, broker, client }: Scene): Promise<BenchLine[]> {
  const sequencer = createSequencer(FEED_START);
  const messages = history.outcomes.slice(0, BEHIND).flatMap((outcome) => sequencer.take(outcome));
  const [topic, signed, bare] = [newTopic(), newTopic(), newTopic()];
  const logFeed = createLogFeed(log);
  const records = messages.map((message) => ({ partition: message.partition, ...encodeMessage(message) }));
  // The client's producer and all topics are there before anything is measured.
  await client.administer((admin) => admin.createTopics({ topics: [{ topic: bare, numPartitions: 8 }] }));
  for (const each of [topic, signed]) await ensureTopic(client, described(each));
  await client.send(bare, records.slice(0, 1));
  const publishedBy = (to: string, encode: PublishOptions['encode']) => perSecond(messages.length, async () => {
    const done = new AbortController();
    const steps = publish({
      client, topic: described(to), encode, checkpoints: memoryCheckpoints(), logFeed, log, report: silent, signal: done.signal,
    });
    for await (const { position } of steps) if (position >= BEHIND) done.abort();
  });
  const published = await publishedBy(topic, encodeMessages);
  const publishedSigned = await publishedBy(signed, createSignedEncoder(log));
  const sent = await perSecond(messages.length, async () => {
    for (let from = 0; from < records.length; from += SEND_MESSAGES) await client.send(bare, records.slice(from, from + SEND_MESSAGES));
  });
  const open = () => clientTo({ brokers: [broker.address] });
  const kafkaFeed = createKafkaFeed({ open, topic, group: topic, logFeed, log, report: silent });
  const byKafka = await perSecond(messages.length, () => followed(kafkaFeed, messages.length));
  const read = await perSecond(messages.length, () => readBare(open(), bare, messages.length));
  const byLog = await perSecond(BEHIND, () => followed(logFeed, messages.length));
  const pages = await perSecond(BEHIND, async () => { for (let from = 0; from < BEHIND;) from += (await log.read('outcomes', from, 5_000)).length; });
  return [
    { name: 'published in Kafka, from the log', figure: published, unit: 'messages/s', peer: { name: 'the same messages by the bare client', figure: sent }, target: { ratioAtLeast: 0.5 } },
    { name: 'published with the signed orders', figure: publishedSigned, unit: 'messages/s', peer: { name: 'published without them', figure: published }, target: { ratioAtLeast: 0.3 } },
    { name: 'followed by Kafka', figure: byKafka, unit: 'messages/s', peer: { name: 'the bare client', figure: read }, target: { ratioAtLeast: 0.25 } },
    { name: 'followed from the log', figure: byLog, unit: 'outcomes/s', peer: { name: 'reading the outcomes alone', figure: pages }, target: { ratioAtLeast: 0.3 } },
  ];
}

async function perSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return count / (performance.now() - start) * 1_000;
}

async function followed(feed: FillFeed, messages: number): Promise<void> {
  const done = new AbortController();
  let { partitions } = FEED_START;
  let left = messages;
  for await (const batch of feed.follow(FEED_START, done.signal)) {
    partitions = partitionsAfter(partitions, batch);
    left -= batch.messages.length;
    if (left <= 0) break;
  }
  done.abort(new Error('the bench has what it wants'));
  if (least(partitions) > BEHIND) throw new Error('the feed has gone beyond the log');
}

async function readBare(client: ReportingClient, topic: string, messages: number): Promise<void> {
  let left = messages;
  await new Promise<void>((resolve, reject) => {
    client.read({ topic, group: topic, handle: ({ records }) => {
      left -= records.length;
      if (left <= 0) resolve();
      return Promise.resolve(true);
    } }).catch(reject);
  });
  await client.close();
}

async function delays(scene: Scene): Promise<BenchLine[]> {
  const { log, broker } = scene;
  const logFeed = createLogFeed(log);
  const byLog = await delay(scene, logFeed, BEHIND);
  const topic = newTopic();
  const stop = new AbortController();
  const open = () => clientTo({ brokers: [broker.address] });
  // Both topics at once, as the role feed has them.
  const publishers = ([[topic, encodeMessages], [newTopic(), createSignedEncoder(log)]] as const).map(([name, encode]) => runPublisher({
    open, topic: described(name), encode, openCheckpoints: (session) => openCheckpoints({ ...session, url: scene.url }),
    logFeed, log, report: silent, signal: stop.signal,
  }));
  await Promise.all(publishers.map((publisher) => reaches(publisher, BEHIND + PACED)));
  const byKafka = await delay(scene, createKafkaFeed({ open, topic, group: topic, logFeed, log, report: silent }), BEHIND + PACED);
  stop.abort(new Error('the bench is over'));
  await Promise.all(publishers.map(({ done }) => done));
  return (['p50', 'p99'] as const).flatMap((percentile): BenchLine[] => {
    const [figure, floor] = [byKafka.summary()[percentile], byLog.summary()[percentile]];
    return [
      { name: `from the outcome's append to the settlement's table, by the log, ${percentile}`, figure: floor, unit: 'ms', target: {} },
      { name: `the same by Kafka, ${percentile}`, figure, unit: 'ms', peer: { name: 'by the log', figure: floor }, target: {} },
    ];
  });
}

/** Appends PACED outcomes from `from` on, one every 5 ms, and measures when the worker sees each fill. */
async function delay({ url, log, history }: Scene, feed: FillFeed, from: number): Promise<Latencies> {
  await runSql(url, 'drop schema if exists settlement cascade');
  const stop = new AbortController();
  const intake = runIntake({
    openStore: (session) => openStore({ url, ...session }),
    feed, log, now: Date.now, checkChains: silent, signal: stop.signal, report: silent,
  });
  await intake.held(stop.signal);
  await reaches(intake, from);
  const latencies = new Latencies();
  const waiting: { fill: number; sinceMs: number }[] = [];
  intake.onChange(() => {
    const nextFill = intake.watermark();
    for (let first = waiting[0]; first !== undefined && first.fill < nextFill; first = waiting[0]) {
      latencies.add(performance.now() - first.sinceMs);
      waiting.shift();
    }
  });
  for (let i = from; i < from + PACED; i++) {
    const sinceMs = performance.now();
    for (const event of history.outcomes[i]!.events) if (event.type === 'FillMatched') waiting.push({ fill: event.fill, sinceMs });
    await log.append('outcomes', history.records.slice(i, i + 1));
    await new Promise((resolve) => setTimeout(resolve, PACED_MS));
  }
  await reaches(intake, from + PACED);
  stop.abort(new Error('the bench is over'));
  await intake.done;
  return latencies;
}

async function reaches(follower: Pick<Intake | Publisher, 'status' | 'done'>, position: number): Promise<void> {
  while ((follower.status().position ?? 0) < position) await Promise.race([new Promise((resolve) => setTimeout(resolve, 20)), follower.done]);
}
