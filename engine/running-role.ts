/** What a role is, whoever runs it: its shape once it was started, how it fails, and the ports that many roles take. */
import type { Reading } from './state-table.js';

/**
 * A role takes everything that it uses as ports, and opens nothing itself. So its process, the tests and the simulation
 * start the same role, each with ports of its own: with Postgres and sockets, or in memory and on virtual time. Roles
 * communicate only through the log, Postgres, the fill feed and the chains.
 */
export interface Role<Ports, Running extends RunningRole = RunningRole> {
  /** Resolves when the role works. Throws the reason when it cannot; then nothing of the role is left running. */
  start(ports: Ports): Promise<Running>;
}

export interface RunningRole {
  /** What the role says of itself: its parts of `/health/ready` and `/metrics`, and its alerts. */
  readonly state: readonly Reading[];
  /** Whether requests for this role should rather go to another process, which does its work now. Absent: never. */
  standsBy?(): boolean;
  /** Rejects when the role cannot continue; the process should then end. Never resolves. */
  readonly failed: Promise<never>;
  /** Stops the role. Resolves when the work in progress is finished. */
  stop(): Promise<void>;
}

/** The time of a process, as its roles take it. */
export interface Clock {
  /** The trusted time in milliseconds since the Unix epoch: what every command is stamped with. */
  now(): number;
  /** Why the time is not trusted; undefined while it is. */
  doubt(): string | undefined;
  /** Milliseconds that never go back. */
  monotonic(): number;
}

/**
 * Throws the RequestError with which a client's command must be refused now, since it may not be stamped or written.
 * Cancels free funds, so they are refused less often than orders.
 */
export type Admit = (what: 'order' | 'other') => void;

/**
 * For roles that cannot fail after their start. A new promise each time: a shared one would keep in memory every role
 * that was ever started in a process.
 */
export function neverFails(): Promise<never> {
  return new Promise(() => undefined);
}

/** The work's failure: rejects when the work rejects, and never resolves, not even when the work does. */
export function failureOf(done: Promise<unknown>): Promise<never> {
  return done.then(neverFails);
}

/** A failure that its owner tells: rejects at the first call of `reject`, and never resolves. */
export function rejection(): { readonly promise: Promise<never>; readonly reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<never>((_resolve, rejectPromise) => { reject = rejectPromise; });
  promise.catch(() => undefined);
  return { promise: Promise.race([promise, neverFails()]), reject };
}
