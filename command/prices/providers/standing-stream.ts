/** A stream of prices that stands: it connects again after every loss, and ends connections that have fallen silent. */
import { messageOf } from '../../../engine/report.js';
import { backoffMs, createBell, orAborted, type Backoff } from '../../../engine/waiting.js';
import { BadMessage, type Observation } from '../observation.js';
import type { SourceHealth, SourcePorts } from '../price-source.js';
import { ProviderFailure } from './failure.js';

export interface SourceMessage {
  /** The event's name, where the protocol has names and the event has one. */
  readonly event?: string;
  readonly text: string;
}

/** What a transport tells of its connection. */
export interface SourceConnection {
  /** When it aborts, the transport lets the connection go. */
  readonly signal: AbortSignal;
  opened(): void;
  /** A whole message has come. Never throws. */
  heard(message: SourceMessage): void;
  /** A sign of life without a message, as a ping. */
  alive(): void;
}

/** Makes one connection. Never resolves; rejects when the connection has ended, with ProviderFailure for the reason. */
export type Transport = (connection: SourceConnection) => Promise<never>;

export interface StandingStreamOptions {
  /** What reports call the provider. */
  readonly name: string;
  readonly assets: readonly string[];
  readonly transport: Transport;
  /**
   * The prices in a message; none in messages of types that nobody knows. Throws BadMessage for a message that cannot
   * be used, and ProviderFailure to end the connection.
   */
  readonly read: (message: SourceMessage) => readonly Observation[];
  readonly ports: Omit<SourcePorts, 'fetch'>;
  readonly timings: StreamTimings;
}

export interface StreamTimings {
  readonly backoff: Backoff;
  /** A connection ends when nothing at all comes for this time: a handshake, a message, a ping. */
  readonly silenceMs: number;
  /** A connection ends when it lives without the price of some asset for this time: a subscription may be lost. */
  readonly priceSilenceMs: number;
  /** After a connection with prices that lasted for this time, the next loss begins with the first pause again. */
  readonly lastingMs: number;
  /** A single request fails without a whole answer after this time. */
  readonly requestMs: number;
}

export const STREAM_TIMINGS: StreamTimings = {
  backoff: { firstMs: 500, longestMs: 30_000 }, silenceMs: 10_000, priceSilenceMs: 60_000, lastingMs: 10_000,
  requestMs: 5_000,
};

/** Far more than any message that has prices. */
export const MAX_MESSAGE_BYTES = 1_048_576;

export interface StandingStream {
  start(listener: (observation: Observation) => void): void;
  close(): Promise<void>;
  health(): SourceHealth;
}

/**
 * A lost connection is replaced without a word while that succeeds at once: providers end every connection after a day.
 */
export function createStandingStream(options: StandingStreamOptions): StandingStream {
  const { ports: { random, pause }, timings } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const record = createRecord(options);
  let standing: Promise<void> | undefined;

  async function stand(listener: (observation: Observation) => void): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      const { failure, lasted } = await oneConnection(options, { record, listener, closing: signal });
      if (signal.aborted) return;
      failures = lasted ? 1 : failures + 1;
      record.failed(failure, failures);
      await pause(failure.waitMs + backoffMs(failures, { ...timings.backoff, random }), signal);
    }
  }

  return {
    start(listener) { standing ??= stand(listener); },
    async close() {
      closing.abort(new Error('the source is closed'));
      await standing;
    },
    health: record.health,
  };
}

interface ConnectionParts {
  readonly record: ReturnType<typeof createRecord>;
  readonly listener: (observation: Observation) => void;
  readonly closing: AbortSignal;
}

interface Ended {
  readonly failure: ProviderFailure;
  /** Whether there were prices, and for long enough. */
  readonly lasted: boolean;
}

/** Resolves when the connection has ended. */
async function oneConnection(options: StandingStreamOptions, { record, listener, closing }: ConnectionParts): Promise<Ended> {
  const { assets, transport, read, ports: { now }, timings } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const close = (): void => { ending.abort(closing.reason); };
  closing.addEventListener('abort', close, { once: true });
  const life = createBell();
  const sinceMs = now();
  const pricedMs = new Map(assets.map((asset) => [asset, sinceMs]));
  let priced = false;

  function take(message: SourceMessage): void {
    try {
      for (const observation of read(message)) {
        if (!pricedMs.has(observation.asset)) continue;
        pricedMs.set(observation.asset, now());
        priced = true;
        record.priced();
        listener(observation);
      }
    } catch (error) {
      if (error instanceof BadMessage) record.bad(error);
      else ending.abort(error);
    }
  }

  function alive(): void {
    life.ring();
    for (const [asset, atMs] of pricedMs) {
      if (now() - atMs > timings.priceSilenceMs) ending.abort(new ProviderFailure(`has sent no price of ${asset} for ${timings.priceSilenceMs} ms`));
    }
  }

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      if (await life.wait(signal, timings.silenceMs) === 'timeout') ending.abort(new ProviderFailure(`has been silent for ${timings.silenceMs} ms`));
    }
  }

  const watching = watch();
  const connection: SourceConnection = {
    signal,
    opened() { record.opened(); alive(); },
    heard(message) {
      if (signal.aborted) return;
      take(message);
      alive();
    },
    alive,
  };
  const error: unknown = await orAborted(transport(connection), signal).catch((reason: unknown) => reason);
  ending.abort(error);
  closing.removeEventListener('abort', close);
  await watching;
  record.closed();
  return { failure: asFailure(error), lasted: priced && now() - sinceMs >= timings.lastingMs };
}

function asFailure(error: unknown): ProviderFailure {
  return error instanceof ProviderFailure ? error : new ProviderFailure(`fails (${messageOf(error)})`);
}

/** What is known of the stream, and what has been reported of it: each problem once, and its end. */
function createRecord({ name, ports: { now, report } }: StandingStreamOptions) {
  let reported: string | undefined;
  let health: SourceHealth = {
    connected: false, connections: 0, lastHeardMs: undefined, badMessages: 0, problem: undefined,
  };
  const set = (part: Partial<SourceHealth>): void => { health = { ...health, ...part }; };
  return {
    health: () => health,
    opened() { set({ connected: true, connections: health.connections + 1 }); },
    closed() { set({ connected: false }); },
    priced() {
      set({ lastHeardMs: now(), problem: undefined });
      if (reported !== undefined) report('info', `${name}: prices come again`);
      reported = undefined;
    },
    bad({ message }: BadMessage) { set({ badMessages: health.badMessages + 1, problem: message }); },
    failed({ message, waitMs, forOperator }: ProviderFailure, failures: number) {
      set({ problem: message });
      if ((failures === 1 && waitMs === 0) || message === reported) return;
      reported = message;
      report(forOperator ? 'alert' : 'warn', `${name} ${message}; it is tried again`);
    },
  };
}
