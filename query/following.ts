/** Waiting until the read models include a log position. LISTEN on a separate connection wakes the waiters, and so does a slow re-check. */
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

/** Follows the read models' position until `close`. Reconnects after a lost connection; until then the re-check wakes the waiters. */
export function followPositions({ connect, position, onError, recheckMs = 250, pause: rest = pause }: FollowerOptions): PositionFollower {
  const stop = new AbortController();
  const waiters = new Set<Waiter>();
  let reached = -1;
  let checking = false;
  let checkAgain = false;
  let recheck: NodeJS.Timeout | undefined;

  const check = async () => {
    checkAgain = true;
    if (checking) return;
    checking = true;
    while (checkAgain && waiters.size > 0) {
      checkAgain = false;
      try {
        reached = Math.max(reached, await position());
      } catch (error) {
        onError(error as Error);
      }
      for (const waiter of waiters) if (waiter.position <= reached) waiter.settle();
    }
    checking = false;
  };

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
        if (waiters.size === 0) {
          clearInterval(recheck);
          recheck = undefined;
        }
        if (error === undefined) resolve();
        else reject(error);
      },
    };
    const timer = setTimeout(() => waiter.settle(new RequestError('not_caught_up', `the read models are at ${reached}`)), timeoutMs);
    waiters.add(waiter);
    if (signal?.aborted === true) return giveUp();
    signal?.addEventListener('abort', giveUp);
    recheck ??= setInterval(() => void check(), recheckMs);
    void check();
  });

  /** Checks the position after a notification, unless the payload is a position below every waiter's. */
  const hear = (payload = '') => {
    let lowest = Infinity;
    for (const waiter of waiters) lowest = Math.min(lowest, waiter.position);
    if (!(Number.parseInt(payload, 10) < lowest)) void check();
  };

  const listening = listen({ connect, hear, onError, rest, stop: stop.signal, onListening: () => void check() });
  return {
    wait,
    close: async () => {
      stop.abort();
      for (const waiter of waiters) waiter.settle(new RequestError('unavailable', 'the service is stopping'));
      await listening;
    },
  };
}

interface Listening {
  readonly connect: () => pg.Client;
  readonly hear: (payload: string | undefined) => void;
  readonly onListening: () => void;
  readonly onError: (error: Error) => void;
  readonly rest: typeof pause;
  readonly stop: AbortSignal;
}

/** Listens until `stop`; makes a new connection when one is lost. */
async function listen({ connect, hear, onListening, onError, rest, stop }: Listening): Promise<void> {
  const stopped = new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }));
  while (!stop.aborted) {
    const client = connect();
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', onError);
    client.on('notification', ({ payload }) => hear(payload));
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      onListening();
      await Promise.race([ended, stopped]);
    } catch (error) {
      onError(error as Error);
    }
    await client.end().catch(onError);
    await rest(RECONNECT_MS, stop);
  }
}
