/** What the processes of a crash test stand on: the store of the log, and the way of the fills to settlement; each behind a proxy. */
import type { Log } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import type { Disaster } from './crash-disasters.js';
import * as disasters from './crash-disasters.js';
import type { Doors } from '../harness/mortal-processes.js';
import { throughPort } from './eventstore-log.js';
import { startEventStoreProcess } from './eventstore-process.js';
import { startBroker } from './kafka-broker.js';
import { clientTo, contentOf, newTopic } from './kafka-client.js';
import { startTcpProxy } from './tcp-proxy.js';

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

export interface TopologyOptions {
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
    disasters: disasters.of(scene),
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
