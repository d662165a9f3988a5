/** What befalls a Kafka broker, its topic, the EventStoreDB and the network before both, while a stack works on them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventStoreProcess } from './eventstore-process.js';
import type { KafkaBroker } from './kafka-broker.js';
import type { ReportingClient } from './kafka-client.js';
import type { StackProcess } from './role-processes.js';
import type { TcpProxy } from './tcp-proxy.js';
import { until, within } from './until.js';

export interface Disaster {
  readonly what: string;
  /** Resolves when it is over; what stands on it may still be on its way back. */
  strike(processes: () => readonly StackProcess[]): Promise<void>;
}

export interface DisasterScene {
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
export function of(scene: DisasterScene): readonly Disaster[] {
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
