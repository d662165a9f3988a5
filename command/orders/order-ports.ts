/** What the endpoints of orders need from the rest of the exchange, and the engine's rejections as errors. */
import type { CancelOrder, PlaceOrder } from '../../engine/records/commands.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { CommandRejected, RejectionCode } from '../../engine/records/events.js';
import { ERROR_CODES, RequestError, type ErrorCode } from '../../engine/records/errors.js';
import type { OrderView } from '../../engine/run/view.js';

/** A command in the log, and the engine's answer to it. */
export interface Submitted {
  readonly position: number;
  readonly outcome: CommandOutcome;
}

/**
 * Writes a command and waits for its outcome. When `signal` aborts before the command is handed to the log, the command
 * is withdrawn. Throws RequestError `overloaded` or `unavailable` (the command was not written) or `outcome_unknown`
 * (it may have been).
 */
export type Submit<C = PlaceOrder | CancelOrder> = (command: C, signal?: AbortSignal) => Promise<Submitted>;

/** An order as the exchange knows it. Absent `asOf`: it is not known at which log position all this is true. */
export type KnownOrder = Omit<OrderView, 'asOf'> & Partial<Pick<OrderView, 'asOf'>> & {
  /**
   * The engine has forgotten the order, so the order is closed for good. If `status` is open, the read model has not
   * recorded that yet.
   */
  readonly forgotten?: boolean;
};

/**
 * Finds any order that was ever accepted, by its hash. It must find every order whose acceptance was answered, so ask
 * the engine first where the read models lag. The status may lag.
 */
export type FindOrder = (orderHash: string) => Promise<KnownOrder | undefined>;

/** Reads the outcome of an earlier command, by its log position. */
export type OriginalOutcome = (position: number) => Promise<CommandOutcome>;

/** When the engine rejected a command, and until when its trader is suspended; in milliseconds since the Unix epoch. */
export interface RejectionTimes {
  readonly atMs: number;
  readonly suspendedUntilMs?: number;
}

/**
 * The engine's rejection as a RequestError with the same code. A trader whose order expires too soon is told the time,
 * a suspended one until when (`suspendedUntil`, Unix seconds). Throws an error for a code that no order or cancel can
 * get.
 */
export function rejectionError({ code, subject }: Pick<CommandRejected, 'code' | 'subject'>, times: RejectionTimes): RequestError {
  if (!isErrorCode(code)) throw new Error(`the engine rejected ${subject} with ${code}, which is not a code for orders or cancels`);
  const { atMs, suspendedUntilMs = atMs } = times;
  switch (code) {
    case 'invalid_expiration': return new RequestError(code, `the service's time is ${Math.floor(atMs / 1_000)}`);
    case 'trader_suspended': {
      const suspendedUntil = Math.ceil(suspendedUntilMs / 1_000);
      const retryAfterS = Math.max(1, Math.ceil((suspendedUntilMs - atMs) / 1_000));
      return new RequestError(code, `suspended until ${suspendedUntil}, in ${retryAfterS} s`, [], { suspendedUntil, retryAfterS });
    }
    default: return new RequestError(code);
  }
}

function isErrorCode(code: RejectionCode): code is RejectionCode & ErrorCode {
  return (ERROR_CODES as readonly string[]).includes(code);
}
