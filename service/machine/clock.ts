/**
 * The one clock of a process: every command is stamped with its trusted time. Reads the machine's clocks, asks the
 * database for its time, and reports wrong readings of the wall clock.
 */
import { uptime } from 'node:os';
import { pause } from '../../engine/waiting.js';
import type { ClockState } from '../status/process-state.js';
import {
  clockDoubts, follow, spanText, timeAt, trustFrom,
  type ClockBounds, type ClockDifferences, type ClockEvent, type ClockReading, type TrustedTime,
} from './trusted-time.js';

/** The clocks of a machine, each in milliseconds. See ClockReading. */
export interface MachineClocks {
  wall(): number;
  monotonic(): number;
  boot(): number;
}

export const machineClocks: MachineClocks = {
  wall: () => Date.now(), monotonic: () => performance.now(), boot: () => uptime() * 1_000,
};

/** The database's time at a moment of the monotonic clock. */
export interface DatabaseTime {
  readonly databaseMs: number;
  readonly monotonicMs: number;
}

export interface ClockOptions {
  readonly clocks: MachineClocks;
  readonly bounds: ClockBounds;
  /**
   * Asks the database for its time: the log's, or where that tells none the read models'. Undefined where it does not
   * answer; never rejects.
   */
  readonly ask: () => Promise<DatabaseTime | undefined>;
  readonly report: (level: 'info' | 'error', fields: Readonly<Record<string, unknown>>, message: string) => void;
  /** Ends the start. */
  readonly signal?: AbortSignal;
}

export interface ProcessClock {
  /**
   * The trusted time in whole milliseconds since the Unix epoch. Never goes backwards. Never further ahead of the
   * database's last known time than the bound and 15 s, whatever the clocks of this machine say.
   */
  now(): number;
  /** Why no order may be stamped and no time may pass at the moment; undefined when the clock is trusted. */
  doubt(): string | undefined;
  state(): ClockState;
  /** Compares the clocks now. */
  look(): Promise<void>;
  /** From now on the time is compared with the history's, too. */
  compareWith(history: KnownHistory): void;
}

/** The history as this process knows it. */
interface KnownHistory {
  /** The latest time in it; 0 while it is empty. */
  readonly time: number;
}

/** Beyond this, the database's time is not extrapolated: it has not confirmed this process's time for too long. */
const CONFIRMED_FOR_MS = 15_000;
/** How long a start waits for clocks that differ: NTP may be about to set one of them. */
const START_WITHIN_MS = 30_000;
const START_LOOK_MS = 1_000;

/** The clocks of machine and database differ at the start. Nothing was written. */
export class ClockDiffers extends Error {
  constructor(aheadMs: number, wallMs: number) {
    super(`the clock of this machine is ${spanText(aheadMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's clock `
      + `(${isoText(wallMs)} here, ${isoText(wallMs - aheadMs)} there): set the wrong one right, then start again`);
    this.name = 'ClockDiffers';
  }
}

/**
 * Starts the clock at the wall clock's time when the database agrees. Waits for a database that does not answer, and up
 * to 30 s for clocks that differ. Throws ClockDiffers after that, and the signal's reason.
 */
export async function startClock(options: ClockOptions): Promise<ProcessClock> {
  const { clocks, ask, bounds, report, signal } = options;
  let differsSinceMs: number | undefined;
  for (;;) {
    const found = await ask();
    signal?.throwIfAborted();
    if (found !== undefined) {
      const first = { ...read(clocks, found), bootMs: clocks.boot() };
      const aheadMs = first.wallMs - (first.databaseMs ?? first.wallMs);
      if (Math.abs(aheadMs) <= bounds.maxJumpMs) return runClock(options, first, found);
      const differs = new ClockDiffers(aheadMs, first.wallMs);
      if (differsSinceMs === undefined) report('error', { aheadMs: Math.round(aheadMs) }, `${differs.message}; waiting up to ${START_WITHIN_MS / 1_000} s`);
      differsSinceMs ??= clocks.monotonic();
      if (clocks.monotonic() >= differsSinceMs + START_WITHIN_MS) throw differs;
    }
    await pause(START_LOOK_MS, signal);
  }
}

/** The trusted time with its two references: the clocks of the machine, and what the database said last. */
function createTrustedClock(
  { clocks, bounds, report }: ClockOptions, first: ClockReading, confirmed: DatabaseTime,
) {
  let time: TrustedTime = trustFrom(first);
  let database = confirmed;
  let history: KnownHistory | undefined;
  let latestMs = 0;

  const sinceConfirmedMs = (): number => clocks.monotonic() - database.monotonicMs;
  const isConfirmed = (): boolean => sinceConfirmedMs() <= CONFIRMED_FOR_MS;
  const confirmedLately = (): DatabaseTime | undefined => isConfirmed() ? database : undefined;

  /** 0 while the history is empty, or not known. */
  const historyMs = (): number => history?.time ?? 0;

  function now(): number {
    const latestByDatabase = database.databaseMs + Math.min(CONFIRMED_FOR_MS, Math.max(0, sinceConfirmedMs()))
      + bounds.maxJumpMs;
    return latestMs = Math.max(latestMs, Math.floor(Math.min(timeAt(time, clocks.monotonic()), latestByDatabase)));
  }

  return {
    now, sinceConfirmedMs, isConfirmed,
    confirm(by: DatabaseTime): void { database = by; },
    compareWith: (known: KnownHistory): void => { history = known; },
    historyMs,
    /** Takes the clocks into account, and reports what they did. */
    compare(): void {
      const current: ClockReading = { ...read(clocks, confirmedLately()), bootMs: clocks.boot() };
      const differenceMs = Math.round(current.wallMs - timeAt(time, current.monotonicMs));
      const followed = follow(time, current, bounds);
      time = followed.time;
      if (followed.event === undefined) return;
      const [level, message] = eventLines[followed.event];
      report(level, { differenceMs, trusted: isoText(now()), wall: isoText(current.wallMs) }, message);
    },
    hasJumped: (): boolean => Math.abs(clocks.wall() - timeAt(time, clocks.monotonic())) > bounds.maxJumpMs,
    differences(): ClockDifferences {
      const { wallMs, monotonicMs, databaseMs } = read(clocks, confirmedLately());
      const trustedMs = timeAt(time, monotonicMs);
      const historyNowMs = historyMs();
      return {
        wallAheadMs: wallMs - trustedMs, databaseAheadMs: databaseMs === undefined ? null : databaseMs - trustedMs,
        historyAheadMs: historyNowMs === 0 ? null : historyNowMs - trustedMs,
      };
    },
  };
}

function runClock(options: ClockOptions, first: ClockReading, confirmed: DatabaseTime): ProcessClock {
  const { bounds, ask, report } = options;
  const clock = createTrustedClock(options, first, confirmed);
  let historyWasAhead = false;

  function doubts(): string[] {
    // A jump, or a sleep, since the last look counts at once.
    if (clock.hasJumped()) clock.compare();
    const found = clockDoubts(clock.differences(), bounds);
    if (!clock.isConfirmed()) found.push(`the database has not confirmed the time for ${spanText(clock.sinceConfirmedMs())}`);
    return found;
  }

  function tellHistory(): void {
    const ahead = (clock.differences().historyAheadMs ?? 0) > 2 * bounds.maxJumpMs;
    if (ahead && !historyWasAhead) report('error', { history: isoText(clock.historyMs()), clock: isoText(clock.now()) }, HISTORY_AHEAD);
    historyWasAhead = ahead;
  }

  return {
    now: clock.now,
    doubt: () => doubts()[0],
    state() {
      const found = doubts();
      const { wallAheadMs, databaseAheadMs, historyAheadMs } = clock.differences();
      return {
        trusted: found.length === 0, doubts: found, time: isoText(clock.now()), wallAheadMs: Math.round(wallAheadMs),
        databaseAheadMs: wholeOrNull(databaseAheadMs), historyAheadMs: wholeOrNull(historyAheadMs),
      };
    },
    async look() {
      const found = await ask();
      if (found !== undefined) clock.confirm(found);
      clock.compare();
      tellHistory();
    },
    compareWith: clock.compareWith,
  };
}

const HISTORY_AHEAD = 'the history is ahead of the clock: orders are refused until the clock has passed the time in the history; '
  + 'if the clock is right, a wrong clock once wrote to this history';

const eventLines: Readonly<Record<ClockEvent, readonly ['info' | 'error', string]>> = {
  refused: ['error', 'the clock of this machine has jumped: the jump is refused, the time goes on without it, orders are refused; check the clock (NTP)'],
  returned: ['info', 'the clock of this machine agrees with the trusted time again'],
  slept: ['info', 'the machine has slept: the trusted time includes the sleep'],
  accepted: ['error', 'the new time is accepted: the clock of this machine and the log\'s database have agreed on it for long enough'],
};

/**
 * Every order has this read. The boot clock is not for orders: Node.js reads a file for it, which takes longer than all
 * the rest of the check.
 */
function read(clocks: MachineClocks, database: DatabaseTime | undefined): Omit<ClockReading, 'bootMs'> {
  const monotonicMs = clocks.monotonic();
  return {
    wallMs: clocks.wall(), monotonicMs,
    databaseMs: database === undefined ? undefined : database.databaseMs + monotonicMs - database.monotonicMs,
  };
}

function wholeOrNull(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** ISO 8601 in UTC; a time beyond what Date can show is given as a number. */
function isoText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
