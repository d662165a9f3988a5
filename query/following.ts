/** Waiting until the read models include a log position: woken by LISTEN on an own connection, and by a slow re-check besides. */
import type pg from 'pg';
import { RequestError } from '../engine/records/errors.js';
import { pause } from '../engine/waiting.js';

export interface PositionFollower {
  /** Resolves once the read models include `position`; throws RequestError `not_caught_up`, `overloaded` or `unavailable`. */
  wait(position: number, options: Patience): Promise<void>;
  close(): Promise<void>;
}

/** How long to wait, and a signal that ends the wait: whoever asked has gone. */
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
  /** How often waiters look for themselves, should a notification not come. */
  readonly recheckMs?: number;
}

interface Waiter {
  readonly position: number;
  readonly settle: (error?: RequestError) => void;
}

/** The projections notify this channel of each batch; the payload is a hint, the checkpoints are the truth. */
const CHANNEL = 'read_models';
const MAX_WAITERS = 10_000;
const RECONNECT_MS = 250;

/** Follows the read models' position until `close`. Outlives lost connections: the re-check covers the time without one. */
export function followPositions({ connect, position, onError, recheckMs = 250 }: FollowerOptions): PositionFollower {
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
    const giveUp = () => waiter.settle(new RequestError('unavailable', 'nobody waits for it any more'));
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
    const timer = setTimeout(() => waiter.settle(new RequestError('not_caught_up', `it is at ${reached}`)), timeoutMs);
    waiters.add(waiter);
    if (signal?.aborted === true) return giveUp();
    signal?.addEventListener('abort', giveUp);
    recheck ??= setInterval(() => void check(), recheckMs);
    void check();
  });

  /** Whatever it says, a notification means looking, unless it names a position that nobody waits for yet. */
  const hear = (payload = '') => {
    let lowest = Infinity;
    for (const waiter of waiters) lowest = Math.min(lowest, waiter.position);
    if (!(Number.parseInt(payload, 10) < lowest)) void check();
  };

  const listening = listen({ connect, hear, onError, stop: stop.signal, onListening: () => void check() });
  return {
    wait,
    close: async () => {
      stop.abort();
      for (const waiter of waiters) waiter.settle(new RequestError('unavailable', 'the service stops'));
      await listening;
    },
  };
}

interface Listening {
  readonly connect: () => pg.Client;
  readonly hear: (payload: string | undefined) => void;
  readonly onListening: () => void;
  readonly onError: (error: Error) => void;
  readonly stop: AbortSignal;
}

/** Listens on one connection after the other until `stop`. */
async function listen({ connect, hear, onListening, onError, stop }: Listening): Promise<void> {
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
    await pause(RECONNECT_MS, stop);
  }
}
