/**
 * Waiting until the read models include a log position. LISTEN on a separate connection wakes the waiters, and so does a slow re-check. A
 * standby refuses LISTEN: there the re-check is quick.
 */
import type pg from 'pg';
import { RequestError } from '../engine/records/errors.js';
import { pause } from '../engine/waiting.js';

export interface PositionFollower {
  /** Resolves once the read models include `position`; throws RequestError `not_caught_up`, `overloaded` or `unavailable`. */
  wait(position: number, options: Patience): Promise<void>;
  close(): Promise<void>;
}

/** How long to wait, and a signal that ends the wait, for example because the client has disconnected. */
export interface Patience {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface FollowerOptions {
  /** A new, unconnected client for LISTEN. */
  readonly connect: () => pg.Client;
  /** The last log position that the read models include. */
  readonly position: () => Promise<number>;
  readonly onError: (error: Error) => void;
  /** Called when the server turns out to be a standby, and when it is one no more. */
  readonly onStandby?: (isStandby: boolean) => void;
  /** How often the position is read while somebody waits, in case a notification was lost. Default 250 ms. */
  readonly recheckMs?: number;
  /** How it pauses before it connects again; tests give their own. */
  readonly pause?: typeof pause;
}

interface Waiter {
  readonly position: number;
  readonly settle: (error?: RequestError) => void;
}

/** The projections notify this channel after each batch. The payload is only a hint; the checkpoints decide. */
const CHANNEL = 'read_models';
const MAX_WAITERS = 10_000;
const RECONNECT_MS = 250;
/**
 * How often the position is read on a standby while somebody waits; every fifth time when nobody has begun to wait lately. Reads of one's own
 * writes are short waits. A price stream waits all the time, and may be told some milliseconds later.
 */
const STANDBY_RECHECK_MS = 10;
const LATELY_MS = 200;
const PATIENT_RECHECKS = 5;
/** How often a standby is asked whether it has been promoted. */
const PROMOTION_LOOK_MS = 2_000;

/** Follows the read models' position until `close`. Reconnects after a lost connection; until then the re-check wakes the waiters. */
export function followPositions({
  connect, position, onError, onStandby, recheckMs = 250, pause: rest = pause,
}: FollowerOptions): PositionFollower {
  const stop = new AbortController();
  const waiters = new Set<Waiter>();
  let reached = -1;
  let checking = false;
  let checkAgain = false;
  let wasStandby = false;
  let latestWaitMs = 0;

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
  const recheck = createRecheck((nth) => {
    if (!wasStandby || performance.now() - latestWaitMs < LATELY_MS || nth % PATIENT_RECHECKS === 0) void check();
  }, recheckMs);

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
    latestWaitMs = performance.now();
    recheck.begin();
    void check();
  });

  const connected = (isStandby: boolean) => {
    recheck.every(isStandby ? STANDBY_RECHECK_MS : recheckMs);
    if (isStandby !== wasStandby) onStandby?.(isStandby);
    wasStandby = isStandby;
    void check();
  };

  /** Checks the position after a notification, unless the payload is a position below every waiter's. */
  const hear = (payload = '') => {
    let lowest = Infinity;
    for (const waiter of waiters) lowest = Math.min(lowest, waiter.position);
    if (!(Number.parseInt(payload, 10) < lowest)) void check();
  };

  const listening = listen({ connect, hear, onError, rest, stop: stop.signal, connected, lost: () => recheck.every(recheckMs) });
  return {
    wait,
    close: async () => {
      stop.abort();
      for (const waiter of waiters) waiter.settle(new RequestError('unavailable', 'the service is stopping'));
      await listening;
    },
  };
}

/** Calls the work again and again from `begin` to `end`, and tells it how many times it has. */
function createRecheck(work: (nth: number) => void, firstMs: number) {
  let everyMs = firstMs;
  let nth = 0;
  let timer: NodeJS.Timeout | undefined;
  const begin = () => { timer ??= setInterval(() => work(++nth), everyMs); };
  const end = () => {
    clearInterval(timer);
    timer = undefined;
  };
  return {
    begin, end,
    every(ms: number) {
      if (ms === everyMs) return;
      everyMs = ms;
      if (timer === undefined) return;
      end();
      begin();
    },
  };
}

interface Listening {
  readonly connect: () => pg.Client;
  readonly hear: (payload: string | undefined) => void;
  /** Called when a new connection listens, or would on a server that is no standby; and again when the standby has been promoted. */
  readonly connected: (isStandby: boolean) => void;
  readonly lost: () => void;
  readonly onError: (error: Error) => void;
  readonly rest: typeof pause;
  readonly stop: AbortSignal;
}

/** Listens until `stop`; makes a new connection when one is lost. */
async function listen({ connect, hear, connected, lost, onError, rest, stop }: Listening): Promise<void> {
  const stopped = new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }));
  while (!stop.aborted) {
    const client = connect();
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', onError);
    client.on('notification', ({ payload }) => hear(payload));
    try {
      await client.connect();
      while (!stop.aborted && await isStandby(client)) {
        connected(true);
        await Promise.race([ended, rest(PROMOTION_LOOK_MS, stop)]);
      }
      await client.query(`listen ${CHANNEL}`);
      connected(false);
      await Promise.race([ended, stopped]);
    } catch (error) {
      if (!stop.aborted) onError(error as Error);
    }
    lost();
    await client.end().catch(onError);
    await rest(RECONNECT_MS, stop);
  }
}

/** Whether the server replays what another one writes. Once it has been promoted it never is again without a restart. */
async function isStandby(client: pg.Client): Promise<boolean> {
  const { rows: [row] } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
  return row?.standby === true;
}
