/**
 * The client of a Kafka cluster: kafkajs with the settings under which it loses and doubles nothing, and which `close`
 * really ends.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Kafka, logLevel, type Admin, type Consumer, type EachBatchPayload, type ISocketFactoryArgs, type KafkaConfig, type Producer } from 'kafkajs';
import { within } from '../../../engine/waiting.js';
import type { Report } from '../../../engine/report.js';
import { PARTITIONS } from '../messages.js';

export type { Admin };

/** How to reach a cluster. */
export interface KafkaAccess {
  /** `host:port` of some of its brokers. */
  readonly brokers: readonly string[];
  /** Absent: no TLS. `ca`: the certificates to trust, in PEM; absent: those that Node trusts. */
  readonly tls?: { readonly ca?: string };
  /** Absent: no user. */
  readonly user?: { readonly mechanism: KafkaMechanism; readonly username: string; readonly password: string };
}

export type KafkaMechanism = 'plain' | 'scram-sha-256' | 'scram-sha-512';

export interface KafkaOptions extends KafkaAccess {
  /** Names this client in the brokers' logs. */
  readonly clientId: string;
  readonly report: Report;
  /** A connection that died without a word is noticed after this time. Default 10 s. */
  readonly requestTimeoutMs?: number;
}

/** A message to be sent. */
export interface OutgoingRecord {
  readonly partition: number;
  readonly key: string | null;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message of a topic. */
export interface TopicRecord {
  readonly partition: number;
  /** Its place in the partition, a whole number. */
  readonly offset: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, Buffer | string | undefined>>;
}

/** Part of one partition, in order, never empty. */
export interface TopicBatch {
  readonly partition: number;
  readonly records: readonly TopicRecord[];
  /** How many messages the partition has behind this batch. */
  readonly behind: number;
}

export interface TopicReading {
  readonly topic: string;
  /** The consumer group, whose committed offsets say where to begin. */
  readonly group: string;
  /**
   * Called for several partitions at once. More is read once all of their batches have been handled; with false a batch
   * comes again. `alive` must be called at least every few seconds meanwhile.
   */
  readonly handle: (batch: TopicBatch, alive: () => Promise<void>) => Promise<boolean>;
}

export interface KafkaClient {
  /** Why nothing answers at present; undefined when all is well, or nothing was asked yet. */
  problem(): string | undefined;
  /** The work, with the cluster's administration. While no broker answers, it waits. */
  administer<T>(work: (admin: Admin) => Promise<T>): Promise<T>;
  /**
   * Sends the messages to their partitions, all or, where it rejects, perhaps some. While no broker answers it settles
   * only by `close`. One call at a time: with several in flight kafkajs loses and doubles messages.
   */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<void>;
  /**
   * Reads as a member of the group. Resolves by `close`; rejects when the consumer has ended otherwise, and may then be
   * begun again.
   */
  read(reading: TopicReading): Promise<void>;
  /** Ends everything at once: nothing is sent, read or tried again. Resolves within seconds. */
  close(): Promise<void>;
}

/** It belongs on the client: on a producer or consumer alone, a connection's own five tries end in an error. */
const RETRY = { initialRetryTime: 100, maxRetryTime: 1_000, retries: Number.MAX_SAFE_INTEGER };
/** How long the brokers may take to make enough copies. */
const ACKNOWLEDGE_MS = 8_000;
/**
 * `maxWaitTimeInMs` bounds how long a consumer takes to leave. A dead member's partitions stand still for the session's
 * time.
 */
const CONSUMER = { sessionTimeout: 10_000, heartbeatInterval: 1_000, rebalanceTimeout: 15_000, maxWaitTimeInMs: 200 };
const COMMIT_EVERY_MS = 1_000;
const GOODBYE_MS = 2_000;
/** Shorter problems, as a change of leaders, are not told. */
const QUIET_MS = 1_000;

/** Connects at the first use. On Node 24 kafkajs causes one harmless TimeoutNegativeWarning per process. */
export function openKafka(options: KafkaOptions): KafkaClient {
  return new OpenClient(options);
}

class OpenClient implements KafkaClient {
  private readonly kafka: Kafka;
  /** Each with the `host:port` of its broker. */
  private readonly sockets = new Map<Socket, string>();
  private readonly consumers = new Set<Consumer>();
  private admin: Promise<Admin> | undefined;
  private producer: Promise<Producer> | undefined;
  private failure: { readonly text: string; readonly sinceMs: number; readonly told: boolean } | undefined;
  private closed = false;
  private end: () => void = () => undefined;
  private readonly ended = new Promise<void>((resolve) => { this.end = resolve; });

  constructor(private readonly options: KafkaOptions) {
    const { clientId, tls, user, requestTimeoutMs = 10_000 } = options;
    this.kafka = new Kafka({
      clientId, retry: RETRY, requestTimeout: requestTimeoutMs, connectionTimeout: 3_000,
      authenticationTimeout: requestTimeoutMs,
      // An empty list is the one answer that ends the tries of a client that nobody wants any more.
      brokers: () => this.closed ? [] : [...options.brokers],
      socketFactory: (args) => this.connect(args),
      logLevel: logLevel.ERROR,
      logCreator: () => ({ log: { message, error } }) => { this.failed(typeof error === 'string' ? `${message}: ${error}` : message); },
      ...tls === undefined ? {} : { ssl: tls.ca === undefined ? {} : { ca: [tls.ca] } },
      ...user === undefined ? {} : { sasl: { ...user } as NonNullable<KafkaConfig['sasl']> },
    });
  }

  problem(): string | undefined {
    return this.failure?.text;
  }

  async administer<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    this.admin ??= this.openAdmin().catch((error: unknown) => {
      this.admin = undefined;
      throw error;
    });
    const result = await work(await this.admin);
    this.answered();
    return result;
  }

  async send(topic: string, records: readonly OutgoingRecord[]): Promise<void> {
    this.producer ??= this.openProducer().catch((error: unknown) => {
      this.producer = undefined;
      throw error;
    });
    const producer = await this.producer;
    const messages = records.map(({ headers, ...record }) => ({ ...record, headers: { ...headers } }));
    try {
      await producer.send({ topic, acks: -1, timeout: ACKNOWLEDGE_MS, messages });
    } catch (error) {
      // Its sequence numbers may not fit any more: the next send gets a producer with new ones.
      this.producer = undefined;
      void producer.disconnect().catch(() => undefined);
      throw error;
    }
    this.answered();
  }

  async read({ topic, group, handle }: TopicReading): Promise<void> {
    const consumer = this.kafka.consumer({
      groupId: group, ...CONSUMER, allowAutoTopicCreation: false,
      retry: { ...RETRY, restartOnFailure: () => Promise.resolve(false) },
    });
    this.consumers.add(consumer);
    const crashed = new Promise<never>((_resolve, reject) => { consumer.on('consumer.crash', ({ payload: { error } }) => { reject(error); }); });
    crashed.catch(() => undefined);
    consumer.on('consumer.network.request_timeout', ({ payload: { broker } }) => { this.timedOut(broker); });
    consumer.on('consumer.fetch', () => { this.answered(); });
    const committed = new Map<number, number>();
    const running = consumer.connect()
      .then(() => consumer.subscribe({ topics: [topic], fromBeginning: true }))
      .then(() => consumer.run({
        autoCommit: false, eachBatchAutoResolve: false, partitionsConsumedConcurrently: PARTITIONS,
        eachBatch: (payload) => handleBatch(payload, { handle, committed }),
      }));
    try {
      await Promise.race([this.ended, crashed, running.then(() => this.ended)]);
    } finally {
      this.consumers.delete(consumer);
      if (!this.closed) await within(consumer.disconnect().catch(() => undefined), GOODBYE_MS);
    }
  }

  async close(): Promise<void> {
    const leaving = [...this.consumers].map((consumer) => consumer.disconnect());
    const parting = [this.producer, this.admin].map(async (client) => (await client)?.disconnect());
    // While no broker answers these take for ever.
    if (this.failure === undefined) await within(Promise.allSettled([...leaving, ...parting]), GOODBYE_MS);
    for (const each of [...leaving, ...parting]) each.catch(() => undefined);
    this.closed = true;
    this.end();
    // With an error: kafkajs does not hear of a socket that only closes, and would wait for its answers for ever.
    for (const socket of this.sockets.keys()) socket.destroy(new Error('the client is closed'));
  }

  private async openAdmin(): Promise<Admin> {
    const admin = this.kafka.admin();
    admin.on('admin.network.request_timeout', ({ payload: { broker } }) => { this.timedOut(broker); });
    await admin.connect();
    return admin;
  }

  private async openProducer(): Promise<Producer> {
    const producer = this.kafka.producer({
      idempotent: true, maxInFlightRequests: 1, allowAutoTopicCreation: false,
      createPartitioner: () => ({ message }) => message.partition ?? 0,
    });
    producer.on('producer.network.request_timeout', ({ payload: { broker } }) => { this.timedOut(broker); });
    await producer.connect();
    return producer;
  }

  /** As kafkajs connects, but every socket is known here. */
  private connect({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    const socket = (ssl as ISocketFactoryArgs['ssl'] | null) === null
      ? connectTcp({ host, port }, onConnect)
      : connectTls({ host, port, ...isIP(host) === 0 ? { servername: host } : {}, ...ssl }, onConnect);
    socket.setKeepAlive(true, 10_000);
    this.sockets.set(socket, `${host}:${port}`);
    socket.once('close', () => { this.sockets.delete(socket); });
    if (this.closed) socket.destroy(new Error('the client is closed'));
    return socket;
  }

  /** kafkajs would ask again on the same connection, also on one that has been dead for minutes. */
  private timedOut(broker: string): void {
    for (const [socket, of] of this.sockets) if (of === broker) socket.destroy(new Error(`${broker} does not answer`));
  }

  private failed(text: string): void {
    if (this.closed) return;
    const nowMs = performance.now();
    const { sinceMs, told } = this.failure ?? { sinceMs: nowMs, told: false };
    const tell = !told && nowMs - sinceMs >= QUIET_MS;
    if (tell) this.options.report('warn', `Kafka: ${text}`);
    this.failure = { text, sinceMs, told: told || tell };
  }

  private answered(): void {
    if (this.failure?.told === true) this.options.report('info', 'Kafka answers again');
    this.failure = undefined;
  }
}

/** Offsets are committed once per second: they only say where to begin looking. */
async function handleBatch(
  {
    batch: { topic, partition, messages, highWatermark }, heartbeat, resolveOffset, commitOffsetsIfNecessary, isRunning,
    isStale,
  }: EachBatchPayload,
  { handle, committed }: { handle: TopicReading['handle']; committed: Map<number, number> },
): Promise<void> {
  const last = messages.at(-1);
  if (last === undefined || !isRunning() || isStale()) return;
  const records = messages.map(({ offset, value, headers }): TopicRecord => (
    { partition, offset, value: value ?? Buffer.alloc(0), headers: (headers ?? {}) as TopicRecord['headers'] }));
  const behind = Math.max(0, Number(BigInt(highWatermark) - BigInt(last.offset)) - 1);
  if (!await handle({ partition, records, behind }, heartbeat)) return;
  resolveOffset(last.offset);
  const nowMs = performance.now();
  if (nowMs - (committed.get(partition) ?? -Infinity) < COMMIT_EVERY_MS) return;
  committed.set(partition, nowMs);
  await commitOffsetsIfNecessary({ topics: [{
    topic, partitions: [{ partition, offset: String(BigInt(last.offset) + 1n) }],
  }] });
}
