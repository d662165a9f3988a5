/** A real Apache Kafka broker for tests: one node in KRaft mode on loopback, which can be killed and started again on the same data. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnGuarded } from '../../stack/guarded-process.js';
import { keepAlive } from '../../stack/keep-alive.js';
import { isRunning } from './test-machine.js';
import { readOutput, type ChildWithOutput } from '../../stack/process-output.js';
import { makeCertificate } from './certificate.js';
import { kafkaJars, kafkaVersion, missing, runProgram } from './kafka-jars.js';

export interface KafkaBroker {
  /** `127.0.0.1:port`, for clients; the same for good. */
  readonly address: string;
  /** A second door: the broker tells clients that come through it to use the port `proxied.via`, where a test may start a proxy to `proxied.port`. */
  readonly proxied: { readonly port: number; readonly via: number };
  /**
   * A third door: TLS, with the certificate `ca` in PEM, and SCRAM or PLAIN for this user, who may do everything, as clients by the other doors may.
   * Users of the list have the same password, by PLAIN, and may do nothing without ACLs.
   */
  readonly secured: {
    readonly address: string; readonly ca: string; readonly username: string; readonly password: string; readonly restricted: readonly string[];
  };
  readonly pid: number;
  /** `kill -9`; resolves when the process has ended. */
  kill(): Promise<void>;
  /** Starts it again after `kill` or `end`, on the same data and ports. Resolves when it takes requests. */
  start(): Promise<void>;
  /** Stops it as an operator does. */
  end(): Promise<void>;
  /** `SIGSTOP` and `SIGCONT`: the broker's connections stay open, and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

const PREFIX = 'prediction-exchange-kafka-';
const SECURED = { username: 'feed', password: 'a-password-of-tests', restricted: ['publisher', 'settlement', 'outsider'] };
const READY_MS = 120_000;

/** A broker of its own in a new folder. Call stop() in an `after` hook. */
export async function startBroker(): Promise<KafkaBroker> {
  await removeLeftovers();
  const jars = await kafkaJars(kafkaVersion());
  const directory = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const ports = await freePorts();
  const java = javaWith(jars, directory);
  const settings = join(directory, 'server.properties');
  const { certificate: ca, key } = makeCertificate('127.0.0.1');
  await writeFile(join(directory, 'keys.pem'), `${key}${ca}`);
  // Without it the broker does not write the line that says it is ready.
  await writeFile(join(directory, 'log4j.properties'), LOG4J);
  await writeFile(settings, propertiesOf(directory, ports));
  await runProgram('java', [
    ...java, 'kafka.tools.StorageTool', 'format', `--cluster-id=${randomBytes(16).toString('base64url')}`, '-c', settings,
    ...['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${SECURED.username},password=${SECURED.password}]`]),
  ]);
  let running = await runBroker([...java, 'kafka.Kafka', settings], directory);
  // When mocha ends by process.exit(), no hook runs.
  const leave = (): void => {
    running.child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
  };
  process.once('exit', leave);
  return {
    address: `127.0.0.1:${ports.broker}`, proxied: { port: ports.proxied, via: ports.via },
    secured: { address: `127.0.0.1:${ports.secured}`, ca, ...SECURED },
    get pid() { return running.child.pid ?? 0; },
    kill: () => running.end('SIGKILL'),
    end: () => running.end('SIGTERM'),
    async start() { running = await runBroker([...java, 'kafka.Kafka', settings], directory); },
    freeze() { running.child.kill('SIGSTOP'); },
    thaw() { running.child.kill('SIGCONT'); },
    async stop() {
      process.off('exit', leave);
      await running.end('SIGKILL');
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

interface RunningBroker {
  readonly child: ChildWithOutput;
  /** Sends the signal, `SIGKILL` after ten seconds, and waits for the end. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

async function runBroker(args: readonly string[], directory: string): Promise<RunningBroker> {
  // Java must be found: the guard's shell would only say so in its own words.
  const { PATH: path = '/usr/bin:/bin' } = process.env;
  const child = spawnGuarded({ program: 'java', args, env: { PATH: path, HOME: directory }, stopSignals: ['KILL'] });
  let ready: () => void = () => undefined;
  const started = new Promise<boolean>((resolve) => { ready = () => { resolve(true); }; });
  const lastLines = readOutput(child, { kept: 40, heard: (line) => { if (line.includes('Kafka Server started')) ready(); } });
  const exited = new Promise<void>((resolve) => { child.once('close', () => { resolve(); }).once('error', () => { resolve(); }); });
  const late = setTimeout(() => { child.kill('SIGKILL'); }, READY_MS);
  const isReady = await Promise.race([started, exited.then(() => false)]);
  clearTimeout(late);
  if (!isReady) throw child.exitCode === 127 ? missing('java') : new Error(`the Kafka broker does not start:\n${lastLines().join('\n')}`);
  keepAlive(child, false);
  return {
    child,
    async end(signal) {
      keepAlive(child, true);
      const impatient = setTimeout(() => { child.kill('SIGKILL'); }, 10_000);
      child.kill(signal);
      await exited;
      clearTimeout(impatient);
    },
  };
}

interface Ports {
  readonly broker: number;
  readonly controller: number;
  readonly proxied: number;
  readonly via: number;
  readonly secured: number;
}

async function freePorts(): Promise<Ports> {
  const servers = Array.from({ length: 5 }, () => createServer());
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); })));
  const [broker = 0, controller = 0, proxied = 0, via = 0, secured = 0] = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => { server.close(resolve); })));
  return { broker, controller, proxied, via, secured };
}

function propertiesOf(directory: string, { broker, controller, proxied, via, secured }: Ports): string {
  const user = `username="${SECURED.username}" password="${SECURED.password}"`;
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  const users = [SECURED.username, ...SECURED.restricted].map((name) => `user_${name}="${SECURED.password}"`).join(' ');
  const plain = `org.apache.kafka.common.security.plain.PlainLoginModule required ${user} ${users};`;
  return [
    'process.roles=broker,controller', 'node.id=1', `controller.quorum.voters=1@127.0.0.1:${controller}`,
    `listeners=PLAINTEXT://127.0.0.1:${broker},PROXIED://127.0.0.1:${proxied},SECURED://127.0.0.1:${secured},CONTROLLER://127.0.0.1:${controller}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${broker},PROXIED://127.0.0.1:${via},SECURED://127.0.0.1:${secured}`,
    'listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT',
    'controller.listener.names=CONTROLLER', 'inter.broker.listener.name=PLAINTEXT', `log.dirs=${join(directory, 'data')}`,
    `ssl.keystore.location=${join(directory, 'keys.pem')}`, 'ssl.keystore.type=PEM',
    'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512', `listener.name.secured.plain.sasl.jaas.config=${plain}`,
    `listener.name.secured.scram-sha-256.sasl.jaas.config=${scram}`, `listener.name.secured.scram-sha-512.sasl.jaas.config=${scram}`,
    'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer', `super.users=User:ANONYMOUS;User:${SECURED.username}`,
    'auto.create.topics.enable=false', 'offsets.topic.num.partitions=1', 'offsets.topic.replication.factor=1', 'transaction.state.log.num.partitions=1',
    'transaction.state.log.replication.factor=1', 'transaction.state.log.min.isr=1', 'group.initial.rebalance.delay.ms=0', 'group.min.session.timeout.ms=1000',
    // After a kill -9 the broker that comes back waits until the controller has given up its former self: 14 s by default.
    'broker.session.timeout.ms=1000', 'broker.heartbeat.interval.ms=200',
    // One small process, which deletes what was told to be deleted soon.
    'num.network.threads=2', 'num.io.threads=2', 'background.threads=2', 'num.recovery.threads.per.data.dir=1', 'log.cleaner.dedupe.buffer.size=8388608',
    'log.segment.bytes=67108864', 'file.delete.delay.ms=1000', '',
  ].join('\n');
}

function javaWith(jars: string, directory: string): string[] {
  return [
    '-Xms64m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:MaxDirectMemorySize=64m', '-XX:-UsePerfData', '-Xshare:auto',
    '-Djava.awt.headless=true', '-Djava.net.preferIPv4Stack=true', `-Dlog4j.configuration=file:${join(directory, 'log4j.properties')}`, '-cp', join(jars, '*'),
  ];
}

const LOG4J = `log4j.rootLogger=INFO, O
log4j.appender.O=org.apache.log4j.ConsoleAppender
log4j.appender.O.layout=org.apache.log4j.PatternLayout
log4j.appender.O.layout.ConversionPattern=%d{ISO8601} %p %m (%c)%n
`;

/** What runs that were killed have left: their brokers ended with them. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX) || isRunning(Number.parseInt(name.slice(PREFIX.length), 10))) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}
