/** The documented examples of consumers of the fill feed, as processes of their own that tests kill. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FillMatchedMessage } from '../../command/feed/messages.js';
import { within } from './until.js';

const FOLDER = new URL('../../../docs/events/', import.meta.url);

export interface ExampleOptions {
  /** `host:port` of the broker. */
  readonly broker: string;
  readonly topic: string;
  readonly group: string;
  /** The URL of the API, for the history. */
  readonly api: string;
  /** Where it keeps what it has taken. */
  readonly file: string;
}

export interface ExampleProcess {
  /** `kill -9`; resolves when the process has ended. */
  kill(): Promise<void>;
  /** Resolves when it has ended, with its exit code, null after a signal, and with what it wrote. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

export function startExampleConsumer({ broker, topic, group, api, file }: ExampleOptions): ExampleProcess {
  return startExample('consumer.mjs', { KAFKA_BROKERS: broker, KAFKA_TOPIC: topic, GROUP: group, API: api, FILE: file });
}

/** `program` is a file of docs/events, `settings` are all environment variables that it gets. */
export function startExample(program: string, settings: Readonly<Record<string, string>>): ExampleProcess {
  const child = spawn(process.execPath, [fileURLToPath(new URL(program, FOLDER))], {
    env: { PATH: process.env['PATH'] ?? '', ...settings }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { output += text; });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  const leave = (): void => { child.kill('SIGKILL'); };
  process.once('exit', leave);
  void ended.then(() => { process.off('exit', leave); });
  return {
    ended,
    async kill() {
      child.kill('SIGKILL');
      await within('the consumer is dead', ended);
    },
  };
}

/** What one line of the consumer's file has. */
interface Consumed {
  readonly partition: number;
  readonly next: number;
  readonly fills: readonly FillMatchedMessage[];
}

/** The whole lines of the consumer's file, in order. */
export function consumedBy(file: string): Consumed[] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  return text.slice(0, text.lastIndexOf('\n') + 1).split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Consumed);
}

export function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}
