/**
 * A channel of Postgres's LISTEN and NOTIFY: the one way in which processes wake each other through a database. A
 * message may be lost, with its process or with a connection, so whoever hears a channel also looks from time to time.
 * A standby passes no messages on, and refuses LISTEN until it is promoted.
 */
import { backoffMs, orAborted, pause, type Backoff } from '../../waiting.js';
import { createConnection, type Client, type Connection, type ConnectionOptions } from './connection.js';
import { askServer } from './server.js';

export interface ChannelOptions extends Pick<StandingConnectionOptions, 'url' | 'name' | 'connectTimeoutMs' | 'statementTimeoutMs' | 'pause'> {
  /** The channel's name in the database. */
  readonly channel: string;
  /** Called with the text of each message, also of this process's own. */
  readonly heard?: (text: string) => void;
  /**
   * Called when a connection hears, or would on a primary; again when a standby is promoted. Messages may have been
   * lost before.
   */
  readonly connected?: (isStandby: boolean) => void;
  /** Called when the connection is lost: until the next one no message is heard. */
  readonly lost?: () => void;
  /** Called with each error that ends a connection, or lets none be made. */
  readonly failed?: (error: Error) => void;
  /** How long to collect messages after those sent last. Default 0. */
  readonly betweenMs?: number;
  /** The pauses before the first, second, … try in a row to connect again. */
  readonly backoff?: Backoff;
}

export interface NotifyChannel {
  /**
   * Hears messages from now on, until `close`: connects, and connects again after every loss. A second call has no
   * effect.
   */
  hear(): void;
  /**
   * Sends a message to all processes that hear the channel. A message that still waits to be sent gives way to the next
   * one with the same key (default: its text). Never fails. Resolves when the database has all that was told, or has
   * not taken it.
   */
  tell(text: string, key?: string): Promise<void>;
  close(): Promise<void>;
}

const BACKOFF: Backoff = { firstMs: 50, longestMs: 2_000 };

/** How often a standby is asked whether it has been promoted. */
const PROMOTION_LOOK_MS = 2_000;

/** How long a message may take to reach the database. */
const TELL_TIMEOUT_MS = 5_000;

/**
 * Connects at the first use. The URL must be of a direct connection: LISTEN does not work through a transaction pooler.
 */
export function createChannel({
  channel, heard, connected, lost, failed, betweenMs = 0, backoff = BACKOFF, ...options
}: ChannelOptions): NotifyChannel {
  const closing = new AbortController();
  const waiting = new Map<string, string>();
  let telling: Promise<void> | undefined;

  const connection = createStandingConnection({
    ...options, backoff, ...lost && { lost }, ...failed && { failed },
    async prepare(client) {
      client.on('notification', ({ payload }) => heard?.(payload ?? ''));
      const { isStandby } = await askServer(client);
      if (isStandby) void listenOncePromoted(client);
      else await client.query(`listen ${channel}`);
      connected?.(isStandby);
    },
  });

  /** Never fails: when the connection is lost, the next one begins again. */
  async function listenOncePromoted(client: Client): Promise<void> {
    try {
      do {
        await (options.pause ?? pause)(PROMOTION_LOOK_MS, closing.signal);
        if (closing.signal.aborted) return;
      } while ((await askServer(client)).isStandby);
      await client.query(`listen ${channel}`);
      connected?.(false);
    } catch {
      // The connection is lost.
    }
  }

  async function tellAll(): Promise<void> {
    while (waiting.size > 0) {
      const texts = [...waiting.values()];
      waiting.clear();
      try {
        const client = await connection.get();
        await client.query(notification(channel, texts));
      } catch {
        // Whoever hears finds out by looking.
        break;
      }
      if (betweenMs > 0) await pause(betweenMs, closing.signal);
    }
    telling = undefined;
  }

  return {
    hear: () => { connection.stay(); },
    tell(text, key = text) {
      if (closing.signal.aborted) return Promise.resolve();
      waiting.set(key, text);
      return telling ??= tellAll();
    },
    async close() {
      closing.abort();
      await telling;
      await connection.close();
    },
  };
}

function notification(channel: string, texts: readonly string[]) {
  return { name: 'notify', text: 'select pg_notify($1, t) from unnest($2::text[]) t', values: [channel, texts], query_timeout: TELL_TIMEOUT_MS };
}

export interface StandingConnection extends Pick<Connection, 'get'> {
  /** Connects and stays connected until close(). A second call has no effect. */
  stay(): void;
  close(): Promise<void>;
}

export interface StandingConnectionOptions extends ConnectionOptions {
  /** The pauses before the first, second, … try in a row to connect again. */
  readonly backoff: Backoff;
  /** Called after every connection, the first one and each new one. */
  readonly connected?: () => void;
  /** Called with each error that lets no connection be made. */
  readonly failed?: (error: Error) => void;
  /** How it pauses, and milliseconds of a clock that never goes back; tests give their own. */
  readonly pause?: typeof pause;
  readonly now?: () => number;
}

/** After a connection that lasted for this time, the next loss begins with the first pause again. */
const LASTING_MS = 10_000;

/**
 * The pauses also grow where a server takes connections and soon ends them, so such a server is not asked without rest.
 */
export function createStandingConnection(given: StandingConnectionOptions): StandingConnection {
  const {
    backoff, connected = () => undefined, failed = () => undefined, pause: rest = pause, now = () => performance.now(),
    ...options
  } = given;
  const closing = new AbortController();
  let staying: Promise<void> | undefined;
  let lost: () => void = () => undefined;
  const connection = createConnection({
    ...options,
    lost: () => {
      options.lost?.();
      lost();
    },
  });

  async function stayConnected(): Promise<void> {
    const { signal } = closing;
    for (let failures = 0; !signal.aborted;) {
      const loss = orAborted(new Promise<void>((resolve) => { lost = resolve; }), signal);
      loss.catch(() => undefined);
      try {
        await orAborted(connection.get(), signal);
        const sinceMs = now();
        connected();
        await loss;
        if (now() - sinceMs >= LASTING_MS) failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failed(error as Error);
      } finally {
        // Nobody waits for the loss of a connection that was not made: its listener on the signal is removed.
        lost();
      }
      failures += 1;
      await rest(backoffMs(failures, backoff), signal);
    }
  }

  return {
    get: () => connection.get(),
    stay() { staying ??= stayConnected(); },
    async close() {
      closing.abort();
      await staying;
      await connection.end();
    },
  };
}
