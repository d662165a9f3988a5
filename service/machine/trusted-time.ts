/**
 * The trusted time: a good wall time plus the monotonic clock since then; wrong readings of the wall clock are refused.
 * Pure: readings of clocks in, time and verdicts out.
 */

/** What the clocks of one moment say, all in milliseconds. */
export interface ClockReading {
  /** The machine's wall clock, since the Unix epoch. */
  readonly wallMs: number;
  /** A clock that nobody sets and that may stand still while the machine sleeps. */
  readonly monotonicMs: number;
  /** The same, but it counts sleep too (CLOCK_BOOTTIME). */
  readonly bootMs: number;
  /**
   * The clock of the database that tells the time, since the Unix epoch; undefined when the database has not told its
   * time lately.
   */
  readonly databaseMs?: number | undefined;
}

export interface ClockBounds {
  /** Clocks may differ by this much. A larger difference is a jump, which is refused. */
  readonly maxJumpMs: number;
  /** A jump is accepted when wall clock and database have agreed on it for this long. */
  readonly acceptAfterMs: number;
}

export interface TrustedTime {
  /** The trusted time at one reading of the other two clocks. */
  readonly anchorMs: number;
  readonly monotonicMs: number;
  readonly bootMs: number;
  /** The jump of the wall clock that is refused at the moment. */
  readonly refused?: RefusedJump;
}

export interface RefusedJump {
  /** Wall clock minus trusted time, when the jump was seen. */
  readonly differenceMs: number;
  /** The monotonic time since which the database has agreed with the wall clock; undefined while it does not. */
  readonly agreedSinceMs?: number | undefined;
}

/** What a look at the clocks found, worth a log line. */
export type ClockEvent = 'refused' | 'returned' | 'slept' | 'accepted';

/**
 * The trusted time follows the wall clock by at most this part of the time that passes; so the time never goes
 * backwards. NTP slews less.
 */
const SLEW = 0.05;

/** The trusted time at the start: the wall clock, which the caller has compared with the database. */
export function trustFrom({ wallMs, monotonicMs, bootMs }: ClockReading): TrustedTime {
  return { anchorMs: wallMs, monotonicMs, bootMs };
}

/** The trusted time, in milliseconds since the Unix epoch. */
export function timeAt({ anchorMs, monotonicMs }: TrustedTime, nowMonotonicMs: number): number {
  return anchorMs + Math.max(0, nowMonotonicMs - monotonicMs);
}

/**
 * Compares the clocks and moves the trusted time.
 *
 * - The wall clock differs by at most `maxJumpMs`: the trusted time follows it slowly.
 * - The machine slept: the boot clock counted the sleep, and the trusted time takes it over at once. Where monotonic
 *   and boot clock differ otherwise, the boot clock decides, too.
 * - The wall clock jumped: refused. The trusted time goes on by the monotonic clock, until the wall clock is back, or
 *   the database has agreed with the wall clock for `acceptAfterMs` (a virtual machine that was paused, or a wrong time
 *   that was put right).
 */
export function follow(
  before: TrustedTime, reading: ClockReading, bounds: ClockBounds,
): { readonly time: TrustedTime; readonly event?: ClockEvent } {
  const { maxJumpMs } = bounds;
  const passed = { monotonicMs: reading.monotonicMs - before.monotonicMs, bootMs: reading.bootMs - before.bootMs };
  // The two differ after a sleep, which only the boot clock counts, or when something feeds this process a wrong
  // monotonic clock.
  const bootDecides = Math.abs(passed.bootMs - passed.monotonicMs) > maxJumpMs / 2;
  const slept = bootDecides && passed.bootMs > passed.monotonicMs;
  const passedMs = Math.max(0, bootDecides ? passed.bootMs : passed.monotonicMs);
  const timeMs = before.anchorMs + passedMs;
  const differenceMs = reading.wallMs - timeMs;
  const place = { monotonicMs: reading.monotonicMs, bootMs: reading.bootMs };
  if (Math.abs(differenceMs) <= maxJumpMs) {
    const most = SLEW * passedMs;
    const time = { anchorMs: timeMs + Math.min(most, Math.max(-most, differenceMs)), ...place };
    if (before.refused !== undefined) return { time, event: 'returned' };
    return slept ? { time, event: 'slept' } : { time };
  }
  const refused = refusedJump(before.refused, { differenceMs, reading, bounds });
  if (refused.agreedSinceMs !== undefined && reading.monotonicMs - refused.agreedSinceMs >= bounds.acceptAfterMs) {
    return { time: { anchorMs: reading.wallMs, ...place }, event: 'accepted' };
  }
  const time = { anchorMs: timeMs, ...place, refused };
  return isSame(before.refused, differenceMs, bounds) ? { time } : { time, event: 'refused' };
}

function refusedJump(
  before: RefusedJump | undefined,
  { differenceMs, reading, bounds }: { differenceMs: number; reading: ClockReading; bounds: ClockBounds },
): RefusedJump {
  const agrees = reading.databaseMs !== undefined && Math.abs(reading.wallMs - reading.databaseMs) <= bounds.maxJumpMs;
  const isSameJump = isSame(before, differenceMs, bounds);
  const sinceMs = isSameJump ? before?.agreedSinceMs : undefined;
  return {
    differenceMs: isSameJump && before !== undefined ? before.differenceMs : differenceMs,
    agreedSinceMs: agrees ? sinceMs ?? reading.monotonicMs : undefined,
  };
}

function isSame(refused: RefusedJump | undefined, differenceMs: number, { maxJumpMs }: ClockBounds): boolean {
  return refused !== undefined && Math.abs(refused.differenceMs - differenceMs) <= maxJumpMs;
}

/** How far other clocks are ahead of the trusted time, in milliseconds; negative when behind, null when unknown. */
export interface ClockDifferences {
  readonly wallAheadMs: number;
  readonly databaseAheadMs: number | null;
  /** The latest time in the history; it is negative in an exchange that was idle or stopped for a while. */
  readonly historyAheadMs: number | null;
}

/** Why the trusted time may be wrong; empty when all clocks agree. A history that is merely old is no reason. */
export function clockDoubts(
  { wallAheadMs, databaseAheadMs, historyAheadMs }: ClockDifferences, { maxJumpMs }: ClockBounds,
): string[] {
  const doubts: string[] = [];
  if (Math.abs(wallAheadMs) > maxJumpMs) {
    doubts.push(`the clock of this machine has jumped ${spanText(wallAheadMs)} ${wallAheadMs > 0 ? 'ahead' : 'back'}; the jump is refused`);
  }
  if (databaseAheadMs !== null && Math.abs(databaseAheadMs) > maxJumpMs) {
    doubts.push(`the database's clock is ${spanText(databaseAheadMs)} ${databaseAheadMs > 0 ? 'ahead of' : 'behind'} this process`);
  }
  // Other processes write too, and each may differ from the database by maxJumpMs in either direction.
  if (historyAheadMs !== null && historyAheadMs > 2 * maxJumpMs) {
    doubts.push(`the history is already ${spanText(historyAheadMs)} ahead of the clock: the clock is behind, or a wrong clock once wrote to the history`);
  }
  return doubts;
}

const SPANS = [['day', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1_000]] as const;

/** A length of time for a sentence: `100 days`, `3.5 h`. The sign is left out. */
export function spanText(ms: number): string {
  const length = Math.abs(ms);
  const [unit, unitMs] = SPANS.find(([, each]) => length >= each) ?? ['s', 1_000];
  const count = Math.round(length / unitMs * 10) / 10;
  return `${count} ${unit}${unit === 'day' && count !== 1 ? 's' : ''}`;
}
