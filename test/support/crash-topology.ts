/** What the processes of a crash test stand on, each behind a proxy, and what befalls it: the store of the log, and Kafka on the way of the fills. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import type { Doors } from '../harness/mortal-processes.js';
import { throughPort, startEventStoreProcess, type EventStoreProcess } from './eventstore-process.js';
import { startBroker, type KafkaBroker } from './kafka-broker.js';
import { clientTo, contentOf, newTopic, type ReportingClient } from './kafka-client.js';
import { startTcpProxy, type TcpProxy } from './proxies.js';
import type { StackProcess } from './role-processes.js';
import { until, within } from './until.js';

export interface Disaster {
  readonly what: string;
  /** Resolves when it is over; what stands on it may still be on its way back. */
  strike(processes: () => readonly StackProcess[]): Promise<void>;
}

interface DisasterScene {
  readonly broker: KafkaBroker;
  readonly kafka: TcpProxy;
  readonly client: ReportingClient;
  readonly topic: string;
  readonly store: EventStoreProcess | undefined;
  /** The proxies before Kafka and the log. */
  readonly network: readonly TcpProxy[];
  readonly awayMs: number;
}

/** Each once, in this order. */
function disastersOf(scene: DisasterScene): readonly Disaster[] {
  const { broker, network, store, awayMs } = scene;
  return [
    { what: 'the broker is killed in the middle of a send', strike: () => killedWhileSending(scene) },
    {
      what: 'the network is cut',
      async strike() {
        for (const proxy of network) proxy.refuse();
        await sleep(awayMs / 2);
        for (const proxy of network) proxy.accept();
      },
    },
    { what: 'retention deletes what settlement has not read', strike: (processes) => overtakenByRetention(scene, processes) },
    {
      what: 'Kafka is away',
      async strike() {
        await broker.end();
        await sleep(awayMs);
        await broker.start();
      },
    },
    {
      what: 'the network is half-open',
      async strike() {
        for (const proxy of network) proxy.freeze();
        await sleep(awayMs / 2);
        for (const proxy of network) proxy.thaw();
      },
    },
    { what: 'the topic is deleted', strike: () => deleted(scene) },
    ...store === undefined
      ? []
      : [{
          what: 'the EventStoreDB is killed',
          async strike() {
            await store.kill();
            await sleep(2_000);
            await store.start();
          },
        }],
  ];
}

async function killedWhileSending({ broker, kafka }: DisasterScene): Promise<void> {
  await within('a fill is sent to Kafka', new Promise<void>((resolve) => {
    kafka.fate = (request) => {
      if (!request.includes('"type":"FillMatched"')) return 'pass';
      kafka.fate = () => 'pass';
      resolve();
      // The broker has it, and dies before it can say so, or before it has written it.
      return 'lose-reply';
    };
  }));
  await broker.kill();
  await sleep(1_000);
  await broker.start();
}

/** Settlement stands still while the topic loses everything that is in it. */
async function overtakenByRetention({ client, topic }: DisasterScene, processes: () => readonly StackProcess[]): Promise<void> {
  const readers = processes().filter(({ role }) => role === 'settlement');
  for (const { pid } of readers) process.kill(pid, 'SIGSTOP');
  try {
    const total = async () => (await client.administer((admin) => admin.fetchTopicOffsets(topic))).reduce((sum, { high }) => sum + Number(high), 0);
    const before = await total();
    await until('something is published meanwhile', async () => await total() > before + 20);
    await client.administer(async (admin) => {
      const ends = await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: ends.map(({ partition, high }) => ({ partition, offset: high })) });
    });
  } finally {
    for (const { pid } of readers) process.kill(pid, 'SIGCONT');
  }
}

async function deleted({ client, topic }: DisasterScene): Promise<void> {
  await client.administer((admin) => admin.deleteTopics({ topics: [topic] }));
  await until('the topic is there again', () => client.administer(async (admin) => (await admin.listTopics()).includes(topic)));
}

/** The text of a question to the log says what is written to it. */
export type QuestionOf = readonly [role: string, at: 'database' | 'log' | 'kafka' | 'chain', text: string, of?: string];

export interface Topology {
  readonly processes: readonly string[];
  /** Where a crash hurts, and whose moment it is. */
  readonly questions: readonly QuestionOf[];
  /** What befalls what the processes stand on. */
  readonly disasters: readonly Disaster[];
  /** Settings beside those of every stack. */
  readonly settings: Readonly<Record<string, string>>;
  readonly doors: Pick<Doors, 'log' | 'kafka'>;
  /** A handle on the log, past the proxies. */
  openLog(): Promise<Log>;
  /** Where the log is, for programs. */
  readonly logSettings: Readonly<Record<string, string>>;
  /** Everything in the topic. */
  published(): ReturnType<typeof contentOf>;
  close(): Promise<void>;
}

const QUESTIONS: readonly QuestionOf[] = [
  ['api', 'log', '"kind":"PlaceOrder"'],
  ['engine', 'log', '"type":"FillMatched"'],
  ['settlement', 'database', 'insert into lane.requests'],
  ['lane', 'database', 'insert into lane.transactions'],
  ['lane', 'log', '"kind":"SubmitSettlement"'],
  ['lane', 'chain', 'eth_sendRawTransaction'],
  ['lane', 'chain', 'eth_getTransactionReceipt'],
  ['indexer', 'chain', 'eth_getLogs'],
  ['indexer', 'log', '"kind":"SettleFill"'],
  ['projections', 'database', 'write_trades'],
  ['projections', 'database', 'write_positions'],
  ['relayer', 'log', '"kind":"RequestRelay"'],
  ['relayer', 'database', '"note":{"requestId"'],
  ['lane', 'log', '"kind":"SubmitRelay"'],
  ['relayer', 'log', '"kind":"EndRelay"'],
  ['relayer', 'database', 'set forgotten = true', 'relay'],
  ['projections', 'database', 'write_relays'],
  ['feed', 'kafka', '"type":"FillMatched"'],
  ['feed', 'database', 'insert into feed.published'],
  ['settlement', 'database', 'insert into settlement.fills'],
  ['settlement', 'database', 'update settlement.partitions'],
];

interface TopologyOptions {
  /** The stack's own database, past the proxies. */
  readonly databaseUrl: string;
  /** How long Kafka is away; half of that for a cut network. */
  readonly awayMs: number;
}

/** The fills by a Kafka broker; the log in Postgres, or on an EventStoreDB server. */
export async function onKafka({ databaseUrl, awayMs }: TopologyOptions, log: 'Postgres' | 'EventStoreDB'): Promise<Topology> {
  const broker = await startBroker();
  const kafka = await startTcpProxy({ host: '127.0.0.1', port: broker.proxied.port }, broker.proxied.via);
  const store = log === 'EventStoreDB' ? await startEventStoreProcess() : undefined;
  const door = store === undefined ? undefined : await startTcpProxy({ host: '127.0.0.1', port: store.port });
  const topic = newTopic();
  const client = clientTo({ brokers: [broker.address] });
  const scene = { broker, kafka, client, topic, store, network: door === undefined ? [kafka] : [kafka, door], awayMs };
  return {
    processes: ['api', 'query', 'engine', 'engine', 'projections', 'lane', 'settlement', 'feed', 'indexer', 'relayer', 'prices'],
    questions: QUESTIONS,
    disasters: disastersOf(scene),
    settings: {
      KAFKA_BROKERS: `127.0.0.1:${broker.proxied.via}`, KAFKA_TOPIC: topic, KAFKA_REPLICATION: '1',
      ...store === undefined || door === undefined ? {} : { LOG_URL: throughPort(store.url, door.port) },
    },
    doors: { kafka, ...door === undefined ? {} : { log: door } },
    logSettings: store === undefined ? {} : { LOG_URL: store.url },
    openLog: () => openLog(store === undefined ? databaseUrl : store.url),
    published: () => contentOf(client, topic),
    async close() {
      await client.close();
      await Promise.all([kafka.close(), door?.close()]);
      await Promise.all([broker.stop(), store?.close()]);
    },
  };
}
