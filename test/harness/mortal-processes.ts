/**
 * The exchange's programs under `kill -9`: lives that end at a chosen moment, with the database and the chain behind proxies that know it. Either the
 * whole service in one process, or a process per role, of which what dies is started again.
 */
import { Transaction } from 'ethers';
import { ready, startRoleProcesses, type StackProcess } from '../support/role-processes.js';
import { startTcpProxy, startRpcProxy, type TcpProxy, type RpcCall, type RpcProxy } from '../support/proxies.js';
import { spawnService, type SpawnedService } from '../support/service-process.js';
import { until, within } from '../support/until.js';

/** When a life ends: so long after it began, so long after it listens, or at a question to the database or the chain. */
export type LifeMoment = { readonly at: 'start' | 'work'; readonly afterMs: number } | Question;

/** How a life ended. */
export interface Death {
  readonly moment: LifeMoment;
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
  live(moment: LifeMoment): Promise<Death>;
  /** Starts it to stay. */
  start(): Promise<void>;
  /** SIGTERM; throws unless it exits with 0. */
  stop(): Promise<void>;
  /** Takes away what is left of it. */
  close(): Promise<void>;
}

/** What stands behind proxies that know the moments, and how a program gets to know of it. */
interface MortalOptions {
  readonly databaseUrl: string;
  readonly chainUrl: string;
  /** The environment, with the URLs that it is to use. */
  readonly environment: (urls: { databaseUrl: string; chainUrl: string }) => Promise<Readonly<Record<string, string>>>;
  /** A moment that has not come within this time, in which the program listens, does not come. */
  readonly patienceMs?: number;
}

/** Proxies in front of the database and the chain, and the program's environment behind them. */
async function startDoors({ databaseUrl, chainUrl, environment }: MortalOptions) {
  const behind = new URL(databaseUrl);
  const [database, rpc] = [await startTcpProxy({ host: behind.hostname, port: Number(behind.port) }), await startRpcProxy(chainUrl)];
  behind.host = `127.0.0.1:${database.port}`;
  return {
    database, rpc, environment: () => environment({ databaseUrl: behind.href, chainUrl: rpc.url }),
    async close(): Promise<void> { await Promise.all([database.close(), rpc.close()]); },
  };
}

/** Longer than a start on a busy machine, and all patience after it. */
const LIFE_S = 180;
const PATIENCE_MS = 15_000;

export async function mortalService(options: MortalOptions): Promise<MortalService> {
  const { patienceMs = PATIENCE_MS } = options;
  const doors = await startDoors(options);
  const failure = deferred<never>();
  let next = deferred<string>();
  let current: Life | undefined;

  async function begin(): Promise<Life> {
    const service = spawnService(await doors.environment());
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

  async function live(moment: LifeMoment): Promise<Death> {
    const life = await begin();
    let atMoment = false;
    const die = () => { atMoment ||= end(life, 'SIGKILL'); };
    if (isQuestion(moment)) lieInWait(doors, moment, die);
    if (moment.at === 'start') setTimeout(die, moment.afterMs);
    void life.service.listening.then(() => {
      if (moment.at === 'work') setTimeout(die, moment.afterMs);
      setTimeout(() => { end(life, 'SIGKILL'); }, patienceMs).unref();
    }, () => undefined);
    await within('a life has ended', life.service.exited, LIFE_S);
    if (isQuestion(moment)) stopLying(doors, moment);
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
      await doors.close();
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

const isQuestion = (moment: LifeMoment): moment is Question => moment.at !== 'start' && moment.at !== 'work';

/** Calls `die` when the question comes, and lets it or its answer go no further. */
function lieInWait({ database, log = database, kafka, rpc }: Doors, { at, text, of, number, answered }: Question, die: () => void): void {
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
function stopLying({ database, log = database, kafka, rpc }: Doors, { at }: Question): void {
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

/** When a process dies: so long after the one before, or at a question to the database or the chain, which a test knows to be its own. */
export type Moment
  = | { readonly at: 'any'; readonly role: string; readonly afterMs: number }
    | Question & { readonly role: string; readonly part?: Part | undefined };

/** Of several processes with a role, the one whose health does not say that this part of it stands by is meant. */
export type Part = 'engine' | 'prices' | 'quickMarkets';

export interface StackDeath {
  readonly role: string;
  readonly moment: Moment;
  /** False when the moment had not come for so long that the process was killed just then. */
  readonly atMoment: boolean;
}

export interface MortalStack {
  readonly url: string;
  processes(): readonly StackProcess[];
  /** Kills a process of the role at the moment, and resolves when its successor is in the list. */
  kill(moment: Moment, random: () => number): Promise<StackDeath>;
  /** Rejects when a process has ended by itself. */
  readonly failed: Promise<never>;
  /** SIGTERM to all; throws unless each exits with 0. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

interface MortalStackOptions extends MortalOptions {
  readonly dataDir: string;
  /** Proxies of the caller's, in front of what is neither the database nor the chain. */
  readonly doors?: Pick<Doors, 'log' | 'kafka'>;
  /** The roles of each process, joined by +. */
  readonly processes: readonly string[];
}

/** Resolves when the whole stack is ready. */
export async function mortalStack(options: MortalStackOptions): Promise<MortalStack> {
  const { dataDir, processes: roles, patienceMs = PATIENCE_MS } = options;
  const own = await startDoors(options);
  const doors = { ...options.doors, ...own };
  const running = await startRoleProcesses({ processes: roles, environment: { DATA_DIR: dataDir, ...await own.environment() } });
  const { url, processes, failed, stop } = running;
  const stack: MortalStack = {
    url, processes, failed, stop,
    async kill(moment, random) {
      const candidates = await until(`a ${moment.role} lives`, () => {
        const found = processes().filter(({ role }) => role === moment.role);
        return found.length > 0 && found;
      });
      const part = moment.at === 'any' ? undefined : moment.part;
      const victim = part === undefined
        ? candidates[random() % candidates.length]!
        : await until(`one of ${moment.role} works`, () => workingOf(candidates, part));
      // A moment of its work comes only once it works.
      if (moment.at !== 'any') await ready(`http://127.0.0.1:${victim.port}`);
      const atMoment = await comes(moment, { doors, patienceMs }, () => { process.kill(victim.pid, 'SIGKILL'); });
      await until(`${moment.role} lives again`, () => processes().find(({ port, pid }) => port === victim.port && pid !== victim.pid));
      return { role: moment.role, moment, atMoment };
    },
    async close() {
      await running.close();
      await own.close();
    },
  };
  try {
    await Promise.race([ready(stack.url), stack.failed]);
  } catch (error) {
    // The caller has nothing yet that it could close.
    await stack.close();
    throw error;
  }
  return stack;
}

/** The process that does not stand by. */
async function workingOf(candidates: readonly StackProcess[], part: Part): Promise<StackProcess | undefined> {
  for (const candidate of candidates) {
    const answer = await fetch(`http://127.0.0.1:${candidate.port}/health/ready`).then((response) => response.json(), () => ({}));
    const health = answer as Partial<Record<Part, unknown>>;
    const [told] = [health[part]].flat() as ({ readonly standby: boolean } | undefined)[];
    if (told?.standby === false) return candidate;
  }
  return undefined;
}

/** Waits for the moment, then kills; whether the moment came. */
async function comes(
  moment: Moment, { doors, patienceMs }: { doors: Doors; patienceMs: number }, kill: () => void,
): Promise<boolean> {
  if (moment.at === 'any') {
    await new Promise((resolve) => setTimeout(resolve, moment.afterMs));
    kill();
    return true;
  }
  const came = await new Promise<boolean>((resolve) => {
    const patience = setTimeout(() => { resolve(false); }, patienceMs);
    let done = false;
    const die = (): void => {
      if (done) return;
      done = true;
      clearTimeout(patience);
      kill();
      resolve(true);
    };
    lieInWait(doors, moment, die);
  });
  stopLying(doors, moment);
  if (!came) kill();
  return came;
}
