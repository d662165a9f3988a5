/**
 * The conditions under which a process takes orders: its clock is trusted, its databases answer, its disk has space.
 */
import { RequestError } from '../../engine/records/errors.js';
import { LogRefused, UnusableLog, type Log } from '../../engine/log/log.js';
import { tellsNoTime } from '../../engine/log/open-log.js';
import { createDatabaseProbe } from '../../engine/log/postgres/probe.js';
import { reading, type Reading } from '../../engine/state-table.js';
import type { Config } from '../config.js';
import type { Logger } from '../logger.js';
import { databasesOf, stampsCommands, writtenBy, type DatabaseName, type RoleName } from '../process/roles.js';
import { startClock, type DatabaseTime, type MachineClocks, type ProcessClock } from '../machine/clock.js';
import { directoriesOf, watchDisks, type SpaceOf } from '../machine/disk.js';
import { clockState, databaseState, diskState, type DatabaseState } from './process-state.js';
import { createProbe, type Probe, type ProbeResult } from './probe.js';

/** The machine that a process runs on; tests give another one. */
export interface Machine {
  readonly clocks: MachineClocks;
  readonly spaceOf: SpaceOf;
  /** How often a process looks at its clocks, its log and its disk, and whether something is due, in milliseconds. */
  readonly lookEveryMs: number;
}

export interface Conditions {
  readonly clock: ProcessClock;
  /**
   * Throws the RequestError with which a client's command must be refused now. Cancels free funds, so they are refused
   * less often.
   */
  admit(what: 'order' | 'other'): void;
  /** What the process says of itself. Takes at most the probes' time limit. */
  readonly state: readonly Reading[];
  /** Whether the database did not answer its latest probe. */
  isAway(name: DatabaseName): boolean;
  stop(): Promise<void>;
}

export interface ConditionsOptions {
  readonly config: Config;
  readonly roles: ReadonlySet<RoleName>;
  readonly urls: { readonly log: string; readonly readModels: string; readonly outbox: string };
  readonly log: Pick<Log, 'check'>;
  /** Called when the log cannot be used any more, and waiting does not help: the process must end. */
  readonly unusable: (error: UnusableLog) => void;
  /** Aborts when the log cannot be trusted any more: the process is ending. */
  readonly distrusted: AbortSignal;
  readonly logger: Logger;
  readonly machine: Machine;
  /** Ends the start of the clock. */
  readonly signal: AbortSignal;
}

const PROBE_TIMEOUT_MS = 2_000;
/** A new time on which this machine and the log's database have agreed for so long is accepted. */
const ACCEPT_AFTER_MS = 600_000;
const DISTRUSTED = 'the log has lost records or contradicts itself';
const CLOCK_RETRY_S = 5;
const DISK_RETRY_S = 30;

type Away = Extract<ProbeResult<unknown>, { answers: false }>;

/** A log line with its fields. */
type ReportFields = (level: 'info' | 'error', fields: object, message: string) => void;

/** Until then a request may wait for a log that does not answer; afterwards it is refused at once. */
const SILENT_AFTER_MS = 3_000;

const SILENT: Readonly<Record<DatabaseName, string>> = {
  'log': 'the log does not answer', 'read models': 'the read models do not answer', 'outbox': 'the outbox does not answer',
};

/** Starts the clock and the watches. Throws ClockDiffers when the machine's clock cannot be trusted from the start. */
export async function watchConditions(options: ConditionsOptions): Promise<Conditions> {
  const {
    config, roles, distrusted, logger, signal, machine: { clocks, spaceOf, lookEveryMs },
  } = options;
  const report: ReportFields = (level, fields, message) => { logger[level](fields, message); };
  const databases = openProbes(options);
  const disk = watchDisks({
    directories: directoriesOf(config.dataDir), minFreeBytes: config.minFreeDiskMb * 1_000_000, spaceOf, report,
  });
  const clock = await startClock({
    clocks, report, signal, ask: () => databases.time(),
    bounds: { maxJumpMs: config.clockMaxJumpS * 1_000, acceptAfterMs: ACCEPT_AFTER_MS },
  }).catch(async (error: unknown) => {
    await databases.close();
    throw error;
  });
  let shortage: string | undefined;
  const lookAtDisk = async (): Promise<void> => {
    await disk.look();
    shortage = disk.shortage();
  };
  await lookAtDisk();
  const tellProblem = tellsProblem(databases.log, report);
  const timer = setInterval(
    () => { void Promise.all([clock.look(), databases.log.look().then(tellProblem), lookAtDisk()]); }, lookEveryMs,
  ).unref();
  const used = databasesOf(roles);
  const isReason = (name: DatabaseName): boolean => name !== 'outbox' || (!roles.has('api') && !roles.has('query'));
  const stamps = stampsCommands(roles);

  return {
    clock,
    isAway: (name) => databases.of(name).latest?.answers === false,
    admit(what) {
      // Also a request that would only be told again what it was told before: that may be among what is lost.
      if (distrusted.aborted) throw new RequestError('unavailable', `${DISTRUSTED}, and this process ends; the request was not accepted`);
      const problem = problemWith(databases.log);
      if (problem !== undefined) throw new RequestError('unavailable', `${problem}; the request was not accepted`);
      if (what !== 'order') return;
      if (shortage !== undefined) throw new RequestError('disk_full', shortage, [], { retryAfterS: DISK_RETRY_S });
      const doubt = clock.doubt();
      if (doubt !== undefined) throw new RequestError('clock_untrusted', doubt, [], { retryAfterS: CLOCK_RETRY_S });
    },
    state: [
      reading(databaseState, () => Promise.all(used.map(async (name): Promise<DatabaseState> => {
        const found = await databases.of(name).look();
        return {
          name, answers: found.answers, lastError: found.answers ? null : found.error,
          reasons: [
            ...name === 'log' && distrusted.aborted ? [DISTRUSTED] : [],
            ...found.answers || !isReason(name) ? [] : [awayText(name, found)],
          ],
        };
      }))),
      reading(clockState, () => [{ ...clock.state(), stampsCommands: stamps }]),
      reading(
        diskState,
        () => disk.disks().toSorted((a, b) => a.freeBytes - b.freeBytes).map((each) => ({ ...each, shortage })),
      ),
    ],
    async stop() {
      clearInterval(timer);
      await databases.close();
    },
  };
}

/** The database that tells the time. A log in EventStoreDB does not: the read models' Postgres does. */
export function timeUrlOf({ log, readModels }: Pick<ConditionsOptions['urls'], 'log' | 'readModels'>): string {
  return tellsNoTime(log) ? readModels : log;
}

/** One probe per database, also when the database has several purposes. */
function openProbes({ urls, roles, log: { check }, unusable, machine: { clocks, lookEveryMs } }: ConditionsOptions) {
  const opened = new Map<string, {
    readonly probe: Probe<DatabaseTime>;
    readonly connection: { close(): Promise<void> };
  }>();
  const probed = { timeoutMs: PROBE_TIMEOUT_MS, freshMs: lookEveryMs / 2, now: () => performance.now() };
  const open = (url: string): Probe<DatabaseTime> => {
    const connection = createDatabaseProbe({ url, timeoutMs: PROBE_TIMEOUT_MS });
    const ask = async (): Promise<DatabaseTime> => {
      const askedMs = clocks.monotonic();
      const databaseMs = await connection.ask();
      // The database read its clock half a round trip ago.
      return { databaseMs, monotonicMs: (askedMs + clocks.monotonic()) / 2 };
    };
    const probe = createProbe({ ask, ...probed });
    opened.set(url, { probe, connection });
    return probe;
  };
  const byUrl = (url: string): Probe<DatabaseTime> => opened.get(url)?.probe ?? open(url);
  const askLog = async (): Promise<void> => {
    await check?.({ writes: writtenBy(roles), timeoutMs: PROBE_TIMEOUT_MS }).catch((error: unknown) => {
      if (error instanceof UnusableLog) unusable(error);
      throw error;
    });
  };
  const log: Probe<unknown> = check === undefined ? byUrl(urls.log) : createProbe({ ask: askLog, ...probed });
  const time = byUrl(timeUrlOf(urls));
  const of: Readonly<Record<DatabaseName, () => Probe<unknown>>> = {
    'log': () => log, 'read models': () => byUrl(urls.readModels), 'outbox': () => byUrl(urls.outbox),
  };
  return {
    log,
    /** What the database that tells the time says; undefined where it does not answer. */
    async time(): Promise<DatabaseTime | undefined> {
      const found = await time.look();
      return found.answers ? found.value : undefined;
    },
    of: (name: DatabaseName) => of[name](),
    close: async () => { await Promise.all([...opened.values()].map(({ connection }) => connection.close())); },
  };
}

/** Why a database cannot be used, with what it says. */
function awayText(name: DatabaseName, away: Away): string {
  return isRefusal(away) ? `the log cannot be used: ${away.error}` : `${SILENT[name]} (${away.error})`;
}

/** Why no request may be taken; undefined while requests may be taken or may wait. */
function problemWith(log: Probe<unknown>): string | undefined {
  const away = troubling(log);
  return away && awayText('log', away);
}

/**
 * Returns what to call after each look: it tells once that the problem has begun or is another one, and once that it is
 * over.
 */
function tellsProblem(log: Probe<unknown>, report: ReportFields): () => void {
  let told: string | undefined;
  return () => {
    const away = troubling(log);
    const kind = away && (isRefusal(away) ? away.error : 'silent');
    if (kind === told) return;
    told = kind;
    if (away === undefined) report('info', {}, 'the log answers again');
    else if (isRefusal(away)) report('error', { refusal: away.error }, 'the log refuses what this process must do: no order is taken until somebody changes the server');
    else report('error', { error: away.error }, 'the log does not answer: orders are refused');
  };
}

/** A refusal counts at once: waiting does not help. */
function troubling(log: Probe<unknown>): Away | undefined {
  const { latest } = log;
  if (latest === undefined || latest.answers) return undefined;
  return isRefusal(latest) || log.sinceSuccessMs() > SILENT_AFTER_MS ? latest : undefined;
}

/** Only the log refuses. */
function isRefusal({ cause }: Away): boolean {
  return cause instanceof LogRefused;
}
