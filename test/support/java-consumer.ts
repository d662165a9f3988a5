/** Apache Kafka's own console consumer, in Java: what a topic has as another client than ours reads it. */
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { kafkaJars, kafkaVersion, runProgram } from './kafka-jars.js';

export interface ConsoleMessage {
  readonly partition: number;
  /** A message without a key shows as `null`. */
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: string;
}

/** The first `count` messages of the topic, each partition's in order. Throws Error when there are fewer for a minute. */
export async function consoleConsumed({ broker, topic, count }: { broker: string; topic: string; count: number }): Promise<ConsoleMessage[]> {
  const jars = await kafkaJars(kafkaVersion());
  const output = await runProgram('java', [
    '-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', join(jars, '*'), 'org.apache.kafka.tools.consumer.ConsoleConsumer',
    '--bootstrap-server', broker, '--topic', topic, '--group', `console-${randomBytes(6).toString('hex')}`, '--from-beginning',
    '--max-messages', String(count), '--timeout-ms', '60000',
    ...['print.partition', 'print.headers', 'print.key'].flatMap((name) => ['--property', `${name}=true`]),
  ]);
  const messages = output.split('\n').filter((line) => line.startsWith('Partition:')).map(messageIn);
  if (messages.length !== count) throw new Error(`the console consumer has ${messages.length} messages of ${count}:\n${output.slice(-2_000)}`);
  return messages;
}

/** `Partition:5`, the headers as `name:value,…`, key and value, with tabs between them. */
function messageIn(line: string): ConsoleMessage {
  const [partition = '', headers = '', key = '', value = ''] = line.split('\t');
  const pairs = headers.split(',').map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)] as const);
  return { partition: Number(partition.slice('Partition:'.length)), key, headers: Object.fromEntries(pairs), value };
}
