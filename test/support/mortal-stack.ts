/** A stack of one process per role under `kill -9`: what dies is started again; proxies before database and chain know the moments. */
import { lieInWait, stopLying, type Doors, type Question } from './crash-service.js';
import { ready, startRoleProcesses, type StackProcess } from './role-processes.js';
import { startRpcProxy } from './rpc-proxy.js';
import { startTcpProxy } from './tcp-proxy.js';
import { until } from './until.js';

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

export interface MortalStackOptions {
  readonly databaseUrl: string;
  readonly chainUrl: string;
  readonly dataDir: string;
  /** Proxies of the caller's, in front of what is neither the database nor the chain. */
  readonly doors?: Pick<Doors, 'log' | 'kafka'>;
  /** The roles of each process, joined by +. */
  readonly processes: readonly string[];
  /** Their environment, with the URLs that they are to use. */
  readonly environment: (urls: { databaseUrl: string; chainUrl: string }) => Promise<Readonly<Record<string, string>>>;
  /** A moment that has not come within this time does not come. */
  readonly patienceMs?: number;
}

/** Resolves when the whole stack is ready. */
export async function mortalStack(
  { databaseUrl, chainUrl, dataDir, doors: more, processes: roles, environment, patienceMs = 15_000 }: MortalStackOptions,
): Promise<MortalStack> {
  const database = new URL(databaseUrl);
  const tcp = await startTcpProxy({ host: database.hostname, port: Number(database.port) });
  const rpc = await startRpcProxy(chainUrl);
  database.host = `127.0.0.1:${tcp.port}`;
  const doors = { ...more, database: tcp, rpc };
  const running = await startRoleProcesses({
    processes: roles, environment: { DATA_DIR: dataDir, ...await environment({ databaseUrl: database.href, chainUrl: rpc.url }) },
  });
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
