/** A connection to Postgres that is made again after every loss: for LISTEN. */
import { backoffMs, orAborted, pause, type Backoff } from '../../waiting.js';
import { createConnection, type Connection, type ConnectionOptions } from './connection.js';

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

/** The pauses also grow where a server takes connections and soon ends them, so such a server is not asked without rest. */
export function createStandingConnection(given: StandingConnectionOptions): StandingConnection {
  const { backoff, connected = () => undefined, failed = () => undefined, pause: rest = pause, now = () => performance.now(), ...options } = given;
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
