/** Keeps processes alive: starts each one, starts it again when it ends by itself or is to be restarted, and stops all of them at the end. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { backoffMs, createBell, pause, within } from '../../engine/waiting.js';
import { CannotStart } from '../../service/cannot-start.js';
import { hear, tellForgotten } from '../../service/process/supervised.js';

/** A process that the supervisor keeps running. */
export interface Managed {
  /** The roles of the process, as in the list of live processes and in log lines. */
  readonly role: string;
  /** The HTTP port on this machine; the same after restarts. */
  readonly port: number;
}

export interface LiveProcess extends Managed {
  readonly pid: number;
  /** The roles that it takes requests for, by its own word; empty until its start is over, and when it leaves. */
  readonly serves: readonly string[];
  /** Roles that it has, and whose work another process does. */
  readonly standsBy: readonly string[];
}

export interface SupervisorOptions {
  /** Started in this order; stopped in the reverse order. */
  readonly managed: readonly Managed[];
  /** Starts a process. Throws when the machine cannot start processes. */
  readonly spawn: (managed: Managed) => ChildProcess;
  /** Called with the live processes whenever one has started or ended. */
  readonly changed: (live: readonly LiveProcess[]) => void;
  /** A process has said that it leaves and is not in the list any more by what it serves. Resolves when nothing that was sent to it is unanswered. */
  readonly forget: (process: Managed) => Promise<void>;
  readonly report: (level: 'info' | 'warn' | 'error', line: { readonly role: string; readonly pid?: number; readonly what: string }) => void;
  /** The exit code that means that a restart would fail again. */
  readonly hopeless: number;
  /** A process that does not end within this time after SIGTERM is killed. */
  readonly stopTimeoutMs: number;
  /** Milliseconds, not going back. */
  readonly now: () => number;
}

export interface Supervisor {
  live(): readonly LiveProcess[];
  /** Rejects with HopelessProcess when a process ends with the exit code `hopeless`. */
  readonly failed: Promise<never>;
  /**
   * Restarts all processes, one after the other in their order, each when the one before works again. Resolves when all are done, or when the
   * stop has begun. A second call joins the first.
   */
  restart(): Promise<void>;
  /** Ends all processes, one after the other. */
  stop(): Promise<void>;
}

const BACKOFF = { firstMs: 100, longestMs: 5_000 };
/** A process that has lived this long is restarted at once when it ends. */
const HEALTHY_AFTER_MS = 10_000;

/** A restart looks so often whether the process that it waits for works. */
const WORKS_LOOK_MS = 1_000;

/** A process ended with the exit code that means that a restart would fail again. */
export class HopelessProcess extends CannotStart {
  constructor(readonly role: string, readonly code: number) {
    super(`the ${role} process ended with code ${code}: its log lines say what must be mended first`, { hopeless: true });
    this.name = 'HopelessProcess';
  }
}

export function supervise(options: SupervisorOptions): Supervisor {
  const { managed: all, changed } = options;
  const live = new Map<Managed, LiveProcess>();
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => { fail = reject; });
  failed.catch(() => undefined);
  const listed = (): readonly LiveProcess[] => all.flatMap((managed) => live.get(managed) ?? []);
  const keepers = all.map((managed) => keepAlive(managed, options, {
    started(process) {
      live.set(managed, process);
      changed(listed());
    },
    told(process) { if (live.get(managed)?.pid === process.pid) live.set(managed, process); },
    ended() {
      live.delete(managed);
      changed(listed());
    },
    hopeless: fail,
  }));
  let restarting: Promise<void> | undefined;
  const restart = async (): Promise<void> => { for (const keeper of keepers) await keeper.restart(); };
  return {
    live: listed, failed,
    restart: () => restarting ??= restart().finally(() => { restarting = undefined; }),
    async stop() {
      for (const keeper of keepers) keeper.stopRestarting();
      for (const keeper of keepers.toReversed()) await keeper.stop();
    },
  };
}

interface Events {
  readonly started: (process: LiveProcess) => void;
  readonly told: (process: LiveProcess) => void;
  readonly ended: () => void;
  readonly hopeless: (error: HopelessProcess) => void;
}

interface Keeper {
  /** Ends the process and resolves when its successor works, or when the stop has begun. */
  restart(): Promise<void>;
  stopRestarting(): void;
  stop(): Promise<void>;
}

/** A child process, until it ends. */
interface Current {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string>;
  works: boolean;
  /** It was told to end, to be started again. */
  isReplaced: boolean;
}

function keepAlive(managed: Managed, options: SupervisorOptions, events: Events): Keeper {
  const { role } = managed;
  const { report, now, stopTimeoutMs, forget } = options;
  const stopping = new AbortController();
  const worksBell = createBell();
  let current: Current | undefined;

  function spawn(): Current {
    const child = options.spawn(managed);
    const spawned: Current = { child, ended: endOf(child), works: false, isReplaced: false };
    const { pid } = child;
    if (pid === undefined) return spawned;
    events.started({ ...managed, pid, serves: [], standsBy: [] });
    hear(child, ({ serves, standsBy, leaves }) => {
      events.told({ ...managed, pid, serves, standsBy });
      if (leaves) return void forget(managed).then(() => { tellForgotten(child); });
      spawned.works = true;
      worksBell.ring();
    });
    report('info', { role, pid, what: 'started' });
    return spawned;
  }

  async function live(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted;) {
      const startedMs = now();
      const { child: { pid }, ended } = current = spawn();
      const end = await ended;
      const { isReplaced } = current;
      current = undefined;
      events.ended();
      if (stopping.signal.aborted) return;
      if (end === options.hopeless) return events.hopeless(new HopelessProcess(role, options.hopeless));
      if (isReplaced) continue;
      failures = now() - startedMs >= HEALTHY_AFTER_MS ? 0 : failures + 1;
      const waitMs = failures <= 1 ? 0 : backoffMs(failures - 1, BACKOFF);
      report('warn', { role, ...pid === undefined ? {} : { pid }, what: `ended by itself (${end}); restarting${waitMs === 0 ? '' : ` in ${waitMs} ms`}` });
      await pause(waitMs, stopping.signal);
    }
  }
  const done = live();
  done.catch((error: unknown) => { report('error', { role, what: `cannot be started: ${String(error)}` }); });

  async function end({ child, ended }: Current): Promise<void> {
    child.kill('SIGTERM');
    if (await within(ended.then(() => true), stopTimeoutMs) !== undefined) return;
    report('error', { role, what: `did not end within ${stopTimeoutMs} ms: killing it` });
    child.kill('SIGKILL');
    await ended;
  }

  return {
    async restart() {
      const { signal } = stopping;
      const before = current;
      if (before !== undefined && !signal.aborted) {
        report('info', { role, what: 'restarting it' });
        before.isReplaced = true;
        await end(before);
      }
      while ((current === before || current?.works !== true) && !signal.aborted) await worksBell.wait(signal, WORKS_LOOK_MS);
    },
    stopRestarting() { stopping.abort(); },
    async stop() {
      stopping.abort();
      if (current !== undefined) await end(current);
      await done.catch(() => undefined);
    },
  };
}

/** The exit code of the process, or the signal or error that ended it. */
async function endOf(child: ChildProcess): Promise<number | string> {
  try {
    const [code, signal] = await once(child, 'exit') as [number | null, string | null];
    return code ?? signal ?? 'unknown';
  } catch (error) {
    return (error as Error).message;
  }
}
