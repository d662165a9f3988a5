/** A stack of one process per role under `kill -9`: its supervisor starts again what dies; proxies before database and chain know the moments. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lieInWait, stopLying, type Doors, type Question } from './crash-service.js';
import { startRpcProxy } from './rpc-proxy.js';
import { spawnStack } from './service-process.js';
import { startTcpProxy } from './tcp-proxy.js';
import { until, within } from './until.js';

/** A stack whose processes have to share a busy machine becomes ready within this time. */
const READY_S = 180;

export interface StackProcess {
  readonly role: string;
  readonly pid: number;
  readonly port: number;
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
  /** Rejects when the supervisor, or one of its processes, has ended by itself. */
  readonly failed: Promise<never>;
  /** SIGTERM to the supervisor; throws unless it exits with 0. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

export interface MortalStackOptions {
  readonly databaseUrl: string;
  readonly chainUrl: string;
  readonly dataDir: string;
  /** Proxies of the caller's, in front of what is neither the database nor the chain. */
  readonly doors?: Pick<Doors, 'log' | 'kafka'>;
  /** Its environment, with the URLs that it is to use. */
  readonly environment: (urls: { databaseUrl: string; chainUrl: string }) => Promise<Readonly<Record<string, string>>>;
  /** A moment that has not come within this time does not come. */
  readonly patienceMs?: number;
}

/** Resolves when the whole stack is ready. */
export async function mortalStack(
  { databaseUrl, chainUrl, dataDir, doors: more, environment, patienceMs = 15_000 }: MortalStackOptions,
): Promise<MortalStack> {
  const database = new URL(databaseUrl);
  const tcp = await startTcpProxy({ host: database.hostname, port: Number(database.port) });
  const rpc = await startRpcProxy(chainUrl);
  database.host = `127.0.0.1:${tcp.port}`;
  const doors = { ...more, database: tcp, rpc };
  const supervisor = await startSupervisor({ DATA_DIR: dataDir, ...await environment({ databaseUrl: database.href, chainUrl: rpc.url }) });
  const processes = (): readonly StackProcess[] => JSON.parse(readFileSync(join(dataDir, 'roles.json'), 'utf8')) as StackProcess[];
  const stack: MortalStack = {
    url: supervisor.url, processes, failed: supervisor.failed, stop: supervisor.stop,
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
      await supervisor.end();
      await Promise.all([tcp.close(), rpc.close()]);
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

/** A process ended, and was not killed: whatever happens around it, it should wait for it. */
const ENDED_BY_ITSELF = /ended by itself \((?!SIGKILL)/;

async function startSupervisor(environment: Readonly<Record<string, string>>) {
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => { fail = reject; });
  let stopping = false;
  const { child, listening, exited, lastLines } = spawnStack(environment, (line) => {
    if (!stopping && ENDED_BY_ITSELF.test(line)) fail(new Error(`a process ended by itself:\n${lastLines().join('\n')}`));
  });
  const endError = (code: number | null) => new Error(`the supervisor ended with ${code}:\n${lastLines().join('\n')}`);
  void exited.then((code) => { if (!stopping) fail(endError(code)); });
  failed.catch(() => undefined);
  return {
    url: await listening, failed,
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      const code = await within('the stack stops', exited);
      if (code !== 0) throw endError(code);
    },
    async end() {
      stopping = true;
      if (isOver(child)) return;
      child.kill('SIGTERM');
      await within('the stack ends', exited);
    },
  };
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Resolves when all that is behind this address says that it works. */
export async function ready(url: string): Promise<void> {
  await until(`${url} is ready`, () => fetch(`${url}/health/ready`).then(({ ok }) => ok, () => false), READY_S);
}
