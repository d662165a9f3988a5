/**
 * Waiting until the read models include a log position. A message of the projections wakes the waiters, and so does a
 * slow re-check. A standby passes no messages on: there the re-check is quick.
 */
import { createChannel } from '../engine/log/postgres/channel.js';
import { RequestError } from '../engine/records/errors.js';

export interface PositionFollower {
  /**
   * Resolves once the read models include `position`; throws RequestError `not_caught_up`, `overloaded` or
   * `unavailable`.
   */
  wait(position: number, options: Patience): Promise<void>;
  close(): Promise<void>;
}

/** How long to wait, and a signal that ends the wait, for example because the client has disconnected. */
export interface Patience {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface FollowerOptions {
  /** The database of the read models, and how long a connection to it may take. */
  readonly url: string;
  readonly connectTimeoutMs: number;
  /** The last log position that the read models include. */
  readonly position: () => Promise<number>;
  readonly onError: (error: Error) => void;
  /** Called when the server turns out to be a standby, and when it is one no more. */
  readonly onStandby?: (isStandby: boolean) => void;
  /** How often the position is read while somebody waits, in case a notification was lost. Default 250 ms. */
  readonly recheckMs?: number;
}

interface Waiter {
  readonly position: number;
  readonly settle: (error?: RequestError) => void;
}

/** The projections notify this channel after each batch. The payload is only a hint; the checkpoints decide. */
const CHANNEL = 'read_models';
const MAX_WAITERS = 10_000;
/**
 * On a standby the position is read this often, so many times since somebody has last begun to wait, and then less
 * often. Reads of one's own writes are short waits; a price stream waits all the time, and may be told some
 * milliseconds later.
 */
const STANDBY_RECHECK_MS = 10;
const STANDBY_RECHECKS = 20;
const PATIENT_RECHECK_MS = 50;

/**
 * Follows the read models' position until `close`. Reconnects after a lost connection; until then the re-check wakes
 * the waiters.
 */
export function followPositions({
  url, connectTimeoutMs, position, onError, onStandby, recheckMs = 250,
}: FollowerOptions): PositionFollower {
  const waiters = new Set<Waiter>();
  let reached = -1;
  let checking = false;
  let checkAgain = false;

  const check = async () => {
    checkAgain = true;
    if (checking) return;
    checking = true;
    while (checkAgain && waiters.size > 0) {
      checkAgain = false;
      try {
        reached = Math.max(reached, await position());
      } catch (error) {
        // The database has told of a RequestError itself.
        if (!(error instanceof RequestError)) onError(error as Error);
      }
      for (const waiter of waiters) if (waiter.position <= reached) waiter.settle();
    }
    checking = false;
  };
  const recheck = createRecheck(() => void check(), recheckMs);

  const wait = (wanted: number, { timeoutMs, signal }: Patience) => new Promise<void>((resolve, reject) => {
    if (wanted <= reached) return resolve();
    if (waiters.size >= MAX_WAITERS) return reject(new RequestError('overloaded', 'too many reads wait for a position'));
    const giveUp = () => waiter.settle(new RequestError('unavailable', 'the client has disconnected'));
    const waiter: Waiter = {
      position: wanted,
      settle: (error) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        waiters.delete(waiter);
        if (waiters.size === 0) recheck.end();
        if (error === undefined) resolve();
        else reject(error);
      },
    };
    const timer = setTimeout(() => waiter.settle(new RequestError('not_caught_up', `the read models are at ${reached}`)), timeoutMs);
    waiters.add(waiter);
    if (signal?.aborted === true) return giveUp();
    signal?.addEventListener('abort', giveUp);
    recheck.begin();
    void check();
  });

  let wasStandby = false;
  const channel = createChannel({
    url, name: 'read models', channel: CHANNEL, connectTimeoutMs, statementTimeoutMs: connectTimeoutMs, failed: onError,
    heard: (text) => { if (isNewsTo(waiters, text)) void check(); },
    connected: (isStandby) => {
      if (isStandby !== wasStandby) onStandby?.(isStandby);
      wasStandby = isStandby;
      recheck.onStandby(isStandby);
      void check();
    },
    lost: () => recheck.onStandby(false),
  });
  channel.hear();
  return {
    wait,
    close: async () => {
      for (const waiter of waiters) waiter.settle(new RequestError('unavailable', 'the service is stopping'));
      await channel.close();
    },
  };
}

/** Whether a notification may end a wait: always, unless its payload is a position below every waiter's. */
function isNewsTo(waiters: Iterable<Waiter>, text: string): boolean {
  let lowest = Infinity;
  for (const waiter of waiters) lowest = Math.min(lowest, waiter.position);
  return !(Number.parseInt(text, 10) < lowest);
}

/** Checks again and again while somebody waits: every `usualMs`, and more often on a standby. */
function createRecheck(check: () => void, usualMs: number) {
  let standby = false;
  let checks = 0;
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    clearTimeout(timer);
    const standbyMs = checks < STANDBY_RECHECKS ? STANDBY_RECHECK_MS : PATIENT_RECHECK_MS;
    timer = setTimeout(() => {
      checks += 1;
      check();
      begin();
    }, standby ? standbyMs : usualMs);
  };
  return {
    /** Somebody has begun to wait, and looks at once. */
    begin() {
      checks = 0;
      begin();
    },
    /** Nobody waits any more. */
    end() {
      clearTimeout(timer);
      timer = undefined;
    },
    onStandby(isStandby: boolean) {
      if (isStandby === standby) return;
      standby = isStandby;
      if (timer !== undefined) begin();
    },
  };
}
