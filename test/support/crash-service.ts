/** The whole service under `kill -9`: lives that end at a chosen moment, with the database and the chain behind proxies that know it. */
import { Transaction } from 'ethers';
import { startRpcProxy, type RpcCall, type RpcProxy } from './rpc-proxy.js';
import { spawnService, type SpawnedService } from './service-process.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { within } from './until.js';

/** When a life ends: so long after it began, so long after it listens, or at a question to the database or the chain. */
export type Moment = { readonly at: 'start' | 'work'; readonly afterMs: number } | Question;

/** How a life ended. */
export interface Death {
  readonly moment: Moment;
  /** Whether it listened already. */
  readonly listened: boolean;
  /** False when the moment had not come for so long that it was killed just then. */
  readonly atMoment: boolean;
}

export interface MortalService {
  /** Where it listens; waits for the next start while it is dead. */
  url(): Promise<string>;
  /** Rejects when it has ended by itself. */
  readonly failed: Promise<never>;
  /** Starts it and kills it at the moment. Rejects when it ends by itself. */
  live(moment: Moment): Promise<Death>;
  /** Starts it to stay. */
  start(): Promise<void>;
  /** SIGTERM; throws unless it exits with 0. */
  stop(): Promise<void>;
  /** Takes away what is left of it. */
  close(): Promise<void>;
}

export interface MortalOptions {
  readonly databaseUrl: string;
  readonly chainUrl: string;
  /** Its environment, with the URLs that it is to use. */
  readonly environment: (urls: { databaseUrl: string; chainUrl: string }) => Promise<Readonly<Record<string, string>>>;
  /** A moment that has not come so long after the service listens does not come. */
  readonly patienceMs?: number;
}

/** Longer than a start on a busy machine, and all patience after it. */
const LIFE_S = 180;

export async function mortalService({ databaseUrl, chainUrl, environment, patienceMs = 15_000 }: MortalOptions): Promise<MortalService> {
  const database = new URL(databaseUrl);
  const tcp = await startTcpProxy({ host: database.hostname, port: Number(database.port) });
  const rpc = await startRpcProxy(chainUrl);
  database.host = `127.0.0.1:${tcp.port}`;
  const failure = deferred<never>();
  let next = deferred<string>();
  let current: Life | undefined;

  async function begin(): Promise<Life> {
    const service = spawnService(await environment({ databaseUrl: database.href, chainUrl: rpc.url }));
    const life: Life = current = newLife(service);
    void service.listening.then((url) => {
      if (life.isOver) return;
      life.isListening = true;
      next.resolve(url);
    }, () => undefined);
    void service.exited.then((code) => {
      if (life.isOver) return;
      life.isOver = true;
      next = deferred();
      failure.reject(endError('the service ended by itself', service, code));
    });
    return life;
  }

  /** At once: what it does next it never does. False when that had come already. */
  function end(life: Life, signal: NodeJS.Signals): boolean {
    if (life.isOver) return false;
    life.isOver = true;
    life.isKilled = true;
    if (life.isListening) next = deferred();
    return life.service.child.kill(signal);
  }

  async function live(moment: Moment): Promise<Death> {
    const life = await begin();
    let atMoment = false;
    const die = () => { atMoment ||= end(life, 'SIGKILL'); };
    if (isQuestion(moment)) lieInWait({ database: tcp, rpc }, moment, die);
    if (moment.at === 'start') setTimeout(die, moment.afterMs);
    void life.service.listening.then(() => {
      if (moment.at === 'work') setTimeout(die, moment.afterMs);
      setTimeout(() => { end(life, 'SIGKILL'); }, patienceMs).unref();
    }, () => undefined);
    await within('a life has ended', life.service.exited, LIFE_S);
    if (isQuestion(moment)) stopLying({ database: tcp, rpc }, moment);
    if (!life.isKilled) await failure.promise;
    return { moment, listened: life.isListening, atMoment };
  }

  return {
    url: () => next.promise, failed: failure.promise,
    live,
    async start() { await (await begin()).service.listening; },
    async stop() {
      const { service } = current!;
      end(current!, 'SIGTERM');
      const code = await within('the service stops', service.exited);
      if (code !== 0) throw endError('the service did not stop well', service, code);
    },
    async close() {
      if (current !== undefined) {
        end(current, 'SIGKILL');
        await within('the service is dead', current.service.exited);
      }
      await Promise.all([tcp.close(), rpc.close()]);
    },
  };
}

function newLife(service: SpawnedService): Life {
  return { service, isListening: false, isKilled: false, isOver: false };
}

function endError(what: string, { lastLines }: SpawnedService, code: number | null): Error {
  return new Error(`${what} (${code}):\n${lastLines().join('\n')}`);
}

interface Life {
  readonly service: SpawnedService;
  isListening: boolean;
  /** Or asked to stop. */
  isKilled: boolean;
  /** Killed, or ended by itself, which is a failure. */
  isOver: boolean;
}

/** Where questions are asked: each a proxy of the test's. */
export interface Doors {
  readonly database: TcpProxy;
  /** The log's, where the log is not in the database. */
  readonly log?: TcpProxy | undefined;
  readonly kafka?: TcpProxy | undefined;
  readonly rpc: RpcProxy;
}

/** The nth request to the database, the log, Kafka or the chain with this text in it: before it arrives there, or when it has been answered. */
export interface Question {
  readonly at: 'database' | 'log' | 'kafka' | 'chain';
  readonly text: string;
  /** The address whose transaction it is about, or what else names that in a statement; undefined when any counts. */
  readonly of?: string | undefined;
  readonly number: number;
  readonly answered: boolean;
}

const isQuestion = (moment: Moment): moment is Question => moment.at !== 'start' && moment.at !== 'work';

/** Calls `die` when the question comes, and lets it or its answer go no further. */
export function lieInWait({ database, log = database, kafka, rpc }: Doors, { at, text, of, number, answered }: Question, die: () => void): void {
  let left = number;
  if (at === 'chain') {
    const isAbout = of === undefined ? () => true : transactionsOf(of);
    rpc.fate = (call) => {
      // Every call is looked at: transactions are known from their broadcast.
      if (!isAbout(call) || !call.method.includes(text) || --left !== 0) return 'pass';
      if (!answered) die();
      return answered ? 'lose' : 'drop';
    };
    rpc.lost = die;
    return;
  }
  const door = { database, log, kafka }[at];
  if (door === undefined) throw new Error(`there is no proxy in front of ${at}`);
  door.fate = (question) => {
    if (!question.includes(text) || !question.includes(of ?? '') || --left !== 0) return 'pass';
    if (!answered) die();
    return answered ? 'lose-reply' : 'cut';
  };
  door.replied = () => {
    die();
    return Promise.resolve();
  };
}

/** Lets everything pass where the question was waited for; what happens at another door is somebody else's. */
export function stopLying({ database, log = database, kafka, rpc }: Doors, { at }: Question): void {
  if (at === 'chain') rpc.fate = () => 'pass';
  else ({ database, log, kafka })[at]!.fate = () => 'pass';
}

/** Whether a call is about a transaction of this address that has been broadcast since. */
function transactionsOf(address: string): (call: RpcCall) => boolean {
  const hashes = new Set<unknown>();
  return ({ method, params: [first] }) => {
    if (method !== 'eth_sendRawTransaction') return hashes.has(first);
    const { from, hash } = Transaction.from(first as string);
    if (from?.toLowerCase() === address) hashes.add(hash);
    return from?.toLowerCase() === address;
  };
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: Error): void;
}

function deferred<T>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => { settle = { resolve, reject }; });
  promise.catch(() => undefined);
  return { promise, ...settle };
}
