/** Keeps processes alive: starts each one, restarts it when it ends by itself, and stops all of them at the end. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { backoffMs, pause, within } from '../../engine/waiting.js';

/** A process that the supervisor keeps running. */
export interface Managed {
  /** The roles of the process, as in the list of live processes and in log lines. */
  readonly role: string;
  /** The HTTP port on this machine; the same after restarts. */
  readonly port: number;
}

export interface LiveProcess extends Managed {
  readonly pid: number;
  /** Whether it has said that it listens, by a message to its parent. */
  readonly serves: boolean;
}

export interface SupervisorOptions {
  /** Started in this order; stopped in the reverse order. */
  readonly managed: readonly Managed[];
  /** Starts a process. Throws when the machine cannot start processes. */
  readonly spawn: (managed: Managed) => ChildProcess;
  /** Called with the live processes whenever one has started or ended. */
  readonly changed: (live: readonly LiveProcess[]) => void;
  readonly report: (level: 'info' | 'warn' | 'error', line: { readonly role: string; readonly pid?: number; readonly what: string }) => void;
  /** The exit code that means that a restart would fail again. */
  readonly hopeless: number;
  /** A process that does not end within this time after SIGTERM gets SIGKILL. */
  readonly stopTimeoutMs: number;
  /** Milliseconds, not going back. */
  readonly now: () => number;
}

export interface Supervisor {
  live(): readonly LiveProcess[];
  /** Rejects with HopelessProcess when a process ends with the exit code `hopeless`. */
  readonly failed: Promise<never>;
  /** Ends all processes, one after the other. */
  stop(): Promise<void>;
}

const BACKOFF = { firstMs: 100, longestMs: 5_000 };
/** A process that has lived this long is restarted at once when it ends. */
const HEALTHY_AFTER_MS = 10_000;

/** A process ended with the exit code that means that a restart would fail again. */
export class HopelessProcess extends Error {
  constructor(readonly role: string, readonly code: number) {
    super(`the ${role} process ended with code ${code}: its log lines say what is wrong with the settings`);
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
    serving(process) { if (live.get(managed) === process) live.set(managed, { ...process, serves: true }); },
    ended() {
      live.delete(managed);
      changed(listed());
    },
    hopeless: fail,
  }));
  return {
    live: listed, failed,
    async stop() { for (const keeper of keepers.reverse()) await keeper.stop(); },
  };
}

interface Events {
  readonly started: (process: LiveProcess) => void;
  readonly serving: (process: LiveProcess) => void;
  readonly ended: () => void;
  readonly hopeless: (error: HopelessProcess) => void;
}

function keepAlive(managed: Managed, options: SupervisorOptions, events: Events): { readonly stop: () => Promise<void> } {
  const { role } = managed;
  const { report, now, stopTimeoutMs } = options;
  const stopping = new AbortController();
  let current: { readonly child: ChildProcess; readonly ended: Promise<number | string> } | undefined;

  async function live(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted;) {
      const startedMs = now();
      const child = options.spawn(managed);
      const ended = endOf(child);
      current = { child, ended };
      const { pid } = child;
      if (pid !== undefined) {
        const process = { ...managed, pid, serves: false };
        events.started(process);
        child.once('message', () => { events.serving(process); });
        report('info', { role, pid, what: 'started' });
      }
      const end = await ended;
      current = undefined;
      events.ended();
      if (stopping.signal.aborted) return;
      if (end === options.hopeless) return events.hopeless(new HopelessProcess(role, options.hopeless));
      failures = now() - startedMs >= HEALTHY_AFTER_MS ? 0 : failures + 1;
      const waitMs = failures <= 1 ? 0 : backoffMs(failures - 1, BACKOFF);
      report('warn', { role, ...pid === undefined ? {} : { pid }, what: `ended by itself (${end}); restarting${waitMs === 0 ? '' : ` in ${waitMs} ms`}` });
      await pause(waitMs, stopping.signal);
    }
  }
  const done = live();
  done.catch((error: unknown) => { report('error', { role, what: `cannot be started: ${String(error)}` }); });

  return {
    async stop() {
      stopping.abort();
      if (current !== undefined) {
        const { child, ended } = current;
        child.kill('SIGTERM');
        if (await within(ended.then(() => true), stopTimeoutMs) === undefined) {
          report('error', { role, what: `did not end within ${stopTimeoutMs} ms: killing it` });
          child.kill('SIGKILL');
        }
      }
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
